/* Vectors of floats as wide as the machine's registers, in the extensions that GCC and Clang share. */
#ifndef VECTORS_H
#define VECTORS_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* As wide as the machine's registers: compilers are poor at splitting wider vectors. */
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES)));

/* Written out early enough that small arrays of vectors live in registers. */
#define UNROLL _Pragma("GCC unroll 16")

static inline Floats load(const float *from) {
    Floats value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void store(float *to, Floats value) { memcpy(to, &value, sizeof value); }

static inline Floats all(float value) { return (Floats){0} + value; }

/* Keep a compiler from reading the same vector again and again: machines that broadcast while they multiply
 * have only one memory operand, which the other factor needs. */
static inline Floats in_register(Floats x) {
#if defined(__AVX512F__) && defined(__GNUC__)
    __asm__("" : "+v"(x));
#endif
    return x;
}

static inline Floats choose(Ints condition, Floats yes, Floats no) {
    return (Floats)((condition & (Ints)yes) | (~condition & (Ints)no));
}

static inline Floats sign(Floats x) { return choose(x >= 0, all(1), all(-1)); }

static inline float total(Floats x) {
    float parts[LANES];
    store(parts, x);
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++) parts[lane] += parts[lane + half];
    return parts[0];
}

/* tanh as a ratio of polynomials, the one of Eigen and XLA: relative error below 1e-6. NaN stays NaN. */
static inline Floats hyperbolic_tangent(Floats x) {
    const float limit = 7.90531110763549805f;
    Floats y = choose(x > limit, all(limit), choose(x < -limit, all(-limit), x)), s = y * y;
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
#endif
