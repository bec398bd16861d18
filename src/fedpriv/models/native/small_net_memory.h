/* Where the numbers of the small network are: in the flat vector of its weights, and in memory during a call. */
#ifndef SMALL_NET_MEMORY_H
#define SMALL_NET_MEMORY_H
#include <stdlib.h>

#include "dense.h"
#include "signs.h"
#include "winograd.h"

enum { PIXELS = 784, WINDOWS = 196, PATCH = 16, TAPS = 9, FEATURES = TILES * CHANNELS, LAYERS = 4 };

typedef struct {
    int64_t hidden, classes;
    int binary, norm;
    int bright; /* the first grey that the network reads as 1, those before as -1; negative: all as they are */
} Net;

/* Offsets into the flat vector. Biases of convolutions exist only without `binary`, norms only with `norm`. */
typedef struct {
    int64_t weight[LAYERS], bias[LAYERS], width[LAYERS], terms[LAYERS];
    int64_t norm[LAYERS]; /* of the affine weight; its bias, the mean and the variance follow */
    int64_t bits, size;   /* everything before the norms, everything */
} Places;

/* Greys are read as integers, because sums of integers are exact, and in units of: */
static inline double unit(const Net *net) { return net->bright >= 0 ? 1 : 1 / 255.0; }

static Places places(const Net *net) {
    Places at = {.width = {CHANNELS, CHANNELS, net->hidden, net->classes},
                 .terms = {TAPS, TAPS * CHANNELS, FEATURES, net->hidden}};
    for (int layer = 0; layer < LAYERS; layer++) {
        at.weight[layer] = at.size;
        at.bias[layer] = at.size += at.width[layer] * at.terms[layer];
        if (layer >= 2 || !net->binary) at.size += at.width[layer];
    }
    at.bits = at.size;
    for (int layer = 0; layer < LAYERS && net->norm; layer++)
        at.norm[layer] = at.size, at.size += 4 * at.width[layer];
    return at;
}

/* What an affine map does to a layer's sums, for each unit: scale * (sum - centre) + shift. */
typedef struct {
    float *centre, *scale, *shift, *inverse; /* the last is 1 / standard deviation of the batch, in training */
} Affine;

typedef struct {
    /* Of each example */
    float (*patches)[WINDOWS][PATCH];        /* 4x4 pixels, what a window of the first pool sees */
    float (*first)[WINDOWS][CHANNELS];       /* tanh after the first pool; backward its gradient */
    uint8_t (*first_code)[WINDOWS][CHANNELS]; /* where the maximum was, 2 * row + column */
    Windows *sums;                           /* of the second layer; only normalisation needs all */
    float (*features)[FEATURES];             /* tanh after the second pool, channels first */
    float (*features_gradient)[FEATURES];
    uint8_t (*second_code)[TILES][CHANNELS];
    float (*pooled)[TILES][CHANNELS]; /* gradient of the second pool's maxima */
    /* A row for each feature, hidden unit or class, an example in each lane */
    float *turned, *hidden_sums, *hidden, *hidden_gradient, *logits_sums, *logits;
    /* Of the mini-batch */
    float *used, *gradient; /* [d] weights as a pass uses them, their gradient */
    Affine affine[LAYERS];
    double gram[PATCH][PATCH], pixel_sums[PATCH];
    Tiles *inputs, *outputs, *products;
    Filters *filters, *transposed, *correlations;
    SignFilters *byte_filters;
    SignPlane *bytes;
    float (*maxima)[CHANNELS][TAPS][CHANNELS]; /* gradient of the second layer's weights, input channels last */
    Plane *plane, *plane_gradient; /* the first keeps its frame of zeros */
    void *block;
} Memory;

/* Examples in lanes come in whole vectors. */
static inline int64_t whole(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Return the next piece of a block; with a null block only count. */
static void *take(char *block, size_t *used, size_t bytes) {
    void *piece = block ? block + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return piece;
}

/* Allocate all of it for mini-batches of at most n examples; block is NULL where there is not enough memory. */
static void allocate(Memory *memory, const Net *net, const Places *at, int64_t n, int training) {
    memset(memory, 0, sizeof *memory);
    char *block = NULL;
    for (int round = 0; round < 2; round++) {
        size_t used = 0;
#define TAKE(piece, count) memory->piece = take(block, &used, sizeof *memory->piece * (size_t)(count))
        TAKE(patches, n);
        TAKE(first, n);
        TAKE(first_code, n);
        TAKE(sums, training && net->norm ? n : 1);
        TAKE(features, n);
        TAKE(features_gradient, n);
        TAKE(second_code, n);
        TAKE(pooled, n);
        TAKE(turned, whole(n) * FEATURES);
        TAKE(hidden_sums, whole(n) * net->hidden);
        TAKE(hidden, whole(n) * net->hidden);
        TAKE(hidden_gradient, whole(n) * net->hidden);
        TAKE(logits_sums, whole(n) * net->classes);
        TAKE(logits, whole(n) * net->classes);
        TAKE(used, at->size);
        TAKE(gradient, at->size);
        for (int layer = 0; layer < LAYERS; layer++) {
            int64_t width = at->width[layer];
            TAKE(affine[layer].centre, width);
            TAKE(affine[layer].scale, width);
            TAKE(affine[layer].shift, width);
            TAKE(affine[layer].inverse, width);
        }
        TAKE(inputs, 1);
        TAKE(outputs, 1);
        TAKE(products, 1);
        TAKE(filters, 1);
        TAKE(transposed, 1);
        TAKE(byte_filters, 1);
        TAKE(bytes, 1);
        TAKE(correlations, 1);
        TAKE(maxima, 1);
        TAKE(plane, 1);
        TAKE(plane_gradient, 1);
        if (round == 0) {
            block = memory->block = aligned_alloc(64, used);
            if (!block) return;
            memset(block, 0, used);
        }
    }
}
#endif
