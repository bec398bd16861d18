/* The layers of the small network, forward and backward, one example or one mini-batch at a time. */
#ifndef SMALL_NET_LAYERS_H
#define SMALL_NET_LAYERS_H
#include "activation.h"
#include "small_net_memory.h"

/* Lay out what every window of the first pool sees: 4x4 pixels, zeros beyond the border. */
static void cut_patches(const uint8_t *image, int bright, float patches[WINDOWS][PATCH]) {
    float padded[30][32] = {{0}};
    for (int y = 0; y < 28; y++)
        for (int x = 0; x < 28; x += LANES) {
            int column = x + LANES > 28 ? 28 - LANES : x; /* the last vector overlaps the one before */
            Bytes bytes;
            memcpy(&bytes, image + y * 28 + column, sizeof bytes);
            Floats greys = __builtin_convertvector(bytes, Floats);
            Floats binary = choose(greys >= (float)bright, broadcast(1), broadcast(-1));
            store(&padded[y + 1][column + 1], bright >= 0 ? binary : greys);
        }
    for (int y = 0; y < 14; y++)
        for (int x = 0; x < 14; x++)
            UNROLL for (int row = 0; row < 4; row++)
                memcpy(&patches[y * 14 + x][4 * row], &padded[2 * y + row][2 * x], sizeof(float) * 4);
}

/* Add the sums over positions of every pixel of a patch and of every product of two. */
static void add_products(const float patches[WINDOWS][PATCH], double gram[PATCH][PATCH], double sums[PATCH]) {
    for (int block = 0; block < PATCH; block += LANES) {
        Floats products[PATCH], sum = broadcast(0);
        UNROLL for (int p = 0; p < PATCH; p++) products[p] = broadcast(0);
        for (int window = 0; window < WINDOWS; window++) {
            Floats patch = load(&patches[window][block]);
            sum += patch;
            UNROLL for (int p = 0; p < PATCH; p++) products[p] += patch * patches[window][p];
        }
        for (int lane = 0; lane < LANES; lane++) {
            sums[block + lane] += sum[lane];
            for (int p = 0; p < PATCH; p++) gram[p][block + lane] += products[p][lane];
        }
    }
}

/* Return the sum over all positions of the pixels that a tap sees, or of products of what two taps see. */
static double tap_sum(const double sums[PATCH], int tap) {
    int corner = tap / 3 * 4 + tap % 3;
    return sums[corner] + sums[corner + 1] + sums[corner + 4] + sums[corner + 5];
}

static double tap_product(const double gram[PATCH][PATCH], int one, int two) {
    int a = one / 3 * 4 + one % 3, b = two / 3 * 4 + two % 3;
    return gram[a][b] + gram[a + 1][b + 1] + gram[a + 4][b + 4] + gram[a + 5][b + 5];
}

/* Return the sign of the scale: times it, sums rise with their affine maps, so the largest has the largest.
 * The product is exact, equal sums stay equal. */
static inline Floats orientation_of(const Affine *affine, int block) {
    Floats scale = load(affine->scale + block);
    return choose(scale > 0, broadcast(1), choose(scale < 0, broadcast(-1), scale));
}

/* Write the affine map of `factor` times the largest of oriented sums, and where that was: the first of
 * equals. */
static inline void pool(const Floats sums[4], const Affine *affine, int block, Floats factor, float *value,
                        uint8_t *code) {
    Ints right = sums[1] > sums[0], right_below = sums[3] > sums[2];
    Floats above = choose(right, sums[1], sums[0]), under = choose(right_below, sums[3], sums[2]);
    Ints below = under > above;
    Floats centred = choose(below, under, above) * factor - load(affine->centre + block);
    store(value, centred * load(affine->scale + block) + load(affine->shift + block));
    Ints where = (below & 2) | (below & right_below & 1) | (~below & right & 1);
    Bytes codes = __builtin_convertvector(where, Bytes);
    memcpy(code, &codes, sizeof codes);
}

/* Not while pooling: short loops keep more of their steps in flight. */
static void activate_all(float *values, int count) {
    for (int k = 0; k < count; k += LANES) store(values + k, activation(TANH, load(values + k)));
}

/* Convolve, map, pool and activate; weight [16][3][3] */
static void first_layer(const float patches[WINDOWS][PATCH], const float *weight, const Affine *affine,
                        float grey, float values[WINDOWS][CHANNELS], uint8_t codes[WINDOWS][CHANNELS]) {
    for (int block = 0; block < CHANNELS; block += LANES) {
        Floats w[TAPS], orientation = orientation_of(affine, block);
        UNROLL for (int tap = 0; tap < TAPS; tap++) {
            for (int lane = 0; lane < LANES; lane++) w[tap][lane] = weight[(block + lane) * TAPS + tap];
            w[tap] *= orientation;
        }
        /* Two windows at once: eight independent sums hide the latency of the multiply-add. */
        for (int window = 0; window < WINDOWS; window += 2) {
            Floats sums[2][4];
            UNROLL for (int tap = 0; tap < TAPS; tap++)
                UNROLL for (int k = 0; k < 4; k++)
                    UNROLL for (int two = 0; two < 2; two++) {
                        float pixel = patches[window + two][tap / 3 * 4 + tap % 3 + k / 2 * 4 + k % 2];
                        sums[two][k] = tap ? sums[two][k] + w[tap] * pixel : w[tap] * pixel;
                    }
            UNROLL for (int two = 0; two < 2; two++)
                pool(sums[two], affine, block, orientation * grey, &values[window + two][block],
                     &codes[window + two][block]);
        }
    }
    activate_all(&values[0][0], WINDOWS * CHANNELS);
}

/* Return, for each channel, the pixel of a patch `offset` places after the one where its maximum is. */
static inline Floats pixel_at_maximum(const float patch[PATCH], Ints code, int offset) {
#if LANES == 16 && !defined(__clang__)
    return __builtin_shuffle(load(patch), code + (code & 2) + offset);
#else
    Floats upper = choose(code == 0, broadcast(patch[offset]), broadcast(patch[offset + 1]));
    Floats lower = choose(code == 2, broadcast(patch[offset + 4]), broadcast(patch[offset + 5]));
    return choose(code < 2, upper, lower);
#endif
}

/* Add to weight [9][16] and bias [16] what the gradient of the pooled maxima gives, before the affine map. */
static void first_layer_backward(const float patches[WINDOWS][PATCH], const uint8_t codes[WINDOWS][CHANNELS],
                                 const float gradient[WINDOWS][CHANNELS], float weight[TAPS][CHANNELS],
                                 float *bias) {
    for (int block = 0; block < CHANNELS; block += LANES) {
        Floats sums[TAPS], sum = broadcast(0);
        UNROLL for (int tap = 0; tap < TAPS; tap++) sums[tap] = broadcast(0);
        for (int window = 0; window < WINDOWS; window++) {
            Bytes bytes;
            memcpy(&bytes, &codes[window][block], sizeof bytes);
            Ints code = __builtin_convertvector(bytes, Ints);
            Floats g = load(&gradient[window][block]);
            sum += g;
            UNROLL for (int tap = 0; tap < TAPS; tap++)
                sums[tap] += g * pixel_at_maximum(patches[window], code, tap / 3 * 4 + tap % 3);
        }
        store(bias + block, load(bias + block) + sum);
        UNROLL for (int tap = 0; tap < TAPS; tap++)
            store(&weight[tap][block], load(&weight[tap][block]) + sums[tap]);
    }
}

/* Put the first layer's values into the frame of zeros, as signs if `binary`. */
static void fill_plane(const float values[WINDOWS][CHANNELS], int binary, Plane plane) {
    for (int y = 0; y < 14; y++)
        for (int x = 0; x < 14; x++)
            for (int block = 0; block < CHANNELS; block += LANES) {
                Floats value = load(&values[y * 14 + x][block]);
                store(&plane[y + 1][x + 1][block], binary ? sign(value) : value);
            }
}

/* Put what the plane's gradient is, under the first layer's activation, in the place of its values. */
static void plane_backward(const Plane plane, float values[WINDOWS][CHANNELS]) {
    for (int y = 0; y < 14; y++)
        for (int x = 0; x < 14; x++)
            for (int block = 0; block < CHANNELS; block += LANES) {
                Floats value = load(&values[y * 14 + x][block]), g = load(&plane[y + 1][x + 1][block]);
                store(&values[y * 14 + x][block], g * activation_slope(TANH, value));
            }
}

/* Map, pool and activate the second layer's sums; features [16][49] */
static void second_pool(const Windows sums, const Affine *affine, float *features,
                        uint8_t codes[TILES][CHANNELS]) {
    for (int block = 0; block < CHANNELS; block += LANES) {
        Floats orientation = orientation_of(affine, block);
        for (int tile = 0; tile < TILES; tile++) {
            Floats window[4];
            float values[LANES];
            UNROLL for (int k = 0; k < 4; k++) window[k] = load(&sums[tile][k][block]) * orientation;
            pool(window, affine, block, orientation, values, &codes[tile][block]);
            for (int lane = 0; lane < LANES; lane++) features[(block + lane) * TILES + tile] = values[lane];
        }
    }
    activate_all(features, FEATURES);
}

/* Turn the gradient of features into that of the pool's maxima, and add that up, as it is and times
 * maxima - centre. */
static void second_pool_backward(const float *features, const float *gradient, const Windows sums,
                                 const uint8_t codes[TILES][CHANNELS], const float *centre,
                                 float pooled[TILES][CHANNELS], float *gradient_sum, float *product_sum) {
    float slopes[FEATURES];
    for (int k = 0; k < FEATURES; k += LANES) {
        Floats value = load(features + k);
        store(slopes + k, load(gradient + k) * activation_slope(TANH, value));
    }
    for (int block = 0; block < CHANNELS; block += LANES) {
        Floats sum = broadcast(0), product = broadcast(0), middle = load(centre + block);
        for (int tile = 0; tile < TILES; tile++) {
            for (int lane = 0; lane < LANES; lane++)
                pooled[tile][block + lane] = slopes[(block + lane) * TILES + tile];
            Floats g = load(&pooled[tile][block]);
            sum += g;
            if (!sums) continue;
            Bytes bytes;
            memcpy(&bytes, &codes[tile][block], sizeof bytes);
            Ints code = __builtin_convertvector(bytes, Ints);
            Floats upper = choose(code == 0, load(&sums[tile][0][block]), load(&sums[tile][1][block]));
            Floats lower = choose(code == 2, load(&sums[tile][2][block]), load(&sums[tile][3][block]));
            product += g * (choose(code < 2, upper, lower) - middle);
        }
        store(gradient_sum + block, load(gradient_sum + block) + sum);
        store(product_sum + block, load(product_sum + block) + product);
    }
}

/* Transform the gradient of the second layer's sums: scale * pooled at each maximum, and everywhere, with
 * normalisation, what its mean and variance pass on: level + slope * sum. */
static void second_layer_gradient(const float pooled[TILES][CHANNELS], const uint8_t codes[TILES][CHANNELS],
                                  const Windows sums, const float *scale, const float *level,
                                  const float *slope, Tiles to) {
    for (int block = 0; block < CHANNELS; block += LANES) {
        Floats factor = load(scale + block), constant = load(level + block), linear = load(slope + block);
        for (int tile = 0; tile < TILES; tile++) {
            Bytes bytes;
            memcpy(&bytes, &codes[tile][block], sizeof bytes);
            Ints code = __builtin_convertvector(bytes, Ints);
            Floats g = load(&pooled[tile][block]) * factor, y[4];
            UNROLL for (int k = 0; k < 4; k++) {
                y[k] = (Floats)((code == k) & (Ints)g);
                if (sums) y[k] += constant + linear * load(&sums[tile][k][block]);
            }
            return_from_outputs(y, to, tile, block);
        }
    }
}

/* Add the gradient of the second layer's weights where only maxima have one: a quarter of the positions. */
static void correlate_maxima(const Plane plane, const uint8_t codes[TILES][CHANNELS],
                             const float pooled[TILES][CHANNELS], float weight[CHANNELS][TAPS][CHANNELS]) {
    for (int o = 0; o < CHANNELS; o++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            Floats sums[TAPS];
            UNROLL for (int tap = 0; tap < TAPS; tap++) sums[tap] = broadcast(0);
            for (int y = 0, tile = 0; y < SIDE - 2; y += 2)
                for (int x = 0; x < SIDE - 2; x += 2, tile++) {
                    int code = codes[tile][o];
                    const float *corner = &plane[y + code / 2][x + code % 2][block];
                    Floats g = broadcast(pooled[tile][o]);
                    UNROLL for (int tap = 0; tap < TAPS; tap++)
                        sums[tap] += g * load(corner + (tap / 3 * SIDE + tap % 3) * CHANNELS);
                }
            UNROLL for (int tap = 0; tap < TAPS; tap++)
                store(&weight[o][tap][block], load(&weight[o][tap][block]) + sums[tap]);
        }
}
#endif
