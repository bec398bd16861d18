/* Gradients and logits of the CNN: 28x28 images - conv - pool - activation - conv - pool - activation - dense
 * layers with the activation in between - softmax. KERNEL is the side of both convolutions.
 *
 * Nothing is static and sums have a fixed order: any number of threads may call; equal input, equal bits.
 */
#include "clip.h"
#include "cnn_dense.h"
#include "cnn_layers.h"

/* Lay out the weights of the convolutions once for all examples. */
static void prepare(const Net *net, const Layout *layout, const float *weights, int backward,
                    Memory *memory) {
    const float *second = weights + layout->weight[1];
    block_filters(weights + layout->weight[0], net->width[0], memory->first_filters);
    transform_filters(second, net->width[1], net->width[0], 0, memory->filters);
    if (backward) transform_filters(second, net->width[1], net->width[0], 1, memory->reversed_filters);
}

static void forward(const Net *net, const Layout *layout, const float *weights, const uint8_t *images,
                    const int64_t *rows, int64_t n, Memory *memory) {
    read_images(images, rows, n, memory->image);
    first_layer(net, weights + layout->bias[0], memory);
    second_layer(net, weights + layout->bias[1], memory);
    dense_layers(net, layout, weights, memory);
}

/* Add the gradients of the convolutions to `own` and `correlations`; find those of the dense layers' sums. */
static void backward(const Net *net, const Layout *layout, const float *weights, Memory *memory) {
    dense_layers_backward(net, layout, weights, memory);
    second_layer_backward(net, memory, memory->own + layout->bias[1]);
    first_layer_backward(net, memory, memory->own, memory->own + layout->bias[0]);
}

/* Bring the gradient of the second filters, so far transformed, to its place in `own`. */
static void finish_own(const Net *net, const Layout *layout, Memory *memory) {
    int64_t ins = whole_blocks(net->width[0]), outs = whole_blocks(net->width[1]);
    Floats *own = memory->own + layout->weight[1];
    for (int64_t o = 0; o < net->width[1]; o++)
        for (int64_t i = 0; i < net->width[0]; i++, own += TAPS)
            return_to_filter(memory->correlations + o * ins + i, outs * ins, own);
}

static void clear_own(const Net *net, const Layout *layout, Memory *memory) {
    int64_t filters = whole_blocks(net->width[0]) * whole_blocks(net->width[1]);
    memset(memory->own, 0, sizeof(Floats) * (size_t)layout->weight[2]);
    memset(memory->correlations, 0, sizeof(Floats) * (size_t)(ELEMENTS * filters));
}

/* Return how much of each example's gradient counts; none of what is in further lanes. */
static Floats shares(const Net *net, const Layout *layout, double clip, int64_t n, Memory *memory,
                     int64_t *clipped) {
    double square[LANES] = {0};
    Floats share = broadcast(0);
    add_squares(memory->own, layout->weight[2], square);
    add_dense_squares(net, layout, memory, square);
    for (int64_t lane = 0; lane < n; lane++)
        share[lane] = share_within(sqrt(square[lane]), clip, clipped);
    return share;
}

/* Write the gradient [d] of the example in one lane. */
static void write_example(const Net *net, const Layout *layout, int lane, float share, const Memory *memory,
                          float *to) {
    for (int64_t k = 0; k < layout->weight[2]; k++) to[k] = share == 0 ? 0 : memory->own[k][lane] * share;
    for (int64_t layer = 2; layer < net->layers; layer++)
        for (int64_t unit = 0; unit < net->width[layer]; unit++) {
            float gradient = memory->gradients[layer + 1][unit][lane];
            float *row = to + layout->weight[layer] + unit * layout->terms[layer];
            for (int64_t k = 0; k < layout->terms[layer]; k++)
                row[k] = gradient * memory->values[layer][k][lane];
            to[layout->bias[layer] + unit] = gradient;
        }
}

/* Write the sums over lanes to their places in the flat gradient. */
static void write_sum(const Net *net, const Layout *layout, const Memory *memory, float *to) {
    for (int64_t k = 0; k < layout->weight[2]; k++) to[k] = sum_of_lanes(memory->total[k]);
    for (int64_t layer = 2; layer < net->layers; layer++)
        for (int64_t unit = 0, terms = layout->terms[layer]; unit < net->width[layer]; unit++) {
            memcpy(to + layout->weight[layer] + unit * terms,
                   memory->dense[layer] + unit * whole_vectors(terms), sizeof *to * (size_t)terms);
            to[layout->bias[layer] + unit] = sum_of_lanes(memory->dense_bias[layer][unit]);
        }
}

/* Write the sum [d] of the gradients at the rows' images, each clipped to the norm `clip` if that is not 0,
 * and the first `samples` of them [samples][d]; the losses [n], and how many were clipped. Gradients that
 * are not finite count as zero where they are clipped. Returns 0, or 1 where memory is short. */
int gradient(const Net *net, const uint8_t *images, const int64_t *labels, const int64_t *rows, int64_t n,
                 const float *weights, double clip, int64_t samples, float *sum, float *sampled,
                 double *losses, int64_t *clipped) {
    Layout layout = layout_of(net);
    Memory memory;
    allocate(&memory, net, &layout);
    if (!memory.allocation) return 1;
    prepare(net, &layout, weights, 1, &memory);
    *clipped = 0;
    int pending = 0; /* whether `own` holds a sum that is not in `total` yet */
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = minimum(n - i, LANES);
        int alone = clip > 0 || i < samples;
        if (!pending) clear_own(net, &layout, &memory);
        forward(net, &layout, weights, images, rows + i, count, &memory);
        start_backward(net, labels, rows + i, count, losses + i, &memory);
        backward(net, &layout, weights, &memory);
        if (alone) {
            finish_own(net, &layout, &memory);
            Floats share = shares(net, &layout, clip, count, &memory, clipped);
            take_shares(net, &layout, share, &memory);
            for (int64_t lane = 0; lane < count && i + lane < samples; lane++)
                write_example(net, &layout, (int)lane, share[lane], &memory,
                              sampled + (i + lane) * layout.size);
        }
        pending = !alone;
        add_dense(net, &layout, &memory);
    }
    if (pending) {
        finish_own(net, &layout, &memory);
        for (int64_t k = 0; k < layout.weight[2]; k++) memory.total[k] += memory.own[k];
    }
    write_sum(net, &layout, &memory, sum);
    free(memory.allocation);
    return 0;
}

/* Write logits [n][classes]. Returns 0, or 1 where memory is short. */
int logits(const Net *net, const uint8_t *images, int64_t n, const float *weights, float *logits) {
    Layout layout = layout_of(net);
    Memory memory;
    allocate(&memory, net, &layout);
    if (!memory.allocation) return 1;
    prepare(net, &layout, weights, 0, &memory);
    int64_t rows[LANES];
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = minimum(n - i, LANES);
        for (int64_t lane = 0; lane < count; lane++) rows[lane] = i + lane;
        forward(net, &layout, weights, images, rows, count, &memory);
        for (int64_t lane = 0; lane < count; lane++)
            for (int64_t k = 0; k < net->width[net->layers - 1]; k++)
                *logits++ = memory.values[net->layers][k][lane];
    }
    free(memory.allocation);
    return 0;
}
