/* Gradients and logits of the last layer of a frozen network, a linear map of features of half precision.
 *
 * GROUP examples are worked on together, so that each weight is read once for all of them, and CLASSES units.
 * The gradient at an example is an outer product: its norm is known before it is made.
 *
 * Nothing is static and sums have a fixed order: any number of threads may call; equal input, equal bits.
 */
#include "clip.h"
#include "loss.h"

enum { GROUP = 4, CLASSES = LANES == 16 ? 5 : 2 };

typedef struct {
    int64_t features, classes;
    float constant; /* what a bias is multiplied by */
} Net;

typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

/* Return numbers of half precision, all finite, as floats: the exponent is moved, and its bias with a
 * product. */
static inline Floats widen(const uint16_t *from) {
    Halves halves;
    memcpy(&halves, from, sizeof halves);
    Ints bits = __builtin_convertvector(halves, Ints);
    Floats size = (Floats)((bits & 0x7fff) << 13) * 0x1p112f;
    return (Floats)((Ints)size | (bits & 0x8000) << 16);
}

/* to[g][features] = the features of the rows; rows beyond the last are the last once more. */
static void read_features(const Net *net, const uint16_t *features, const int64_t *rows, int64_t n,
                          float *to) {
    int64_t length = whole_vectors(net->features), whole = net->features / LANES * LANES;
    for (int64_t g = 0; g < GROUP; g++) {
        const uint16_t *from = features + rows[minimum(g, n - 1)] * net->features;
        float *row = to + g * length;
        for (int64_t k = 0; k < whole; k += LANES) store(row + k, widen(from + k));
        if (whole == length) continue;
        uint16_t rest[LANES] = {0};
        memcpy(rest, from + whole, sizeof *rest * (size_t)(net->features - whole));
        store(row + whole, widen(rest));
    }
}

/* logits[unit * LANES + g] of a group; weights [classes][features in whole vectors], bias [classes] */
static void group_logits(const Net *net, const float *features, const float *weights, const float *bias,
                         float *logits) {
    int64_t length = whole_vectors(net->features);
    for (int64_t unit = 0; unit < net->classes; unit += CLASSES) {
        Floats sums[GROUP][CLASSES];
        const float *row[CLASSES];
        UNROLL for (int c = 0; c < CLASSES; c++) {
            row[c] = weights + minimum(unit + c, net->classes - 1) * length;
            UNROLL for (int g = 0; g < GROUP; g++) sums[g][c] = broadcast(0);
        }
        for (int64_t k = 0; k < length; k += LANES)
            UNROLL for (int g = 0; g < GROUP; g++) {
                Floats feature = in_register(load(features + g * length + k));
                UNROLL for (int c = 0; c < CLASSES; c++) sums[g][c] += feature * load(row[c] + k);
            }
        for (int g = 0; g < GROUP; g++)
            for (int c = 0; c < CLASSES && unit + c < net->classes; c++)
                logits[(unit + c) * LANES + g] = sum_of_lanes(sums[g][c]) + net->constant * bias[unit + c];
    }
}

/* sum[unit][feature] += over the group gradient[unit * LANES + g] features[g][feature] */
static void add_products(const Net *net, const float *features, const float *gradient, float *sum) {
    int64_t length = whole_vectors(net->features);
    for (int64_t unit = 0; unit < net->classes; unit++)
        for (int64_t k = 0; k < length; k += LANES) {
            Floats total = load(sum + unit * length + k);
            UNROLL for (int g = 0; g < GROUP; g++)
                total += load(features + g * length + k) * gradient[unit * LANES + g];
            store(sum + unit * length + k, total);
        }
}

/* Scale the gradients of a group so that none has a norm above `clip`; what is not finite counts as zero.
 * Return how many were above. */
static int64_t clip_group(const Net *net, const float *features, int64_t n, double clip, float *gradient) {
    int64_t clipped = 0, length = whole_vectors(net->features);
    for (int64_t g = 0; g < n; g++) {
        double read = (double)net->constant * net->constant, given = 0; /* the bias reads that */
        for (int64_t k = 0; k < length; k += LANES) {
            Floats feature = load(features + g * length + k);
            read += sum_of_lanes(feature * feature);
        }
        for (int64_t unit = 0; unit < net->classes; unit++)
            given += (double)gradient[unit * LANES + g] * gradient[unit * LANES + g];
        float share = share_within(sqrt(read * given), clip, &clipped);
        for (int64_t unit = 0; unit < net->classes; unit++) {
            float *one = gradient + unit * LANES + g;
            *one = share == 0 ? 0 : *one * share; /* what is not finite times zero is not zero */
        }
    }
    return clipped;
}

static void write_example(const Net *net, const float *features, const float *gradient, float *to) {
    for (int64_t unit = 0; unit < net->classes; unit++) {
        for (int64_t k = 0; k < net->features; k++) *to++ = gradient[unit * LANES] * features[k];
    }
    for (int64_t unit = 0; unit < net->classes; unit++) *to++ = gradient[unit * LANES] * net->constant;
}

typedef struct {
    float *weights, *sum; /* [classes][features in whole vectors] */
    float *features;      /* [GROUP][features in whole vectors] */
    float *logits, *bias; /* [classes][LANES], [classes] */
    void *allocation;
} Memory;

/* Allocate all and lay out the weights; `allocation` is NULL where memory is short. */
static void prepare(Memory *memory, const Net *net, const float *weights) {
    int64_t length = whole_vectors(net->features);
    char *block = NULL;
    memset(memory, 0, sizeof *memory);
    for (int pass = 0; pass < 2; pass++) { /* the first counts, the second hands out */
        size_t used = 0;
        memory->weights = next_piece(block, &used, sizeof(float) * (size_t)(net->classes * length));
        memory->sum = next_piece(block, &used, sizeof(float) * (size_t)(net->classes * length));
        memory->features = next_piece(block, &used, sizeof(float) * (size_t)(GROUP * length));
        memory->logits = next_piece(block, &used, sizeof(float) * (size_t)(net->classes * LANES));
        memory->bias = next_piece(block, &used, sizeof(float) * (size_t)net->classes);
        if (pass == 0) {
            block = memory->allocation = aligned_alloc(64, used);
            if (!block) return;
            memset(block, 0, used);
        }
    }
    for (int64_t unit = 0; unit < net->classes; unit++)
        memcpy(memory->weights + unit * length, weights + unit * net->features,
               sizeof(float) * (size_t)net->features);
}

/* Write the sum [d] of the gradients at the rows' examples, each clipped to the norm `clip` if that is not 0,
 * and the first `samples` of them [samples][d]; the losses [n], and how many were clipped. Returns 0,
 * or 1 where memory is short. */
int gradient(const Net *net, const uint16_t *features, const int64_t *labels, const int64_t *rows, int64_t n,
             const float *weights, double clip, int64_t samples, float *sum, float *sampled, double *losses,
             int64_t *clipped) {
    int64_t length = whole_vectors(net->features), size = net->classes * net->features;
    const float *bias = weights + size;
    Memory memory;
    prepare(&memory, net, weights);
    if (!memory.allocation) return 1;
    *clipped = 0;
    for (int64_t i = 0; i < n; i += GROUP) {
        int64_t count = minimum(n - i, GROUP);
        read_features(net, features, rows + i, count, memory.features);
        group_logits(net, memory.features, memory.weights, bias, memory.logits);
        cross_entropy(net->classes, labels, rows + i, count, memory.logits, losses + i);
        for (int64_t unit = 0; unit < net->classes; unit++)
            for (int64_t g = count; g < GROUP; g++) memory.logits[unit * LANES + g] = 0;
        if (clip > 0) *clipped += clip_group(net, memory.features, count, clip, memory.logits);
        for (int64_t g = 0; g < count && i + g < samples; g++)
            write_example(net, memory.features + g * length, memory.logits + g,
                          sampled + (i + g) * (size + net->classes));
        add_products(net, memory.features, memory.logits, memory.sum);
        for (int64_t unit = 0; unit < net->classes; unit++)
            for (int64_t g = 0; g < count; g++) memory.bias[unit] += memory.logits[unit * LANES + g] * net->constant;
    }
    for (int64_t unit = 0; unit < net->classes; unit++)
        memcpy(sum + unit * net->features, memory.sum + unit * length, sizeof(float) * (size_t)net->features);
    memcpy(sum + size, memory.bias, sizeof(float) * (size_t)net->classes);
    free(memory.allocation);
    return 0;
}

/* Write logits [n][classes]. Returns 0, or 1 where memory is short. */
int logits(const Net *net, const uint16_t *features, int64_t n, const float *weights, float *to) {
    const float *bias = weights + net->classes * net->features;
    Memory memory;
    prepare(&memory, net, weights);
    if (!memory.allocation) return 1;
    for (int64_t i = 0; i < n; i += GROUP) {
        int64_t rows[GROUP], count = minimum(n - i, GROUP);
        for (int64_t g = 0; g < count; g++) rows[g] = i + g;
        read_features(net, features, rows, count, memory.features);
        group_logits(net, memory.features, memory.weights, bias, memory.logits);
        for (int64_t g = 0; g < count; g++)
            for (int64_t unit = 0; unit < net->classes; unit++) *to++ = memory.logits[unit * LANES + g];
    }
    free(memory.allocation);
    return 0;
}
