/* Weights as a pass uses them, and the step of the optimiser. */
#ifndef SMALL_NET_STEP_H
#define SMALL_NET_STEP_H
#include "small_net_memory.h"

/* Write the weights that a pass uses: signs, if `uniforms` is given drawn by it (Hubara et al. 2016, eq. 2). */
static void use(const Net *net, const Places *at, const float *weights, const float *uniforms, float *used) {
    if (!net->binary) {
        memcpy(used, weights, sizeof(float) * at->size);
        return;
    }
    int64_t k = 0;
    for (; k + LANES <= at->bits; k += LANES) {
        Floats w = load(weights + k);
        Ints positive = uniforms ? load(uniforms + k) < (1 + w) / 2 : w >= 0;
        store(used + k, choose(positive, all(1), all(-1)));
    }
    for (; k < at->bits; k++)
        used[k] = (uniforms ? uniforms[k] < (1 + weights[k]) / 2 : weights[k] >= 0) ? 1 : -1;
}

typedef struct {
    double rate, one, two, proximal, clip;
} Adam;

static inline Floats root(Floats x) {
    for (int lane = 0; lane < LANES; lane++) x[lane] = sqrtf(x[lane]);
    return x;
}

/* Take a step of Adam (Kingma and Ba, 2015, algorithm 1) on up to LANES entries, weights within `bound`. */
static inline void adam(const Adam *how, int64_t number, double factor, float bound, const float *gradient,
                        float *weights, float *first, float *second, int64_t count) {
    const float keep = (float)how->one, add = (float)((1 - how->one) * factor);
    const float keep2 = (float)how->two, add2 = (float)((1 - how->two) * factor * factor);
    const float rate = (float)(how->rate / (1 - pow(how->one, (double)number)));
    const float correction = (float)(1 / (1 - pow(how->two, (double)number)));
    for (int64_t k = 0; k < count; k += LANES) {
        /* The last vector may hang over the end: only what is inside is read and written. */
        size_t bytes = sizeof(float) * (size_t)least(LANES, count - k);
        Floats g = {0}, m = {0}, v = {0}, w = {0};
        int inside = bytes == sizeof g;
#define MOVE(to, from) (inside ? memcpy(to, from, sizeof g) : memcpy(to, from, bytes))
        MOVE(&g, gradient + k), MOVE(&m, first + k), MOVE(&v, second + k), MOVE(&w, weights + k);
        m = keep * m + add * g, v = keep2 * v + add2 * (g * g);
        w -= rate * m / (root(v * correction) + 1e-8f);
        w = choose(w > bound, all(bound), choose(w < -bound, all(-bound), w));
        MOVE(first + k, &m), MOVE(second + k, &v), MOVE(weights + k, &w);
    }
}

/* Take a step on everything that has a gradient. `start` may be null where there is no proximal term. */
static void step(const Net *net, const Places *at, const Adam *how, int64_t number, const float *start,
                 float *gradient, float *weights, float *first, float *second) {
    double factor = 1, square = 0;
    int64_t from[1 + LAYERS] = {0}, count[1 + LAYERS] = {at->bits};
    int parts = net->norm ? 1 + LAYERS : 1;
    for (int part = 1; part < parts; part++)
        from[part] = at->norm[part - 1], count[part] = 2 * at->width[part - 1];
    for (int part = 0; part < parts && (how->proximal != 0 || how->clip > 0); part++)
        for (int64_t k = from[part]; k < from[part] + count[part]; k++) {
            if (how->proximal != 0) gradient[k] += (float)how->proximal * (weights[k] - start[k]);
            if (how->clip > 0) square += (double)gradient[k] * gradient[k];
        }
    if (how->clip > 0 && sqrt(square) > how->clip) factor = how->clip / sqrt(square);
    for (int part = 0; part < parts; part++) {
        int64_t k = from[part];
        float bound = net->binary && part == 0 ? 1 : INFINITY;
        adam(how, number, factor, bound, gradient + k, weights + k, first + k, second + k, count[part]);
    }
}
#endif
