/* Where the small network's numbers are: in the flat vector of its weights, and in memory during a call. */
#ifndef SMALL_NET_MEMORY_H
#define SMALL_NET_MEMORY_H
#include "dense.h"
#include "signs.h"
#include "winograd.h"

enum { PIXELS = 784, WINDOWS = 196, PATCH = 16, TAPS = 9, FEATURES = TILES * CHANNELS, LAYERS = 4 };

typedef struct {
    int64_t hidden, classes;
    int binary, norm;
    int bright; /* the first grey that is read as 1, those before as -1; negative: all as they are */
} Net;

/* The flat vector [d] of weights, layer by layer: where each tensor begins and how large it is. Biases of
 * convolutions exist only without `binary`, norms only with `norm`. */
typedef struct {
    int64_t weight[LAYERS], bias[LAYERS]; /* offsets; weights are [width][terms] */
    int64_t width[LAYERS], terms[LAYERS]; /* units of a layer, products in the sum of one */
    int64_t norm[LAYERS]; /* offset of the affine weight; its bias, the mean and the variance follow */
    int64_t bits, size;   /* how many come before the norms, and in all */
} Layout;

/* Return what a grey of 1 stands for: greys are read as integers, because sums of integers are exact. */
static inline double grey_unit(const Net *net) { return net->bright >= 0 ? 1 : 1 / 255.0; }

static Layout layout_of(const Net *net) {
    Layout layout = {.width = {CHANNELS, CHANNELS, net->hidden, net->classes},
                     .terms = {TAPS, TAPS * CHANNELS, FEATURES, net->hidden}};
    for (int layer = 0; layer < LAYERS; layer++) {
        layout.weight[layer] = layout.size;
        layout.bias[layer] = layout.size += layout.width[layer] * layout.terms[layer];
        if (layer >= 2 || !net->binary) layout.size += layout.width[layer];
    }
    layout.bits = layout.size;
    for (int layer = 0; layer < LAYERS && net->norm; layer++)
        layout.norm[layer] = layout.size, layout.size += 4 * layout.width[layer];
    return layout;
}

/* What an affine map does to a layer's sums, for each unit: scale * (sum - centre) + shift. */
typedef struct {
    float *centre, *scale, *shift;
    float *inverse; /* 1 / standard deviation of the batch, in training */
} Affine;

/* `first` and `second` are the two convolutions; codes say where a pool's maximum was, 2 * row + column. */
typedef struct {
    /* Of each example */
    float (*patches)[WINDOWS][PATCH];          /* 4x4 pixels, what a window of the first pool sees */
    float (*first_values)[WINDOWS][CHANNELS];  /* after the activation; backward its gradient */
    uint8_t (*first_codes)[WINDOWS][CHANNELS];
    Windows *second_sums;                      /* of all examples only for normalisation by the batch */
    float (*features)[FEATURES];               /* the second layer's values, channels first */
    float (*features_gradient)[FEATURES];
    uint8_t (*second_codes)[TILES][CHANNELS];
    float (*pooled)[TILES][CHANNELS]; /* gradient of the second pool's maxima */
    /* A row for each feature, hidden unit or class, an example in each lane */
    float *features_by_example, *hidden_sums, *hidden, *hidden_gradient, *logits_sums, *logits;
    /* Of the mini-batch */
    float *effective, *gradient; /* [d] weights as a pass uses them, their gradient */
    Affine affine[LAYERS];
    double gram[PATCH][PATCH], pixel_sums[PATCH];
    Tiles *inputs, *outputs, *products;
    Filters *filters, *transposed_filters, *correlations;
    SignFilters *sign_filters;
    SignPlane *sign_plane;
    float (*second_weight_gradient)[CHANNELS][TAPS][CHANNELS]; /* input channels last */
    Plane *plane, *plane_gradient; /* the first keeps its frame of zeros */
    void *allocation;              /* all of the above lie in it */
} Memory;

/* Allocate all for mini-batches of at most n examples; `allocation` is NULL where memory is short. */
static void allocate(Memory *memory, const Net *net, const Layout *layout, int64_t n, int training) {
    memset(memory, 0, sizeof *memory);
    char *block = NULL;
    for (int pass = 0; pass < 2; pass++) { /* the first counts, the second hands out */
        size_t used = 0;
#define TAKE(piece, count) memory->piece = next_piece(block, &used, sizeof *memory->piece * (size_t)(count))
        TAKE(patches, n);
        TAKE(first_values, n);
        TAKE(first_codes, n);
        TAKE(second_sums, training && net->norm ? n : 1);
        TAKE(features, n);
        TAKE(features_gradient, n);
        TAKE(second_codes, n);
        TAKE(pooled, n);
        TAKE(features_by_example, whole_vectors(n) * FEATURES);
        TAKE(hidden_sums, whole_vectors(n) * net->hidden);
        TAKE(hidden, whole_vectors(n) * net->hidden);
        TAKE(hidden_gradient, whole_vectors(n) * net->hidden);
        TAKE(logits_sums, whole_vectors(n) * net->classes);
        TAKE(logits, whole_vectors(n) * net->classes);
        TAKE(effective, layout->size);
        TAKE(gradient, layout->size);
        for (int layer = 0; layer < LAYERS; layer++) {
            int64_t width = layout->width[layer];
            TAKE(affine[layer].centre, width);
            TAKE(affine[layer].scale, width);
            TAKE(affine[layer].shift, width);
            TAKE(affine[layer].inverse, width);
        }
        TAKE(inputs, 1);
        TAKE(outputs, 1);
        TAKE(products, 1);
        TAKE(filters, 1);
        TAKE(transposed_filters, 1);
        TAKE(sign_filters, 1);
        TAKE(sign_plane, 1);
        TAKE(correlations, 1);
        TAKE(second_weight_gradient, 1);
        TAKE(plane, 1);
        TAKE(plane_gradient, 1);
        if (pass == 0) {
            block = memory->allocation = aligned_alloc(64, used);
            if (!block) return;
            memset(block, 0, used);
        }
    }
}
#endif
