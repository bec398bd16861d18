/* Take the local steps of one client through dense layers with ReLU and without biases, all mini-batches in
 * one call, or compute their logits.
 *
 * Four of five pixels of a digit are 0, and so is about half of what a ReLU lets through: what is zero is
 * neither multiplied nor moved. Plain SGD needs no gradient in memory either: it is added to the weights as
 * it is found, those of a layer after they have passed back what is above them.
 *
 * Nothing is static and sums have a fixed order: any number of threads may call; equal input, equal bits.
 */
#include "dense.h"
#include "loss.h"

enum {
    LAYERS = 17,
    CHUNK = 64, /* examples of a pass without steps */
    TILE = 8,   /* vectors of a tile */
    BLOCK = 64, /* rows of a tile that stay in the first-level cache while others pass */
};

typedef struct {
    int64_t layers, widths[LAYERS + 1]; /* inputs, units of each layer, the last are classes */
} Net;

/* Numbers of a matrix that are not zero, row by row, with their columns. */
typedef struct {
    int64_t columns;
    int32_t *count; /* [rows] */
    int32_t *place; /* [rows][columns] */
    float *value;   /* [rows][columns] */
    int32_t *used;  /* [rows] how many of a row a product has added */
} Sparse;

typedef struct {
    int64_t inputs, outputs, length; /* `length`: outputs in whole vectors */
    float *weights;                  /* [inputs][length], zero beyond the outputs */
    Sparse by_example, by_input;     /* what it reads, and the same transposed */
} Layer;

typedef struct {
    Layer layer[LAYERS];
    float *values, *next; /* [examples][longest length]: what a layer gives, or the gradient of that; the
                             second is that of the layer below */
    float *above, *below; /* [most units][examples in whole vectors]: gradients, transposed */
    void *allocation;
} Memory;

/* Write the number where the row's next one belongs; `keep` says whether it stays. Without a branch: whether
 * the next pixel is 0 is hard to foresee. */
static inline int32_t append(Sparse *to, int64_t row, int32_t count, int64_t column, float value, int keep) {
    int64_t k = row * to->columns + count;
    to->place[k] = (int32_t)column, to->value[k] = value;
    return count + keep;
}

static void transpose(const Sparse *from, int64_t rows, Sparse *to) {
    memset(to->count, 0, sizeof *to->count * (size_t)from->columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = i * from->columns, end = k + from->count[i]; k < end; k++) {
            int32_t *count = to->count + from->place[k];
            *count = append(to, from->place[k], *count, i, from->value[k], 1);
        }
}

/* Keep a compiler from holding an address for each of the vectors that follow: registers are too few. */
static inline const float *one_address(const float *from) {
#if defined(__GNUC__)
    __asm__("" : "+r"(from));
#endif
    return from;
}

/* One tile of `add_products`, `width` vectors wide; inlined, so that `width` is a constant. */
SPECIALISED void add_tile(const Sparse *a, int64_t rows, const float *b, int64_t length, float factor,
                          float *c, const int width) {
    memset(a->used, 0, sizeof *a->used * (size_t)rows);
    for (int64_t block = BLOCK; block < a->columns + BLOCK; block += BLOCK)
        for (int64_t i = 0; i < rows; i++) {
            int64_t first = i * a->columns, k = first + a->used[i], end = first + a->count[i];
            if (k == end || a->place[k] >= block) continue;
            Floats sums[TILE];
            UNROLL for (int v = 0; v < width; v++) sums[v] = load(c + i * length + v * LANES);
            do {
                const float *row = one_address(b + a->place[k] * length);
                Floats left = in_register(broadcast(factor * a->value[k]));
                UNROLL for (int v = 0; v < width; v++) sums[v] += left * load(row + v * LANES);
            } while (++k < end && a->place[k] < block);
            a->used[i] = (int32_t)(k - first);
            UNROLL for (int v = 0; v < width; v++) store(c + i * length + v * LANES, sums[v]);
        }
}

/* c += factor a b; rows of b and c of `length` in whole vectors, cut into tiles of nearly equal width */
static void add_products(const Sparse *a, int64_t rows, const float *b, int64_t length, float factor,
                         float *c) {
    int64_t vectors = length / LANES, tiles = (vectors + TILE - 1) / TILE;
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t from = vectors * tile / tiles, width = vectors * (tile + 1) / tiles - from, at = from * LANES;
#define CASE(w) case w: add_tile(a, rows, b + at, length, factor, c + at, w); break
        switch (width) { CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); }
    }
}

static void read_images(const uint8_t *images, const int64_t *rows, int64_t n, Sparse *to) {
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *image = images + (rows ? rows[i] : i) * to->columns;
        int32_t count = 0;
        for (int64_t k = 0; k < to->columns; k++)
            count = append(to, i, count, k, (float)image[k] / 255, image[k] != 0);
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

/* Compute logits [n][length of the last layer] into `values`. */
static void forward(const Net *net, const uint8_t *images, const int64_t *rows, int64_t n, Memory *memory) {
    read_images(images, rows, n, &memory->layer[0].by_example);
    for (int64_t l = 0; l < net->layers; l++) {
        Layer *layer = &memory->layer[l];
        if (l) rectify(memory->values, layer[-1].length, n, &layer->by_example);
        memset(memory->values, 0, sizeof(float) * (size_t)(n * layer->length));
        add_products(&layer->by_example, n, layer->weights, layer->length, 1, memory->values);
    }
}

/* Return the mean loss at the logits in `values`, and write their gradient [classes][n in whole vectors]. */
static double output_gradient(const Layer *last, const int64_t *labels, const int64_t *rows, int64_t n,
                              Memory *memory) {
    int64_t lanes = whole_vectors(n);
    float *gradient = memory->above, *values = memory->values;
    memset(gradient, 0, sizeof(float) * (size_t)(last->outputs * lanes));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < last->outputs; k++) gradient[k * lanes + i] = values[i * last->length + k];
    double loss = cross_entropy(last->outputs, labels, rows, n, gradient) / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < last->outputs; k++) values[i * last->length + k] = gradient[k * lanes + i];
    return loss;
}

/* Write the gradient of what ReLU has let through below `layer`, and of the rest zero: to `above` and, a row
 * an example, to `next`. */
static void pass_back(const Layer *layer, int64_t n, Memory *memory) {
    int64_t lanes = whole_vectors(n), length = layer[-1].length;
    const Sparse *active = &layer->by_input;
    mix_rows(layer->weights, layer->length, 1, layer->inputs, memory->above, layer->outputs, lanes,
             memory->below, 0);
    memset(memory->above, 0, sizeof(float) * (size_t)(layer->inputs * lanes));
    memset(memory->next, 0, sizeof(float) * (size_t)(n * length));
    for (int64_t unit = 0; unit < layer->inputs; unit++)
        for (int64_t k = unit * active->columns, end = k + active->count[unit]; k < end; k++) {
            int64_t i = active->place[k];
            float gradient = memory->below[unit * lanes + i];
            memory->above[unit * lanes + i] = memory->next[i * length + unit] = gradient;
        }
}

/* Take one step down the mean loss of n examples, and return that loss. */
static double step(const Net *net, const uint8_t *images, const int64_t *labels, const int64_t *rows,
                   int64_t n, double rate, Memory *memory) {
    forward(net, images, rows, n, memory);
    double loss = output_gradient(&memory->layer[net->layers - 1], labels, rows, n, memory);
    for (int64_t l = net->layers - 1; l >= 0; l--) {
        Layer *layer = &memory->layer[l];
        transpose(&layer->by_example, n, &layer->by_input);
        if (l) pass_back(layer, n, memory);
        add_products(&layer->by_input, layer->inputs, memory->values, layer->length,
                     (float)(-rate / (double)n), layer->weights);
        float *below = memory->next;
        memory->next = memory->values, memory->values = below;
    }
    return loss;
}

static void sparse_pieces(Sparse *sparse, int64_t rows, int64_t columns, char *block, size_t *used) {
    sparse->columns = columns;
    sparse->count = next_piece(block, used, sizeof(int32_t) * (size_t)rows);
    sparse->place = next_piece(block, used, sizeof(int32_t) * (size_t)(rows * columns));
    sparse->value = next_piece(block, used, sizeof(float) * (size_t)(rows * columns));
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
            sparse_pieces(&layer->by_example, n, layer->inputs, block, &used);
            sparse_pieces(&layer->by_input, layer->inputs, n, block, &used);
        }
        memory->values = next_piece(block, &used, sizeof(float) * (size_t)(n * widest));
        memory->next = next_piece(block, &used, sizeof(float) * (size_t)(n * widest));
        memory->above = next_piece(block, &used, sizeof(float) * (size_t)(widest * whole_vectors(n)));
        memory->below = next_piece(block, &used, sizeof(float) * (size_t)(widest * whole_vectors(n)));
        if (pass == 0) {
            block = memory->allocation = aligned_alloc(64, used);
            if (!block) return;
        }
    }
    for (int64_t l = 0; l < net->layers; l++) {
        const Layer *layer = &memory->layer[l];
        for (int64_t i = 0; i < layer->inputs; i++)
            for (int64_t o = 0; o < layer->length; o++)
                layer->weights[i * layer->length + o] =
                    o < layer->outputs ? weights[o * layer->inputs + i] : 0;
        weights += layer->inputs * layer->outputs;
    }
}

static void write_weights(const Net *net, const Memory *memory, float *to) {
    for (int64_t l = 0; l < net->layers; l++) {
        const Layer *layer = &memory->layer[l];
        for (int64_t o = 0; o < layer->outputs; o++)
            for (int64_t i = 0; i < layer->inputs; i++) *to++ = layer->weights[i * layer->length + o];
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
    for (int64_t s = 0; s < steps; rows += sizes[s++])
        *loss = step(net, images, labels, rows, sizes[s], rate, &memory);
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
        forward(net, images + i * net->widths[0], NULL, count, &memory);
        for (int64_t k = 0; k < count; k++, logits += last->outputs)
            memcpy(logits, memory.values + k * last->length, sizeof(float) * (size_t)last->outputs);
    }
    free(memory.allocation);
    return 0;
}
