/* The dense layers of the small network, normalisation by a batch, the loss. An example is in each lane. */
#ifndef SMALL_NET_DENSE_H
#define SMALL_NET_DENSE_H
#include "activation.h"
#include "loss.h"
#include "small_net_memory.h"

static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

/* Set a layer's affine map where the batch does not matter. Biases of dense layers, too, are used as signs
 * where weights are. */
static void set_affine(const Net *net, const Layout *layout, const float *weights, const float *effective,
                       int layer, Affine *affine) {
    const float *bias = net->binary && layer < 2 ? NULL : effective + layout->bias[layer];
    for (int64_t unit = 0, width = layout->width[layer]; unit < width; unit++) {
        const float *norm = weights + layout->norm[layer] + unit;
        affine->centre[unit] = (net->norm ? norm[2 * width] : 0) - (bias ? bias[unit] : 0);
        affine->scale[unit] = net->norm     ? norm[0] / sqrtf(norm[3 * width] + EPSILON)
                              : net->binary ? 1 / sqrtf((float)layout->terms[layer])
                                            : 1;
        affine->shift[unit] = net->norm ? norm[width] : 0;
    }
}

/* Set one unit of a layer's affine map from the batch, and move the running statistics towards it. */
static void normalise_unit(const Layout *layout, float *weights, const float *effective, int layer,
                           int64_t unit, double mean, double variance, double count, Affine *affine) {
    int64_t width = layout->width[layer];
    float *norm = weights + layout->norm[layer] + unit,
          bias = layer < 2 ? 0 : effective[layout->bias[layer] + unit];
    if (variance < 0) variance = 0; /* by rounding */
    affine->centre[unit] = (float)mean;
    affine->inverse[unit] = (float)(1 / sqrt(variance + EPSILON));
    affine->scale[unit] = norm[0] * affine->inverse[unit];
    affine->shift[unit] = norm[width];
    float unbiased = (float)(variance * (count / (count > 1 ? count - 1 : 1)));
    norm[2 * width] += MOMENTUM * ((float)mean + bias - norm[2 * width]);
    norm[3 * width] += MOMENTUM * (unbiased - norm[3 * width]);
}

static void normalise_dense(const Layout *layout, float *weights, const float *effective, int64_t n,
                            int layer, const float *sums, Affine *affine) {
    for (int64_t unit = 0; unit < layout->width[layer]; unit++) {
        const float *row = sums + unit * whole_vectors(n);
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++) sum += row[i];
        double mean = sum / (double)n;
        for (int64_t i = 0; i < n; i++) square += (row[i] - mean) * (row[i] - mean);
        normalise_unit(layout, weights, effective, layer, unit, mean, square / (double)n, (double)n, affine);
    }
}

/* Give every example a lane: features_by_example [784][n in whole vectors]. */
static void transpose_features(const float (*features)[FEATURES], int64_t n, float *features_by_example) {
    for (int block = 0; block < FEATURES; block += 16)
        for (int64_t i = 0; i < n; i++)
            for (int k = block; k < block + 16; k++)
                features_by_example[k * whole_vectors(n) + i] = features[i][k];
}

/* Compute the two dense layers; logits [classes][n in whole vectors]. `by_batch` normalises by the batch. */
static void dense_layers(const Net *net, const Layout *layout, float *weights, int64_t n, int by_batch,
                         Memory *memory) {
    const float *effective = memory->effective;
    int64_t lanes = whole_vectors(n);
    transpose_features((const float (*)[FEATURES])memory->features, n, memory->features_by_example);
    mix_rows(effective + layout->weight[2], FEATURES, 1, net->hidden, memory->features_by_example, FEATURES,
             lanes, memory->hidden_sums, 0);
    if (by_batch) normalise_dense(layout, weights, effective, n, 2, memory->hidden_sums, &memory->affine[2]);
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        const Affine *affine = &memory->affine[2];
        float *sums = memory->hidden_sums + unit * lanes, *values = memory->hidden + unit * lanes;
        float *slopes = memory->hidden_gradient + unit * lanes;
        for (int64_t i = 0; i < lanes; i += LANES) {
            Floats centred = load(sums + i) - affine->centre[unit];
            Floats value = activation(TANH, centred * affine->scale[unit] + affine->shift[unit]);
            store(slopes + i, activation_slope(TANH, value));
            store(values + i, net->binary ? sign(value) : value);
        }
        for (int64_t i = n; i < lanes; i++) values[i] = 0;
    }
    mix_rows(effective + layout->weight[3], net->hidden, 1, net->classes, memory->hidden, net->hidden, lanes,
             memory->logits_sums, 0);
    if (by_batch) normalise_dense(layout, weights, effective, n, 3, memory->logits_sums, &memory->affine[3]);
    for (int64_t unit = 0; unit < net->classes; unit++) {
        const Affine *affine = &memory->affine[3];
        float *sums = memory->logits_sums + unit * lanes, *logits = memory->logits + unit * lanes;
        for (int64_t i = 0; i < lanes; i += LANES)
            store(logits + i,
                  (load(sums + i) - affine->centre[unit]) * affine->scale[unit] + affine->shift[unit]);
    }
}


/* Return the mean cross-entropy and turn logits into its gradient, in place. */
static double mean_cross_entropy(const Net *net, const int64_t *labels, const int64_t *rows, int64_t n,
                                 float *logits) {
    double loss = cross_entropy(net->classes, labels, rows, n, logits, NULL);
    for (int64_t k = 0; k < net->classes * whole_vectors(n); k++) logits[k] /= (float)n;
    return loss / (double)n;
}

/* Turn the gradient of a dense layer's mapped sums into that of the sums, in place; write that of the map. */
static void affine_backward(const Net *net, const Layout *layout, int64_t n, int layer, const float *sums,
                            const Affine *affine, float *gradient, float *flat) {
    int64_t lanes = whole_vectors(n);
    for (int64_t unit = 0; unit < layout->width[layer]; unit++, gradient += lanes, sums += lanes) {
        float scale = affine->scale[unit], centre = affine->centre[unit], inverse = affine->inverse[unit];
        double gradient_sum = 0, product_sum = 0;
        for (int64_t i = 0; i < n; i++) {
            gradient_sum += gradient[i];
            if (net->norm) product_sum += gradient[i] * ((sums[i] - centre) * inverse);
        }
        for (int64_t i = n; i < lanes; i++) gradient[i] = 0;
        if (!net->norm) {
            flat[layout->bias[layer] + unit] = scale * (float)gradient_sum;
            for (int64_t i = 0; i < n; i++) gradient[i] *= scale;
            continue;
        }
        flat[layout->norm[layer] + unit] = (float)product_sum;
        flat[layout->norm[layer] + layout->width[layer] + unit] = (float)gradient_sum;
        /* The mean takes a bias away again: its gradient is zero, and Adam would make steps of rounding. */
        flat[layout->bias[layer] + unit] = 0;
        float level = (float)(gradient_sum / (double)n), slope = (float)(product_sum / (double)n) * inverse;
        for (int64_t i = 0; i < n; i++)
            gradient[i] = scale * (gradient[i] - level - slope * (sums[i] - centre));
    }
}

/* c[i][j] = sum over k of a[i][k] b[j][k], k in whole vectors */
static void multiply_rows(const float *a, int64_t rows_a, const float *b, int64_t rows_b, int64_t length,
                          float *c, int64_t stride) {
    for (int64_t i = 0; i < rows_a; i += ROWS)
        for (int64_t j = 0; j < rows_b; j += ROWS) {
            Floats sums[ROWS][ROWS];
            const float *x[ROWS], *y[ROWS];
            UNROLL for (int r = 0; r < ROWS; r++) {
                x[r] = a + minimum(i + r, rows_a - 1) * length;
                y[r] = b + minimum(j + r, rows_b - 1) * length;
                UNROLL for (int s = 0; s < ROWS; s++) sums[r][s] = broadcast(0);
            }
            for (int64_t k = 0; k < length; k += LANES) {
                Floats right[ROWS];
                UNROLL for (int s = 0; s < ROWS; s++) right[s] = in_register(load(y[s] + k));
                UNROLL for (int r = 0; r < ROWS; r++) {
                    Floats left = load(x[r] + k);
                    UNROLL for (int s = 0; s < ROWS; s++) sums[r][s] += left * right[s];
                }
            }
            for (int r = 0; r < ROWS && i + r < rows_a; r++)
                for (int s = 0; s < ROWS && j + s < rows_b; s++)
                    c[(i + r) * stride + j + s] = sum_of_lanes(sums[r][s]);
        }
}

/* From the gradient of logits write that of the dense layers' weights, and that of the features. */
static void dense_layers_backward(const Net *net, const Layout *layout, int64_t n, Memory *memory) {
    const float *effective = memory->effective;
    float *flat = memory->gradient, *hidden = memory->hidden_gradient;
    int64_t lanes = whole_vectors(n);
    affine_backward(net, layout, n, 3, memory->logits_sums, &memory->affine[3], memory->logits, flat);
    multiply_rows(memory->logits, net->classes, memory->hidden, net->hidden, lanes, flat + layout->weight[3],
                  net->hidden);
    /* Activations have served: their gradient takes their place, and then multiplies the slopes. */
    mix_rows(effective + layout->weight[3], 1, net->hidden, net->hidden, memory->logits, net->classes, lanes,
             memory->hidden, 0);
    for (int64_t k = 0; k < net->hidden * lanes; k += LANES)
        store(hidden + k, load(hidden + k) * load(memory->hidden + k));
    affine_backward(net, layout, n, 2, memory->hidden_sums, &memory->affine[2], hidden, flat);
    mix_rows(hidden, 1, lanes, n, effective + layout->weight[2], net->hidden, FEATURES,
             *memory->features_gradient, 0);
    mix_rows(hidden, lanes, 1, net->hidden, *memory->features, n, FEATURES, flat + layout->weight[2],
             0);
}
#endif
