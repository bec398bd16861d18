/* What a network applies after each of its sums but the last: tanh or ReLU, and its slope. */
#ifndef ACTIVATION_H
#define ACTIVATION_H
#include "vectors.h"

/* tanh as a ratio of polynomials, the one of Eigen and XLA: relative error below 1e-6. NaN stays NaN. */
static inline Floats hyperbolic_tangent(Floats x) {
    const float limit = 7.90531110763549805f;
    Floats y = choose(x > limit, broadcast(limit), choose(x < -limit, broadcast(-limit), x)), s = y * y;
    Floats above = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
    above = above * s + -8.60467152213735e-11f;
    above = above * s + 5.12229709037114e-08f;
    above = above * s + 1.48572235717979e-05f;
    above = above * s + 6.37261928875436e-04f;
    above = above * s + 4.89352455891786e-03f;
    Floats below = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
    below = below * s + 2.26843463243900e-03f;
    below = below * s + 4.89352518554385e-03f;
    return y * above / below;
}

enum { TANH, RELU };

static inline Floats activation(int kind, Floats x) {
    return kind == RELU ? choose(x < 0, broadcast(0), x) : hyperbolic_tangent(x);
}

/* The slope as a function of the activation's value: arguments are not kept until the way back. */
static inline Floats activation_slope(int kind, Floats value) {
    return kind == RELU ? choose(value <= 0, broadcast(0), broadcast(1)) : 1 - value * value;
}
#endif
