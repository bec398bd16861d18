/* The 3x3 convolution of signs by signs, in integers of 8 bits where a machine multiplies four at once. Both
 * ways to convolve are exact for signs, so which one a machine takes does not show. */
#ifndef SIGNS_H
#define SIGNS_H
#include "winograd.h"

enum { QUADS = CHANNELS / 4 };

typedef uint8_t SignPlane[SIDE][SIDE][CHANNELS];   /* 0 or 2, and 1 in the frame: signs or zero, plus one */
typedef int8_t SignFilters[9][QUADS][CHANNELS][4]; /* tap, then four inputs of an output side by side */

/* Lay out weights [16 out][16 in][3][3]. */
static void pack_filters(const float *weight, SignFilters to) {
    for (int o = 0; o < CHANNELS; o++)
        for (int i = 0; i < CHANNELS; i++)
            for (int tap = 0; tap < 9; tap++)
                to[tap][i / 4][o][i % 4] = (int8_t)weight[(o * CHANNELS + i) * 9 + tap];
}

static void pack_signs(const float values[14 * 14][CHANNELS], SignPlane to) {
    memset(to, 1, sizeof(SignPlane));
    for (int y = 0; y < 14; y++)
        for (int x = 0; x < 14; x++)
            for (int block = 0; block < CHANNELS; block += LANES) {
                Ints positive = load(&values[y * 14 + x][block]) >= 0;
                Bytes bytes = __builtin_convertvector(positive & 2, Bytes);
                memcpy(&to[y + 1][x + 1][block], &bytes, sizeof bytes);
            }
}

#if defined(__AVX512VNNI__) && LANES == 16
#include <immintrin.h>
#define SIGNS_ARE_BYTES 1

static void convolve_signs(const SignPlane signs, const SignFilters filters, Windows to) {
    /* From the start, take away what the one that was added to every sign will give. */
    __m512i surplus = _mm512_setzero_si512(), ones = _mm512_set1_epi8(1);
    for (int tap = 0; tap < 9; tap++)
        for (int quad = 0; quad < QUADS; quad++)
            surplus = _mm512_dpbusd_epi32(surplus, ones, _mm512_loadu_si512(filters[tap][quad]));
    __m512i start = _mm512_sub_epi32(_mm512_setzero_si512(), surplus);
    for (int y = 0; y < 14; y++) {
        __m512i sums[14];
    UNROLL for (int x = 0; x < 14; x++) sums[x] = start;
        for (int tap = 0; tap < 9; tap++)
            for (int quad = 0; quad < QUADS; quad++) {
                __m512i filter = _mm512_loadu_si512(filters[tap][quad]);
                const uint8_t *corner = &signs[y + tap / 3][tap % 3][4 * quad];
                UNROLL for (int x = 0; x < 14; x++) {
                    int four;
                    memcpy(&four, corner + x * CHANNELS, sizeof four);
                    sums[x] = _mm512_dpbusd_epi32(sums[x], _mm512_set1_epi32(four), filter);
                }
            }
        UNROLL for (int x = 0; x < 14; x++)
            _mm512_storeu_ps(to[y / 2 * POOLED + x / 2][y % 2 * 2 + x % 2], _mm512_cvtepi32_ps(sums[x]));
    }
}
#else
#define SIGNS_ARE_BYTES 0
static inline void convolve_signs(const SignPlane signs, const SignFilters filters, Windows to) {
    (void)signs, (void)filters, (void)to;
}
#endif
#endif
