/* Weights as a pass uses them, and the step of the optimiser. */
#ifndef SMALL_NET_STEP_H
#define SMALL_NET_STEP_H
#include "small_net_memory.h"

/* Write the weights that a pass uses: all or their signs, drawn if there are `uniforms` (Hubara et al. 2016,
 * eq. 2). */
static void effective_weights(const Net *net, const Layout *layout, const float *weights,
                              const float *uniforms, float *effective) {
    if (!net->binary) {
        memcpy(effective, weights, sizeof(float) * layout->size);
        return;
    }
    int64_t k = 0;
    for (; k + LANES <= layout->bits; k += LANES) {
        Floats w = load(weights + k);
        Ints positive = uniforms ? load(uniforms + k) < (1 + w) / 2 : w >= 0;
        store(effective + k, choose(positive, broadcast(1), broadcast(-1)));
    }
    for (; k < layout->bits; k++)
        effective[k] = (uniforms ? uniforms[k] < (1 + weights[k]) / 2 : weights[k] >= 0) ? 1 : -1;
}

typedef struct {
    double rate, beta1, beta2, proximal, clip; /* the last two: 0 is off */
} Adam;

static inline Floats square_root(Floats x) {
    for (int lane = 0; lane < LANES; lane++) x[lane] = sqrtf(x[lane]);
    return x;
}

/* Take step number `step` of Adam (Kingma and Ba 2015, algorithm 1) on `count` entries, with gradients times
 * `factor`; weights stay within `bound`. */
static inline void update(const Adam *adam, int64_t step, double factor, float bound, const float *gradient,
                          float *weights, float *first_moment, float *second_moment, int64_t count) {
    const float keep_first = (float)adam->beta1, add_first = (float)((1 - adam->beta1) * factor);
    const float keep_second = (float)adam->beta2, add_second = (float)((1 - adam->beta2) * factor * factor);
    const float rate = (float)(adam->rate / (1 - pow(adam->beta1, (double)step)));
    const float correction = (float)(1 / (1 - pow(adam->beta2, (double)step)));
    for (int64_t k = 0; k < count; k += LANES) {
        /* The last vector may hang over the end: only what is inside is read and written. */
        size_t bytes = sizeof(float) * (size_t)minimum(LANES, count - k);
        Floats g = {0}, m = {0}, v = {0}, w = {0};
        int whole = bytes == sizeof g;
#define MOVE(to, from) (whole ? memcpy(to, from, sizeof g) : memcpy(to, from, bytes))
        MOVE(&g, gradient + k), MOVE(&m, first_moment + k);
        MOVE(&v, second_moment + k), MOVE(&w, weights + k);
        m = keep_first * m + add_first * g, v = keep_second * v + add_second * (g * g);
        w -= rate * m / (square_root(v * correction) + 1e-8f);
        w = choose(w > bound, broadcast(bound), choose(w < -bound, broadcast(-bound), w));
        MOVE(first_moment + k, &m), MOVE(second_moment + k, &v), MOVE(weights + k, &w);
    }
}

/* Take a step on everything that has a gradient: part 0 is all before the norms, the others are the affine
 * maps of the norms; running statistics have none. `start` may be null where there is no proximal term. */
static void adam_step(const Net *net, const Layout *layout, const Adam *adam, int64_t step,
                      const float *start, float *gradient, float *weights, float *first_moment,
                      float *second_moment) {
    double factor = 1, square = 0;
    int64_t begin[1 + LAYERS] = {0}, count[1 + LAYERS] = {layout->bits};
    int parts = net->norm ? 1 + LAYERS : 1;
    for (int part = 1; part < parts; part++)
        begin[part] = layout->norm[part - 1], count[part] = 2 * layout->width[part - 1];
    for (int part = 0; part < parts && (adam->proximal != 0 || adam->clip > 0); part++)
        for (int64_t k = begin[part]; k < begin[part] + count[part]; k++) {
            if (adam->proximal != 0) gradient[k] += (float)adam->proximal * (weights[k] - start[k]);
            if (adam->clip > 0) square += (double)gradient[k] * gradient[k];
        }
    if (adam->clip > 0 && sqrt(square) > adam->clip) factor = adam->clip / sqrt(square);
    for (int part = 0; part < parts; part++) {
        int64_t k = begin[part];
        float bound = net->binary && part == 0 ? 1 : INFINITY;
        update(adam, step, factor, bound, gradient + k, weights + k, first_moment + k, second_moment + k,
               count[part]);
    }
}
#endif
