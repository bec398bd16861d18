/* Where the numbers of the CNN are: in the flat vector of its weights, and in memory during a call.
 *
 * LANES examples are worked on side by side: every `Floats` holds one number of each of them.
 */
#ifndef CNN_MEMORY_H
#define CNN_MEMORY_H
#include "dense.h"

enum {
    PIXELS = 784,
    PATH = 28,                  /* pixels in a row */
    WINDOWS = 196,              /* of the first pool */
    WINDOW_ROW = 14,
    TILES = 49,                 /* windows of the second pool, tiles of Winograd's algorithm */
    POOLED = 7,
    TAPS = KERNEL * KERNEL,
    BORDER = KERNEL / 2,        /* zeros around an image: no border is a special case */
    IMAGE_SIDE = 28 + 2 * BORDER,
    SIDE = 14 + 2 * BORDER,
    SPAN = KERNEL + 1,          /* inputs in a row of a tile */
    ELEMENTS = SPAN * SPAN,
    MOST_LAYERS = 20
};

typedef struct {
    int64_t layers;             /* two convolutions and the dense layers */
    int64_t width[MOST_LAYERS]; /* units of each */
    int activation;             /* see activation.h */
} Net;

/* The flat vector [d] of weights: where each tensor begins, and how many products are in the sum of a unit.
 */
typedef struct {
    int64_t weight[MOST_LAYERS], bias[MOST_LAYERS], terms[MOST_LAYERS], size;
} Layout;

static Layout layout_of(const Net *net) {
    Layout layout = {.terms = {TAPS, TAPS * net->width[0], TILES * net->width[1]}};
    for (int64_t layer = 0; layer < net->layers; layer++) {
        if (layer > 2) layout.terms[layer] = net->width[layer - 1];
        layout.weight[layer] = layout.size;
        layout.bias[layer] = layout.size += net->width[layer] * layout.terms[layer];
        layout.size += net->width[layer];
    }
    return layout;
}

/* Return how many units of a layer are worked on: ROWS at a time. */
static inline int64_t whole_blocks(int64_t units) { return (units + ROWS - 1) / ROWS * ROWS; }

typedef struct {
    /* Of the examples in the lanes */
    Floats *image;              /* [IMAGE_SIDE][IMAGE_SIDE], the frame stays zero */
    Floats *first;              /* [channels][SIDE][SIDE] after the activation, the frame stays zero */
    Floats *first_gradient;     /* the same, but its frame is whatever reached it */
    /* What a dense layer reads, [terms]; the last are the logits */
    Floats *values[MOST_LAYERS], *gradients[MOST_LAYERS];
    Bytes *codes[2];            /* [channels][windows], where the maximum of a pool was: 2 * row + column */
    Floats *inputs, *outputs;   /* [ELEMENTS][channels][POOLED] of a row of tiles */
    Floats (*products)[ROWS][POOLED]; /* [ELEMENTS] */
    Floats *correlations;       /* [ELEMENTS][out][in], the gradient of the second filters, transformed */
    Floats *own;                /* [weights of both convolutions] the gradient of each example */
    float *rows;                /* [LANES][terms in whole vectors], what a dense layer reads, by example */
    /* Of all examples */
    Floats *total;              /* as `own`, summed but for the lanes */
    float *dense[MOST_LAYERS];  /* [width][terms in whole vectors], gradients of dense weights */
    Floats *dense_bias[MOST_LAYERS];
    float *first_filters, *filters, *reversed_filters; /* in blocks of ROWS rows */
    void *allocation;           /* all of the above lie in it */
} Memory;

/* Allocate all; `allocation` is NULL where memory is short. */
static void allocate(Memory *memory, const Net *net, const Layout *layout) {
    memset(memory, 0, sizeof *memory);
    int64_t firsts = whole_blocks(net->width[0]), seconds = whole_blocks(net->width[1]), longest = 0;
    for (int64_t layer = 2; layer < net->layers; layer++)
        longest = layout->terms[layer] > longest ? layout->terms[layer] : longest;
    char *block = NULL;
    for (int pass = 0; pass < 2; pass++) { /* the first counts, the second hands out */
        size_t used = 0;
#define TAKE(piece, count) memory->piece = next_piece(block, &used, sizeof *memory->piece * (size_t)(count))
        TAKE(image, IMAGE_SIDE * IMAGE_SIDE);
        TAKE(first, firsts * SIDE * SIDE);
        TAKE(first_gradient, firsts * SIDE * SIDE);
        TAKE(codes[0], firsts * WINDOWS);
        TAKE(codes[1], seconds * TILES);
        TAKE(inputs, ELEMENTS * firsts * POOLED);
        TAKE(outputs, ELEMENTS * seconds * POOLED);
        TAKE(products, ELEMENTS);
        TAKE(correlations, ELEMENTS * firsts * seconds);
        TAKE(own, layout->weight[2]);
        TAKE(total, layout->weight[2]);
        TAKE(rows, LANES * whole_vectors(longest));
        for (int64_t layer = 2; layer <= net->layers; layer++) {
            TAKE(values[layer], layer < net->layers ? layout->terms[layer] : net->width[layer - 1]);
            TAKE(gradients[layer], layer < net->layers ? layout->terms[layer] : net->width[layer - 1]);
            if (layer == net->layers) break;
            TAKE(dense[layer], net->width[layer] * whole_vectors(layout->terms[layer]));
            TAKE(dense_bias[layer], net->width[layer]);
        }
        TAKE(first_filters, firsts * TAPS);
        TAKE(filters, seconds * ELEMENTS * net->width[0]);
        TAKE(reversed_filters, firsts * ELEMENTS * net->width[1]);
#undef TAKE
        if (pass == 0) {
            block = memory->allocation = aligned_alloc(64, used);
            if (!block) return;
            memset(block, 0, used);
        }
    }
}
#endif
