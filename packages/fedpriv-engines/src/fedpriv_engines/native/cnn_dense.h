/* The dense layers of the CNN and its loss. An example has a lane of its own.
 *
 * Layer l reads values[l] and writes values[l + 1], the last of which are the logits; gradients[l] is that of
 * values[l], until it is turned into that of the sums which the activation was applied to.
 */
#ifndef CNN_DENSE_H
#define CNN_DENSE_H
#include "activation.h"
#include "cnn_memory.h"
#include "loss.h"

static void dense_layers(const Net *net, const Layout *layout, const float *weights, Memory *memory) {
    for (int64_t layer = 2; layer < net->layers; layer++) {
        Floats *values = memory->values[layer + 1];
        mix_rows(weights + layout->weight[layer], layout->terms[layer], 1, net->width[layer],
                 (const float *)memory->values[layer], layout->terms[layer], LANES, (float *)values, 0);
        for (int64_t unit = 0; unit < net->width[layer]; unit++) {
            values[unit] += weights[layout->bias[layer] + unit];
            if (layer + 1 < net->layers) values[unit] = activation(net->activation, values[unit]);
        }
    }
}

/* Write the losses of the first n lanes, and find the gradients of their logits; those of further lanes are
 * zero. */
static void start_backward(const Net *net, const int64_t *labels, const int64_t *rows, int64_t n,
                           double *losses, Memory *memory) {
    int64_t classes = net->width[net->layers - 1];
    Floats *gradient = memory->gradients[net->layers];
    memcpy(gradient, memory->values[net->layers], sizeof *gradient * (size_t)classes);
    cross_entropy(classes, labels, rows, n, (float *)gradient, losses);
    for (int64_t unit = 0; unit < classes; unit++)
        for (int64_t lane = n; lane < LANES; lane++) gradient[unit][lane] = 0;
}

/* From the gradient of the logits find that of every dense layer's sums, and of the features. */
static void dense_layers_backward(const Net *net, const Layout *layout, const float *weights,
                                  Memory *memory) {
    for (int64_t layer = net->layers - 1; layer >= 2; layer--) {
        Floats *gradient = memory->gradients[layer];
        mix_rows(weights + layout->weight[layer], 1, layout->terms[layer], layout->terms[layer],
                 (const float *)memory->gradients[layer + 1], net->width[layer], LANES, (float *)gradient, 0);
        for (int64_t k = 0; k < layout->terms[layer] && layer > 2; k++)
            gradient[k] *= activation_slope(net->activation, memory->values[layer][k]);
    }
}

/* Add the sum over lanes of the dense layers' gradients, products of what they read and of their sums'. */
static void add_dense(const Net *net, const Layout *layout, Memory *memory) {
    for (int64_t layer = 2; layer < net->layers; layer++) {
        int64_t terms = layout->terms[layer], length = whole_vectors(terms);
        const float *values = (const float *)memory->values[layer];
        for (int64_t k = 0; k < terms; k++)
            for (int lane = 0; lane < LANES; lane++)
                memory->rows[lane * length + k] = values[k * LANES + lane];
        for (int lane = 0; lane < LANES; lane++)
            for (int64_t k = terms; k < length; k++) memory->rows[lane * length + k] = 0;
        mix_rows((const float *)memory->gradients[layer + 1], LANES, 1, net->width[layer], memory->rows,
                 LANES, length, memory->dense[layer], 1);
        for (int64_t unit = 0; unit < net->width[layer]; unit++)
            memory->dense_bias[layer][unit] += memory->gradients[layer + 1][unit];
    }
}

/* squares[lane] += the sum of the squares of n numbers. Floats hold sums of a few, doubles those of many. */
static void add_squares(const Floats *numbers, int64_t n, double squares[LANES]) {
    for (int64_t k = 0; k < n; k += 16) {
        Floats sum = broadcast(0);
        for (int64_t j = k; j < minimum(k + 16, n); j++) sum += numbers[j] * numbers[j];
        for (int lane = 0; lane < LANES; lane++) squares[lane] += sum[lane];
    }
}

/* squares[lane] += those of the dense layers' gradients, without making these: they are outer products. */
static void add_dense_squares(const Net *net, const Layout *layout, const Memory *memory,
                              double squares[LANES]) {
    for (int64_t layer = 2; layer < net->layers; layer++) {
        double read[LANES] = {0}, given[LANES] = {0};
        add_squares(memory->values[layer], layout->terms[layer], read);
        add_squares(memory->gradients[layer + 1], net->width[layer], given);
        for (int lane = 0; lane < LANES; lane++) squares[lane] += given[lane] * (read[lane] + 1);
    }
}

/* Add each example's share of its gradient to the total, and leave its share of the dense layers'. */
static void take_shares(const Net *net, const Layout *layout, Floats share, Memory *memory) {
    Ints none = share == 0; /* what is not finite times zero is not zero */
    for (int64_t k = 0; k < layout->weight[2]; k++)
        memory->total[k] += choose(none, broadcast(0), memory->own[k] * share);
    for (int64_t layer = 2; layer < net->layers; layer++) {
        Floats *values = memory->values[layer], *gradients = memory->gradients[layer + 1];
        for (int64_t k = 0; k < layout->terms[layer]; k++) values[k] = choose(none, broadcast(0), values[k]);
        for (int64_t k = 0; k < net->width[layer]; k++)
            gradients[k] = choose(none, broadcast(0), gradients[k] * share);
    }
}
#endif
