/* The first layer of the CNN in one pass: 5x5 convolution of a 28x28 image, bias, 2x2 max pool, perhaps ReLU.
 *
 * Why fused: the convolution's output is four times the pooled one and every later step reads it again; here
 * it never leaves the registers. One vector holds LANES output channels of one position, a pixel is a scalar.
 *
 * images [n][28][28], weight [c][5][5], bias [c]: float32
 * maps, gradient [n][14][14][c] (channels last): float32 or bfloat16; mask, alike: where the maximum was
 *
 * Nothing is static and sums have a fixed order: any number of threads may call; equal input, equal bits.
 */
#include "vectors.h"

enum { IMAGE = 28, PADDED = 32, POOLED = 14, POSITIONS = POOLED * POOLED };
enum { KERNEL = 5, TAPS = KERNEL * KERNEL };
enum { DEAD = 4 }; /* in the mask: ReLU let nothing through; 0..3 is 2 * column + row of the maximum */

typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

/* Loops over taps are written out by the preprocessor: each sum has a name of its own and lives in a
 * register; an array that the optimiser unrolls later would live on the stack. */
#define ROW(DO, y) DO(y, 0) DO(y, 1) DO(y, 2) DO(y, 3) DO(y, 4)
#define EACH_TAP(DO) ROW(DO, 0) ROW(DO, 1) ROW(DO, 2) ROW(DO, 3) ROW(DO, 4)

/* Round to nearest, ties to even; a NaN is cut instead: rounding might carry it over into a number. */
static inline Halves to_bfloat16(Floats value) {
    Words bits = (Words)value, up = ((bits >> 16) & 1) + 0x7fff;
    return __builtin_convertvector((bits + (up & (Words)(value == value))) >> 16, Halves);
}

/* One body serves every number of lanes and both types of maps; inlined with constants in their place, copies
 * become single instructions and branches vanish. Half a vector is 8 channels on the widest machines. */
#define SPECIALISED static inline __attribute__((always_inline))
#define EACH_BLOCK(body, bfloat16, ...)                               \
    for (int64_t channel = 0; channel < channels; channel += LANES) { \
        if (channels - channel >= LANES)                              \
            body(channel, LANES, bfloat16, __VA_ARGS__);              \
        else if (channels - channel == LANES / 2)                     \
            body(channel, LANES / 2, bfloat16, __VA_ARGS__);          \
        else                                                          \
            body(channel, channels - channel, bfloat16, __VA_ARGS__); \
    }

/* Copy an image into the middle of zeros, so that no border needs a special case. */
static inline void pad(const float *image, float padded[PADDED][PADDED]) {
    for (int y = 0; y < IMAGE; y++) memcpy(&padded[y + 2][2], image + y * IMAGE, sizeof(float) * IMAGE);
}

/* Write the largest of four, or 0 where `rectify` and it is negative, and where it was. As in PyTorch, the
 * first of equal values wins, and a NaN wins over numbers and passes the ReLU: a diverged client must not
 * look healthy. */
static inline void pool(Floats s00, Floats s01, Floats s10, Floats s11, int64_t offset, int64_t lanes,
                        void *maps, uint8_t *mask, int bfloat16, int rectify) {
    Floats best = s00;
    Ints where = {0}, better;
#define COMPETE(sum, code)                \
    better = (sum > best) | (sum != sum); \
    best = choose(better, sum, best);     \
    where = (better & code) | (~better & where);
    COMPETE(s01, 2)
    COMPETE(s10, 1)
    COMPETE(s11, 3)
    Ints dead = (best <= 0) & -rectify;
    best = (Floats)(~dead & (Ints)best);
    Bytes codes = __builtin_convertvector((dead & DEAD) | (~dead & where), Bytes);
    memcpy(mask + offset, &codes, lanes);
    if (bfloat16) {
        Halves halves = to_bfloat16(best);
        memcpy((uint16_t *)maps + offset, &halves, lanes * 2);
    } else
        memcpy((float *)maps + offset, &best, lanes * 4);
}

SPECIALISED void forward(int64_t channel, int64_t lanes, int bfloat16, const float *images,
                         const float *weight, const float *bias, void *maps, uint8_t *mask, int64_t n,
                         int64_t channels, int rectify) {
    Floats w[TAPS] = {{0}}, b = {0};
    for (int lane = 0; lane < lanes; lane++) {
        b[lane] = bias[channel + lane];
        for (int tap = 0; tap < TAPS; tap++) w[tap][lane] = weight[(channel + lane) * TAPS + tap];
    }
    float padded[PADDED][PADDED] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        pad(images + i * IMAGE * IMAGE, padded);
        /* Two pooled positions at once: eight independent sums hide the latency of the multiply-add. */
        for (int position = 0; position < POSITIONS; position += 2) {
            const float *corner = &padded[position / POOLED * 2][position % POOLED * 2];
            Floats s00 = b, s01 = b, s02 = b, s03 = b, s10 = b, s11 = b, s12 = b, s13 = b;
/* Not unrolled: 8 sums and the weights of one row fit into 32 registers, all 25 weights do not. */
#pragma GCC unroll 1
            for (int y = 0; y < KERNEL; y++) {
                const float *upper = corner + y * PADDED, *lower = upper + PADDED;
#define MULTIPLY(y, x)                                        \
    {                                                         \
        Floats tap = w[y * KERNEL + x];                       \
        s00 += tap * upper[x], s01 += tap * upper[x + 1];     \
        s02 += tap * upper[x + 2], s03 += tap * upper[x + 3]; \
        s10 += tap * lower[x], s11 += tap * lower[x + 1];     \
        s12 += tap * lower[x + 2], s13 += tap * lower[x + 3]; \
    }
                ROW(MULTIPLY, y)
            }
            int64_t offset = (i * POSITIONS + position) * channels + channel;
            pool(s00, s01, s10, s11, offset, lanes, maps, mask, bfloat16, rectify);
            pool(s02, s03, s12, s13, offset + channels, lanes, maps, mask, bfloat16, rectify);
        }
    }
}

/* Return, for each channel, the pixel that tap `x` of a kernel row saw where that channel had its maximum.
 * `row` holds pixels in pairs, each with the one below it, so a mask code is an index: 2 * column + row. */
static inline Floats pixel_at_maximum(const float *row, Ints code, int x) {
#if defined(__GNUC__) && !defined(__clang__)
    const int span = LANES / 2 - 1; /* taps that one vector of pairs serves */
    Floats pairs;
    memcpy(&pairs, row + x / span * span * 2, sizeof pairs);
    return __builtin_shuffle(pairs, code + x % span * 2);
#else
    const float *pair = row + x * 2;
    Floats zero = {0}, left = choose(code == 0, pair[0] - zero, pair[1] - zero);
    return choose(code < 2, left, choose(code == 2, pair[2] - zero, pair[3] - zero));
#endif
}

SPECIALISED void backward(int64_t channel, int64_t lanes, int bfloat16, const float *images,
                          const void *gradient, const uint8_t *mask, float *weight, float *bias, int64_t n,
                          int64_t channels) {
    double totals[TAPS + 1][LANES] = {{0}}; /* sums of an image are float32, sums over images are not */
    float padded[PADDED][PADDED] = {{0}}, pairs[PADDED][PADDED][2] = {{{0}}};
    for (int64_t i = 0; i < n; i++) {
        pad(images + i * IMAGE * IMAGE, padded);
        for (int y = 0; y < PADDED - 1; y++)
            for (int x = 0; x < PADDED; x++) pairs[y][x][0] = padded[y][x], pairs[y][x][1] = padded[y + 1][x];
        Floats zero = {0}, sum = zero;
#define DEFINE(y, x) Floats sum##y##x = zero;
        EACH_TAP(DEFINE)
        /* Only the maximum's position contributes: a quarter of the forward's multiplications. */
        for (int position = 0; position < POSITIONS; position++) {
            const float *corner = pairs[position / POOLED * 2][position % POOLED * 2];
            int64_t offset = (i * POSITIONS + position) * channels + channel;
            Bytes codes = {0};
            Halves halves = {0};
            Floats g = zero;
            memcpy(&codes, mask + offset, lanes);
            if (bfloat16) {
                memcpy(&halves, (const uint16_t *)gradient + offset, lanes * 2);
                g = (Floats)(__builtin_convertvector(halves, Words) << 16);
            } else
                memcpy(&g, (const float *)gradient + offset, lanes * 4);
            /* Hardware does not foresee strides of many channels: without this 64 take four times as long. */
            __builtin_prefetch((const char *)gradient + (offset + 16 * channels) * (bfloat16 ? 2 : 4));
            Ints code = __builtin_convertvector(codes, Ints);
            g = (Floats)((code != DEAD) & (Ints)g);
            sum += g;
#define ADD(y, x) sum##y##x += g * pixel_at_maximum(corner + y * PADDED * 2, code, x);
            EACH_TAP(ADD)
        }
#define TOTAL(y, x) \
    for (int lane = 0; lane < LANES; lane++) totals[y * KERNEL + x][lane] += sum##y##x[lane];
        EACH_TAP(TOTAL)
        for (int lane = 0; lane < LANES; lane++) totals[TAPS][lane] += sum[lane];
    }
    for (int lane = 0; lane < lanes; lane++) {
        bias[channel + lane] = (float)totals[TAPS][lane];
        for (int tap = 0; tap < TAPS; tap++) weight[(channel + lane) * TAPS + tap] = (float)totals[tap][lane];
    }
}

void conv_pool_forward(const float *images, const float *weight, const float *bias, void *maps, uint8_t *mask,
                       int64_t n, int64_t channels, int bfloat16, int rectify) {
    if (bfloat16)
        EACH_BLOCK(forward, 1, images, weight, bias, maps, mask, n, channels, rectify)
    else
        EACH_BLOCK(forward, 0, images, weight, bias, maps, mask, n, channels, rectify)
}

void conv_pool_backward(const float *images, const void *gradient, const uint8_t *mask, float *weight,
                        float *bias, int64_t n, int64_t channels, int bfloat16) {
    if (bfloat16)
        EACH_BLOCK(backward, 1, images, gradient, mask, weight, bias, n, channels)
    else
        EACH_BLOCK(backward, 0, images, gradient, mask, weight, bias, n, channels)
}
