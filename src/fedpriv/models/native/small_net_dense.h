/* The dense layers of the small network, normalisation by a batch, and the loss. An example is in each lane. */
#ifndef SMALL_NET_DENSE_H
#define SMALL_NET_DENSE_H
#include "small_net_memory.h"

static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

/* Set a layer's affine map where the batch does not matter. Dense biases of binary weights are among `used`. */
static void set_affine(const Net *net, const Places *at, const float *weights, const float *used, int layer,
                       Affine *affine) {
    const float *bias = net->binary && layer < 2 ? NULL : used + at->bias[layer];
    for (int64_t unit = 0, width = at->width[layer]; unit < width; unit++) {
        const float *norm = weights + at->norm[layer] + unit;
        affine->centre[unit] = (net->norm ? norm[2 * width] : 0) - (bias ? bias[unit] : 0);
        affine->scale[unit] = net->norm     ? norm[0] / sqrtf(norm[3 * width] + EPSILON)
                              : net->binary ? 1 / sqrtf((float)at->terms[layer])
                                            : 1;
        affine->shift[unit] = net->norm ? norm[width] : 0;
    }
}

/* Set one unit of a layer's affine map from the batch, and move the running statistics towards it. */
static void normalise(const Places *at, float *weights, const float *used, int layer, int64_t unit, double mean,
                      double variance, double count, Affine *affine) {
    int64_t width = at->width[layer];
    float *norm = weights + at->norm[layer] + unit, added = layer < 2 ? 0 : used[at->bias[layer] + unit];
    if (variance < 0) variance = 0; /* by rounding */
    affine->centre[unit] = (float)mean;
    affine->inverse[unit] = (float)(1 / sqrt(variance + EPSILON));
    affine->scale[unit] = norm[0] * affine->inverse[unit];
    affine->shift[unit] = norm[width];
    float unbiased = (float)(variance * (count / (count > 1 ? count - 1 : 1)));
    norm[2 * width] += MOMENTUM * ((float)mean + added - norm[2 * width]);
    norm[3 * width] += MOMENTUM * (unbiased - norm[3 * width]);
}

static void normalise_dense(const Places *at, float *weights, const float *used, int64_t n, int layer,
                            const float *sums, Affine *affine) {
    for (int64_t unit = 0; unit < at->width[layer]; unit++) {
        const float *row = sums + unit * whole(n);
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++) sum += row[i];
        double mean = sum / (double)n;
        for (int64_t i = 0; i < n; i++) square += (row[i] - mean) * (row[i] - mean);
        normalise(at, weights, used, layer, unit, mean, square / (double)n, (double)n, affine);
    }
}

/* Give every example a lane: turned [784][n in whole vectors]. */
static void turn(const float (*features)[FEATURES], int64_t n, float *turned) {
    for (int block = 0; block < FEATURES; block += 16)
        for (int64_t i = 0; i < n; i++)
            for (int k = block; k < block + 16; k++) turned[k * whole(n) + i] = features[i][k];
}

/* Compute the two dense layers; logits [classes][n in whole vectors]. */
static void dense_layers(const Net *net, const Places *at, float *weights, int64_t n, int batch, Memory *memory) {
    const float *used = memory->used;
    int64_t lanes = whole(n);
    turn((const float(*)[FEATURES])memory->features, n, memory->turned);
    mix_rows(used + at->weight[2], FEATURES, 1, net->hidden, memory->turned, FEATURES, lanes,
             memory->hidden_sums);
    if (batch) normalise_dense(at, weights, used, n, 2, memory->hidden_sums, &memory->affine[2]);
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        const Affine *affine = &memory->affine[2];
        float *sums = memory->hidden_sums + unit * lanes, *values = memory->hidden + unit * lanes;
        float *slopes = memory->hidden_gradient + unit * lanes;
        for (int64_t i = 0; i < lanes; i += LANES) {
            Floats away = load(sums + i) - affine->centre[unit];
            Floats value = hyperbolic_tangent(away * affine->scale[unit] + affine->shift[unit]);
            store(slopes + i, 1 - value * value);
            store(values + i, net->binary ? sign(value) : value);
        }
        for (int64_t i = n; i < lanes; i++) values[i] = 0;
    }
    mix_rows(used + at->weight[3], net->hidden, 1, net->classes, memory->hidden, net->hidden, lanes,
             memory->logits_sums);
    if (batch) normalise_dense(at, weights, used, n, 3, memory->logits_sums, &memory->affine[3]);
    for (int64_t unit = 0; unit < net->classes; unit++) {
        const Affine *affine = &memory->affine[3];
        float *sums = memory->logits_sums + unit * lanes, *logits = memory->logits + unit * lanes;
        for (int64_t i = 0; i < lanes; i += LANES)
            store(logits + i, (load(sums + i) - affine->centre[unit]) * affine->scale[unit] + affine->shift[unit]);
    }
}

/* Return the mean cross-entropy and turn logits into its gradient, in place. */
static double cross_entropy(const Net *net, const int64_t *labels, const int64_t *rows, int64_t n, float *logits) {
    double loss = 0;
    int64_t lanes = whole(n), end = net->classes * lanes;
    for (int64_t i = 0; i < n; i++) {
        int64_t right = labels[rows[i]] * lanes + i;
        float most = logits[i], sum = 0;
        for (int64_t k = i; k < end; k += lanes) most = logits[k] > most ? logits[k] : most;
        float away = logits[right] - most;
        for (int64_t k = i; k < end; k += lanes) sum += logits[k] = expf(logits[k] - most);
        for (int64_t k = i; k < end; k += lanes) logits[k] = (logits[k] / sum - (float)(k == right)) / (float)n;
        loss += logf(sum) - away;
    }
    return loss / (double)n;
}

/* Turn the gradient of a dense layer's mapped sums into that of the sums, in place, and write that of the map. */
static void affine_backward(const Net *net, const Places *at, int64_t n, int layer, const float *sums,
                            const Affine *affine, float *gradient, float *flat) {
    int64_t lanes = whole(n);
    for (int64_t unit = 0; unit < at->width[layer]; unit++, gradient += lanes, sums += lanes) {
        float scale = affine->scale[unit], centre = affine->centre[unit], inverse = affine->inverse[unit];
        double alone = 0, times = 0;
        for (int64_t i = 0; i < n; i++) {
            alone += gradient[i];
            if (net->norm) times += gradient[i] * ((sums[i] - centre) * inverse);
        }
        for (int64_t i = n; i < lanes; i++) gradient[i] = 0;
        if (!net->norm) {
            flat[at->bias[layer] + unit] = scale * (float)alone;
            for (int64_t i = 0; i < n; i++) gradient[i] *= scale;
            continue;
        }
        flat[at->norm[layer] + unit] = (float)times;
        flat[at->norm[layer] + at->width[layer] + unit] = (float)alone;
        /* The mean takes a bias away again: its gradient is zero, and Adam would make steps of rounding. */
        flat[at->bias[layer] + unit] = 0;
        float level = (float)(alone / (double)n), slope = (float)(times / (double)n) * inverse;
        for (int64_t i = 0; i < n; i++) gradient[i] = scale * (gradient[i] - level - slope * (sums[i] - centre));
    }
}

/* From the gradient of logits write that of the dense layers' weights, and that of the features. */
static void dense_layers_backward(const Net *net, const Places *at, int64_t n, Memory *memory) {
    const float *used = memory->used;
    float *flat = memory->gradient, *hidden = memory->hidden_gradient;
    int64_t lanes = whole(n);
    affine_backward(net, at, n, 3, memory->logits_sums, &memory->affine[3], memory->logits, flat);
    multiply_rows(memory->logits, net->classes, memory->hidden, net->hidden, lanes, flat + at->weight[3],
                  net->hidden);
    /* Activations have served: their gradient takes their place, and then multiplies the slopes. */
    mix_rows(used + at->weight[3], 1, net->hidden, net->hidden, memory->logits, net->classes, lanes,
             memory->hidden);
    for (int64_t k = 0; k < net->hidden * lanes; k += LANES)
        store(hidden + k, load(hidden + k) * load(memory->hidden + k));
    affine_backward(net, at, n, 2, memory->hidden_sums, &memory->affine[2], hidden, flat);
    mix_rows(hidden, 1, lanes, n, used + at->weight[2], net->hidden, FEATURES, *memory->features_gradient);
    mix_rows(hidden, lanes, 1, net->hidden, *memory->features, n, FEATURES, flat + at->weight[2]);
}
#endif
