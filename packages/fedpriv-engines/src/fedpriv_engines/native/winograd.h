/* The 3x3 convolution of 16 channels into 16 on 14x14 positions, Winograd's F(2x2, 3x3): Lavin and Gray 2016.
 *
 * 49 tiles, each 4x4 inputs to 2x2 outputs (a window of the max pool), cost 16 multiplications per pair of
 * channels instead of 36. With B, G, A the usual matrices: outputs = A' [(G w G') * (B' x B)] A, products
 * taken element by element and summed over input channels. Gradients are the same maps transposed. All
 * matrices are small integers and halves: sums of small integers stay exact.
 */
#ifndef WINOGRAD_H
#define WINOGRAD_H
#include "vectors.h"

enum { CHANNELS = 16, TILES = 49, ELEMENTS = 16, SIDE = 16, POOLED = 7 };

typedef float Tiles[ELEMENTS][TILES][CHANNELS];      /* inputs, outputs or their gradients, transformed */
typedef float Filters[ELEMENTS][CHANNELS][CHANNELS]; /* weights or their gradient, transformed */
typedef float Plane[SIDE][SIDE][CHANNELS];           /* 14x14 positions in a frame of zeros */
typedef float Windows[TILES][4][CHANNELS];           /* 14x14 positions, those of a pool side by side */

/* to = B' x B, for every tile of a plane */
static void transform_inputs(const Plane plane, Tiles to) {
    for (int tile = 0; tile < TILES; tile++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            Floats x[4][4], t[4][4];
            const float *corner = &plane[tile / POOLED * 2][tile % POOLED * 2][block];
            UNROLL for (int r = 0; r < 4; r++)
                UNROLL for (int c = 0; c < 4; c++) x[r][c] = load(corner + (r * SIDE + c) * CHANNELS);
            UNROLL for (int c = 0; c < 4; c++) {
                t[0][c] = x[0][c] - x[2][c], t[1][c] = x[1][c] + x[2][c];
                t[2][c] = x[2][c] - x[1][c], t[3][c] = x[1][c] - x[3][c];
            }
            UNROLL for (int r = 0; r < 4; r++) {
                store(&to[4 * r][tile][block], t[r][0] - t[r][2]);
                store(&to[4 * r + 1][tile][block], t[r][1] + t[r][2]);
                store(&to[4 * r + 2][tile][block], t[r][2] - t[r][1]);
                store(&to[4 * r + 3][tile][block], t[r][1] - t[r][3]);
            }
        }
}

/* plane += B m B', tiles overlap */
static void return_to_inputs(const Tiles from, Plane plane) {
    for (int tile = 0; tile < TILES; tile++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            Floats m[4][4], t[4][4];
            float *corner = &plane[tile / POOLED * 2][tile % POOLED * 2][block];
            UNROLL for (int r = 0; r < 4; r++)
                UNROLL for (int c = 0; c < 4; c++) m[r][c] = load(&from[4 * r + c][tile][block]);
            UNROLL for (int c = 0; c < 4; c++) {
                t[0][c] = m[0][c], t[1][c] = m[1][c] - m[2][c] + m[3][c];
                t[2][c] = m[1][c] + m[2][c] - m[0][c], t[3][c] = -m[3][c];
            }
            UNROLL for (int r = 0; r < 4; r++) {
                float *row = corner + r * SIDE * CHANNELS;
                store(row, load(row) + t[r][0]);
                row += CHANNELS;
                store(row, load(row) + (t[r][1] - t[r][2] + t[r][3]));
                row += CHANNELS;
                store(row, load(row) + (t[r][1] + t[r][2] - t[r][0]));
                row += CHANNELS;
                store(row, load(row) - t[r][3]);
            }
        }
}

/* to = A' m A */
static void transform_outputs(const Tiles from, Windows to) {
    for (int tile = 0; tile < TILES; tile++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            Floats t[2][4];
            UNROLL for (int c = 0; c < 4; c++) {
                Floats m[4];
                UNROLL for (int r = 0; r < 4; r++) m[r] = load(&from[4 * r + c][tile][block]);
                t[0][c] = m[0] + m[1] + m[2], t[1][c] = m[1] - m[2] - m[3];
            }
            UNROLL for (int r = 0; r < 2; r++) {
                store(&to[tile][2 * r][block], t[r][0] + t[r][1] + t[r][2]);
                store(&to[tile][2 * r + 1][block], t[r][1] - t[r][2] - t[r][3]);
            }
        }
}

/* to = A y A', of one tile */
static inline void return_from_outputs(const Floats y[4], Tiles to, int tile, int block) {
    Floats t[4][2];
    UNROLL for (int c = 0; c < 2; c++)
        t[0][c] = y[c], t[1][c] = y[c] + y[2 + c], t[2][c] = y[c] - y[2 + c], t[3][c] = -y[2 + c];
    UNROLL for (int r = 0; r < 4; r++) {
        store(&to[4 * r][tile][block], t[r][0]);
        store(&to[4 * r + 1][tile][block], t[r][0] + t[r][1]);
        store(&to[4 * r + 2][tile][block], t[r][0] - t[r][1]);
        store(&to[4 * r + 3][tile][block], -t[r][1]);
    }
}

/* to = G w G' for weights [16 out][16 in][3][3], input channels before output channels, or the reverse */
static void transform_filters(const float *weight, Filters to, int reverse) {
    for (int o = 0; o < CHANNELS; o++)
        for (int i = 0; i < CHANNELS; i++) {
            const float *w = weight + (o * CHANNELS + i) * 9;
            float t[4][3];
            for (int c = 0; c < 3; c++) {
                float sum = w[c] + w[6 + c];
                t[0][c] = w[c], t[3][c] = w[6 + c];
                t[1][c] = (sum + w[3 + c]) / 2, t[2][c] = (sum - w[3 + c]) / 2;
            }
            for (int r = 0; r < 4; r++) {
                float sum = t[r][0] + t[r][2];
                float u[4] = {t[r][0], (sum + t[r][1]) / 2, (sum - t[r][1]) / 2, t[r][2]};
                for (int c = 0; c < 4; c++) *(reverse ? &to[4 * r + c][o][i] : &to[4 * r + c][i][o]) = u[c];
            }
        }
}

/* weight = G' u G, the gradient in the layout of the weights */
static void return_to_filters(const Filters from, float *weight) {
    for (int o = 0; o < CHANNELS; o++)
        for (int i = 0; i < CHANNELS; i++) {
            float t[3][4], *w = weight + (o * CHANNELS + i) * 9;
            for (int c = 0; c < 4; c++) {
                float u1 = from[4 + c][i][o], u2 = from[8 + c][i][o];
                t[0][c] = from[c][i][o] + (u1 + u2) / 2, t[1][c] = (u1 - u2) / 2;
                t[2][c] = from[12 + c][i][o] + (u1 + u2) / 2;
            }
            for (int r = 0; r < 3; r++) {
                w[3 * r] = t[r][0] + (t[r][1] + t[r][2]) / 2, w[3 * r + 1] = (t[r][1] - t[r][2]) / 2;
                w[3 * r + 2] = t[r][3] + (t[r][1] + t[r][2]) / 2;
            }
        }
}

/* to[e][tile] = sum over channels c of from[e][tile][c] filters[e][c] */
static void filter_tiles(const Tiles from, const Filters filters, Tiles to) {
    for (int e = 0; e < ELEMENTS; e++)
        for (int tile = 0; tile < TILES; tile += 7)
            for (int block = 0; block < CHANNELS; block += LANES) {
                Floats sums[7];
                UNROLL for (int t = 0; t < 7; t++) sums[t] = broadcast(0);
#pragma GCC unroll 4
                for (int c = 0; c < CHANNELS; c++) {
                    Floats filter = load(&filters[e][c][block]);
                    UNROLL for (int t = 0; t < 7; t++) sums[t] += filter * from[e][tile + t][c];
                }
                UNROLL for (int t = 0; t < 7; t++) store(&to[e][tile + t][block], sums[t]);
            }
}

/* filters[e][i][o] += sum over tiles of inputs[e][tile][i] outputs[e][tile][o] */
static void correlate_tiles(const Tiles inputs, const Tiles outputs, Filters filters) {
    for (int e = 0; e < ELEMENTS; e++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            Floats sums[CHANNELS];
            UNROLL for (int i = 0; i < CHANNELS; i++) sums[i] = broadcast(0);
            for (int tile = 0; tile < TILES; tile++) {
                Floats output = load(&outputs[e][tile][block]);
                UNROLL for (int i = 0; i < CHANNELS; i++) sums[i] += output * inputs[e][tile][i];
            }
            UNROLL for (int i = 0; i < CHANNELS; i++) {
                float *filter = &filters[e][i][block];
                store(filter, load(filter) + sums[i]);
            }
        }
}
#endif
