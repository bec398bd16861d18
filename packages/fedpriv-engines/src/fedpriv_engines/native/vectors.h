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

static inline Floats broadcast(float value) { return (Floats){0} + value; }

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

static inline Floats sign(Floats x) { return choose(x >= 0, broadcast(1), broadcast(-1)); }

static inline float sum_of_lanes(Floats x) {
    float parts[LANES];
    store(parts, x);
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++) parts[lane] += parts[lane + half];
    return parts[0];
}
#endif
