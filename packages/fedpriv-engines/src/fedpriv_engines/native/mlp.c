/* Take the local steps of one client through dense layers with ReLU and without biases, all mini-batches in
 * one call, or compute their logits.
 *
 * Four of five pixels of a digit are 0, and so is about half of what a ReLU lets through: what is zero is
 * neither multiplied nor moved. Plain SGD needs no gradient in memory either: it is added to the weights as
 * it is found. Weights are larger than a core's caches, so that a step reads them once: block by block they
 * take the change of the step before and give what the mini-batch of this one reads.
 *
 * Nothing is static and sums have a fixed order: any number of threads may call; equal input, equal bits.
 */
#include "dense.h"
#include "loss.h"

enum {
    LAYERS = 17,
    CHUNK = 64,  /* examples of a pass without steps */
    TILE = 8,    /* vectors of a tile */
    BLOCK = 96,  /* rows of a tile that stay in a near cache while others pass */
    SQUARE = 16, /* rows and columns of a matrix that are transposed at once */
};

typedef struct {
    int64_t layers, widths[LAYERS + 1]; /* inputs, units of each layer, the last are classes */
} Net;

typedef struct {
    int32_t column;
    float value;
} Entry;

/* Numbers of a matrix that are not zero, row by row, with their columns. */
typedef struct {
    int64_t columns;
    Entry *entries; /* [rows][columns] */
    int32_t *count; /* [rows] */
    int32_t *used;  /* [rows] how many of a row a product has added */
} Sparse;

typedef struct {
    int64_t inputs, outputs, length; /* `length`: outputs in whole vectors */
    float *weights;                  /* [inputs][length], zero beyond the outputs */
    float *values;                   /* [examples][length]: what it gives, then the gradient of that */
    float *before;                   /* [examples][length]: the gradient of the step before */
    Sparse by_example, by_input;     /* what it reads; what it has read in the step before, transposed */
} Layer;

typedef struct {
    Layer layer[LAYERS];
    float *above, *below; /* [most units][examples in whole vectors]: gradients, transposed */
    float shades[256];    /* what a byte of an image stands for */
    void *allocation;
} Memory;

/* Write the number where the row's next one belongs; `keep` says whether it stays. Without a branch: whether
 * the next pixel is 0 is hard to foresee. */
static inline int32_t append(Sparse *to, int64_t row, int32_t count, int64_t column, float value, int keep) {
    to->entries[row * to->columns + count] = (Entry){(int32_t)column, value};
    return count + keep;
}

static void transpose(const Sparse *from, int64_t rows, Sparse *to) {
    memset(to->count, 0, sizeof *to->count * (size_t)from->columns);
    for (int64_t i = 0; i < rows; i++) {
        const Entry *one = from->entries + i * from->columns, *end = one + from->count[i];
        for (; one < end; one++) {
            int32_t *count = to->count + one->column;
            *count = append(to, one->column, *count, i, one->value, 1);
        }
    }
}

/* to[j][i] = from[i][j], where a row has such a length; square by square, so that both stay in a near cache. */
static void turn(const float *from, int64_t from_length, int64_t rows, int64_t columns, float *to,
                 int64_t to_length) {
    for (int64_t top = 0; top < rows; top += SQUARE)
        for (int64_t left = 0; left < columns; left += SQUARE)
            for (int64_t j = left; j < minimum(left + SQUARE, columns); j++)
                for (int64_t i = top; i < minimum(top + SQUARE, rows); i++)
                    to[j * to_length + i] = from[i * from_length + j];
}

/* Keep a compiler from holding an address for each of the vectors that follow: registers are too few. */
static inline const float *one_address(const float *from) {
#if defined(__GNUC__)
    __asm__("" : "+r"(from));
#endif
    return from;
}

/* c[i] += factor times the sum of a[i][k] b[k], for rows from `first` to `last` of a tile, `width` vectors wide, and
 * of a row those k below `limit` that are not in it yet; inlined, so that `width` is a constant. */
SPECIALISED void add_products(const Sparse *a, int64_t first, int64_t last, int64_t limit, const float *b,
                              int64_t length, float factor, float *c, const int width) {
    for (int64_t i = first; i < last; i++) {
        const Entry *row = a->entries + i * a->columns, *one = row + a->used[i], *end = row + a->count[i];
        if (one == end || one->column >= limit) continue;
        Floats sums[TILE];
        UNROLL for (int v = 0; v < width; v++) sums[v] = load(c + i * length + v * LANES);
        do {
            const float *right = one_address(b + one->column * length);
            Floats left = in_register(broadcast(factor * one->value));
            UNROLL for (int v = 0; v < width; v++) sums[v] += left * load(right + v * LANES);
        } while (++one < end && one->column < limit);
        a->used[i] = (int32_t)(one - row);
        UNROLL for (int v = 0; v < width; v++) store(c + i * length + v * LANES, sums[v]);
    }
}

/* One tile of `pass`. */
SPECIALISED void pass_tile(const Layer *layer, int64_t n, float factor, int64_t at, const int width) {
    const Sparse *old = &layer->by_input, *new = &layer->by_example;
    memset(old->used, 0, sizeof *old->used * (size_t)layer->inputs);
    memset(new->used, 0, sizeof *new->used * (size_t)n);
    for (int64_t row = 0; row < layer->inputs; row += BLOCK) {
        int64_t end = minimum(row + BLOCK, layer->inputs), length = layer->length;
        float *weights = layer->weights + at;
        add_products(old, row, end, old->columns, layer->before + at, length, factor, weights, width);
        add_products(new, 0, n, end, weights, length, 1, layer->values + at, width);
    }
}

/* Add `factor` times the gradient of the step before to the weights, and write what they then give. */
static void pass(const Layer *layer, int64_t n, float factor) {
    int64_t vectors = layer->length / LANES, tiles = (vectors + TILE - 1) / TILE; /* of nearly one width */
    memset(layer->values, 0, sizeof(float) * (size_t)(n * layer->length));
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t from = vectors * tile / tiles, width = vectors * (tile + 1) / tiles - from;
#define CASE(w) case w: pass_tile(layer, n, factor, from * LANES, w); break
        switch (width) { CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); }
    }
}

/* Eight pixels at a time: most of them are black. */
static void read_images(const uint8_t *images, const int64_t *rows, int64_t n, const float *shades,
                        Sparse *to) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *image = images + (rows ? rows[i] : i) * to->columns;
        int32_t count = 0;
        for (int64_t k = 0; k < to->columns; k += 8) {
            int64_t end = minimum(k + 8, to->columns);
            uint64_t lit = 1;
            if (end == k + 8) memcpy(&lit, image + k, 8);
            for (int64_t pixel = lit ? k : end; pixel < end; pixel++)
                count = append(to, i, count, pixel, shades[image[pixel]], image[pixel] != 0);
        }
        to->count[i] = count;
    }
}

/* What ReLU lets through; NaN stays NaN. */
static void rectify(const float *values, int64_t length, int64_t n, Sparse *to) {
    for (int64_t i = 0; i < n; i++) {
        int32_t count = 0;
        for (int64_t k = 0; k < to->columns; k++)
            count = append(to, i, count, k, values[i * length + k], !(values[i * length + k] <= 0));
        to->count[i] = count;
    }
}

/* Compute logits [n][length of the last layer], by weights that take the change of the step before. */
static void forward(const Net *net, const uint8_t *images, const int64_t *rows, int64_t n, float factor,
                    Memory *memory) {
    read_images(images, rows, n, memory->shades, &memory->layer[0].by_example);
    for (int64_t l = 0; l < net->layers; l++) {
        Layer *layer = &memory->layer[l];
        if (l) rectify(layer[-1].values, layer[-1].length, n, &layer->by_example);
        pass(layer, n, factor);
    }
}

/* Return the mean loss at the logits, and write their gradient, to `gradient` transposed. */
static double output_gradient(const Layer *last, const int64_t *labels, const int64_t *rows, int64_t n,
                              float *gradient) {
    int64_t lanes = whole_vectors(n);
    memset(gradient, 0, sizeof(float) * (size_t)(last->outputs * lanes));
    turn(last->values, last->length, n, last->outputs, gradient, lanes);
    double loss = cross_entropy(last->outputs, labels, rows, n, gradient, NULL) / (double)n;
    turn(gradient, lanes, last->outputs, n, last->values, last->length);
    return loss;
}

/* Write the gradient of what ReLU has let through below `layer`, and of the rest zero; to `above` transposed. */
static void pass_back(const Layer *layer, int64_t n, Memory *memory) {
    int64_t lanes = whole_vectors(n), length = layer[-1].length;
    const Sparse *active = &layer->by_input;
    mix_rows(layer->weights, layer->length, 1, layer->inputs, memory->above, layer->outputs, lanes,
             memory->below, 0);
    memset(memory->above, 0, sizeof(float) * (size_t)(layer->inputs * lanes));
    memset(layer[-1].values, 0, sizeof(float) * (size_t)(n * length));
    for (int64_t unit = 0; unit < layer->inputs; unit++) {
        const Entry *one = active->entries + unit * active->columns, *end = one + active->count[unit];
        for (; one < end; one++) {
            float gradient = memory->below[unit * lanes + one->column];
            memory->above[unit * lanes + one->column] = gradient;
            layer[-1].values[one->column * length + unit] = gradient;
        }
    }
}

/* Take the step that is due, and find the gradient of n examples for the next; return their mean loss. */
static double step(const Net *net, const uint8_t *images, const int64_t *labels, const int64_t *rows,
                   int64_t n, float factor, Memory *memory) {
    forward(net, images, rows, n, factor, memory);
    double loss = output_gradient(&memory->layer[net->layers - 1], labels, rows, n, memory->above);
    for (int64_t l = net->layers - 1; l >= 0; l--) {
        Layer *layer = &memory->layer[l];
        transpose(&layer->by_example, n, &layer->by_input);
        if (l) pass_back(layer, n, memory);
        float *gradient = layer->values;
        layer->values = layer->before, layer->before = gradient;
    }
    return loss;
}

static void sparse_pieces(Sparse *sparse, int64_t rows, int64_t columns, char *block, size_t *used) {
    sparse->columns = columns;
    sparse->entries = next_piece(block, used, sizeof(Entry) * (size_t)(rows * columns));
    sparse->count = next_piece(block, used, sizeof(int32_t) * (size_t)rows);
    sparse->used = next_piece(block, used, sizeof(int32_t) * (size_t)rows);
}

/* Allocate all for up to n examples, and lay out the weights; `allocation` is NULL where memory is short. */
static void prepare(Memory *memory, const Net *net, int64_t n, const float *weights) {
    char *block = NULL;
    memset(memory, 0, sizeof *memory);
    for (int pass = 0; pass < 2; pass++) { /* the first counts, the second hands out */
        size_t used = 0;
        int64_t widest = 0;
        for (int64_t l = 0; l < net->layers; l++) {
            Layer *layer = &memory->layer[l];
            layer->inputs = net->widths[l], layer->outputs = net->widths[l + 1];
            layer->length = whole_vectors(layer->outputs);
            widest = layer->length > widest ? layer->length : widest;
            size_t weights_size = sizeof(float) * (size_t)(layer->inputs * layer->length);
            layer->weights = next_piece(block, &used, weights_size);
            layer->values = next_piece(block, &used, sizeof(float) * (size_t)(n * layer->length));
            layer->before = next_piece(block, &used, sizeof(float) * (size_t)(n * layer->length));
            sparse_pieces(&layer->by_example, n, layer->inputs, block, &used);
            sparse_pieces(&layer->by_input, layer->inputs, n, block, &used);
        }
        memory->above = next_piece(block, &used, sizeof(float) * (size_t)(widest * whole_vectors(n)));
        memory->below = next_piece(block, &used, sizeof(float) * (size_t)(widest * whole_vectors(n)));
        if (pass == 0) {
            block = memory->allocation = aligned_alloc(64, used);
            if (!block) return;
        }
    }
    for (int byte = 0; byte < 256; byte++) memory->shades[byte] = (float)byte / 255;
    for (int64_t l = 0; l < net->layers; l++) {
        Layer *layer = &memory->layer[l];
        memset(layer->weights, 0, sizeof(float) * (size_t)(layer->inputs * layer->length));
        turn(weights, layer->inputs, layer->outputs, layer->inputs, layer->weights, layer->length);
        weights += layer->inputs * layer->outputs;
        memset(layer->by_input.count, 0, sizeof(int32_t) * (size_t)layer->inputs); /* no step before */
    }
}

static void write_weights(const Net *net, const Memory *memory, float *to) {
    for (int64_t l = 0; l < net->layers; l++) {
        const Layer *layer = &memory->layer[l];
        turn(layer->weights, layer->length, layer->inputs, layer->outputs, to, layer->inputs);
        to += layer->inputs * layer->outputs;
    }
}

/* Take a step for each mini-batch. Returns 0, or 1 where memory is short. */
int mlp_train(const Net *net, const uint8_t *images, const int64_t *labels, const int64_t *rows,
              const int64_t *sizes, int64_t steps, float *weights, double rate, double *loss) {
    Memory memory;
    int64_t largest_batch = 0;
    for (int64_t s = 0; s < steps; s++) largest_batch = sizes[s] > largest_batch ? sizes[s] : largest_batch;
    prepare(&memory, net, largest_batch, weights);
    if (!memory.allocation) return 1;
    float factor = 0;
    for (int64_t s = 0; s < steps; rows += sizes[s++]) {
        *loss = step(net, images, labels, rows, sizes[s], factor, &memory);
        factor = (float)(-rate / (double)sizes[s]);
    }
    forward(net, images, rows, 0, factor, &memory); /* the last step is due, and nobody's logits */
    write_weights(net, &memory, weights);
    free(memory.allocation);
    return 0;
}

/* Write logits [n][classes]. Returns 0, or 1 where memory is short. */
int mlp_logits(const Net *net, const uint8_t *images, int64_t n, const float *weights, float *logits) {
    Memory memory;
    prepare(&memory, net, minimum(n, CHUNK), weights);
    if (!memory.allocation) return 1;
    const Layer *last = &memory.layer[net->layers - 1];
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t count = minimum(n - i, CHUNK);
        forward(net, images + i * net->widths[0], NULL, count, 0, &memory);
        for (int64_t k = 0; k < count; k++, logits += last->outputs)
            memcpy(logits, last->values + k * last->length, sizeof(float) * (size_t)last->outputs);
    }
    free(memory.allocation);
    return 0;
}
