/* Winograd's F(2x2, KERNEL x KERNEL): Lavin and Gray 2016. An example has a lane of its own.
 *
 * A tile of SPAN x SPAN inputs gives 2x2 outputs, a window of the max pool, with SPAN² products per pair
 * of channels instead of 4 KERNEL². With B, G, A the usual matrices: outputs = A' [(G w G') * (B' x B)] A,
 * products taken element by element and summed over input channels; gradients are the same maps transposed.
 * The points are 0, ±1, infinity, and for 5x5 also ±2.
 */
#ifndef CNN_WINOGRAD_H
#define CNN_WINOGRAD_H
#include "cnn_memory.h"

#if KERNEL == 5
static const double FILTER_MAP[SPAN][KERNEL] = {{1 / 4., 0, 0, 0, 0},
                                                {-1 / 6., -1 / 6., -1 / 6., -1 / 6., -1 / 6.},
                                                {-1 / 6., 1 / 6., -1 / 6., 1 / 6., -1 / 6.},
                                                {1 / 24., 1 / 12., 1 / 6., 1 / 3., 2 / 3.},
                                                {1 / 24., -1 / 12., 1 / 6., -1 / 3., 2 / 3.},
                                                {0, 0, 0, 0, 1}};

static inline void map_inputs(const Floats x[SPAN], Floats y[SPAN]) { /* y = B' x */
    Floats even = x[4] - 4 * x[2], odd = x[3] - 4 * x[1], far_even = x[4] - x[2], far_odd = x[3] - x[1];
    y[0] = 4 * x[0] - 5 * x[2] + x[4];
    y[1] = even + odd, y[2] = even - odd;
    y[3] = far_even + 2 * far_odd, y[4] = far_even - 2 * far_odd;
    y[5] = 4 * x[1] - 5 * x[3] + x[5];
}

static inline void map_inputs_back(const Floats y[SPAN], Floats x[SPAN]) { /* x = B y */
    Floats near = y[1] + y[2], far = y[3] + y[4], near_odd = y[1] - y[2], far_odd = y[3] - y[4];
    x[0] = 4 * y[0];
    x[1] = 4 * (y[5] - near_odd) - 2 * far_odd;
    x[2] = -5 * y[0] - 4 * near - far;
    x[3] = near_odd + 2 * far_odd - 5 * y[5];
    x[4] = y[0] + near + far;
    x[5] = y[5];
}

static inline void map_outputs(const Floats y[SPAN], Floats z[2]) { /* z = A' y */
    z[0] = y[0] + (y[1] + y[2]) + (y[3] + y[4]);
    z[1] = (y[1] - y[2]) + 2 * (y[3] - y[4]) + y[5];
}

static inline void map_outputs_back(const Floats z[2], Floats y[SPAN]) { /* y = A z */
    y[0] = z[0], y[1] = z[0] + z[1], y[2] = z[0] - z[1];
    y[3] = z[0] + 2 * z[1], y[4] = z[0] - 2 * z[1], y[5] = z[1];
}

static inline void map_filters_back(const Floats u[SPAN], Floats w[KERNEL]) { /* w = G' u */
    Floats near = (u[1] + u[2]) * (-1 / 6.f), near_odd = (u[1] - u[2]) * (-1 / 6.f);
    Floats far = (u[3] + u[4]) * (1 / 24.f), far_odd = (u[3] - u[4]) * (1 / 24.f);
    w[0] = u[0] * 0.25f + near + far;
    w[1] = near_odd + 2 * far_odd;
    w[2] = near + 4 * far;
    w[3] = near_odd + 8 * far_odd;
    w[4] = near + 16 * far + u[5];
}
#else
static const double FILTER_MAP[SPAN][KERNEL] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};

static inline void map_inputs(const Floats x[SPAN], Floats y[SPAN]) { /* y = B' x */
    y[0] = x[0] - x[2], y[1] = x[1] + x[2], y[2] = x[2] - x[1], y[3] = x[3] - x[1];
}

static inline void map_inputs_back(const Floats y[SPAN], Floats x[SPAN]) { /* x = B y */
    x[0] = y[0], x[1] = y[1] - y[2] - y[3], x[2] = y[1] + y[2] - y[0], x[3] = y[3];
}

static inline void map_outputs(const Floats y[SPAN], Floats z[2]) { /* z = A' y */
    z[0] = y[0] + y[1] + y[2], z[1] = y[1] - y[2] + y[3];
}

static inline void map_outputs_back(const Floats z[2], Floats y[SPAN]) { /* y = A z */
    y[0] = z[0], y[1] = z[0] + z[1], y[2] = z[0] - z[1], y[3] = z[1];
}

static inline void map_filters_back(const Floats u[SPAN], Floats w[KERNEL]) { /* w = G' u */
    Floats middle = (u[1] + u[2]) * 0.5f;
    w[0] = u[0] + middle, w[1] = (u[1] - u[2]) * 0.5f, w[2] = middle + u[3];
}
#endif

/* to = G w G' of weights [outs][ins][KERNEL][KERNEL], in blocks of ROWS rows:
 * [block][ELEMENTS][column][ROWS]. Rows are outputs and columns inputs, or the reverse; rows that fill the
 * last block are zero. */
static void transform_filters(const float *weight, int64_t outs, int64_t ins, int reverse, float *to) {
    int64_t rows = reverse ? ins : outs, columns = reverse ? outs : ins;
    memset(to, 0, sizeof *to * (size_t)(whole_blocks(rows) * ELEMENTS * columns));
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            const float *w = weight + (reverse ? column * ins + row : row * ins + column) * TAPS;
            float *corner = to + (row / ROWS * ELEMENTS * columns + column) * ROWS + row % ROWS;
            double t[SPAN][KERNEL] = {{0}};
            for (int r = 0; r < SPAN; r++)
                for (int k = 0; k < KERNEL; k++)
                    for (int c = 0; c < KERNEL; c++) t[r][c] += FILTER_MAP[r][k] * w[k * KERNEL + c];
            for (int r = 0; r < SPAN; r++)
                for (int c = 0; c < SPAN; c++) {
                    double sum = 0;
                    for (int k = 0; k < KERNEL; k++) sum += t[r][k] * FILTER_MAP[c][k];
                    corner[(r * SPAN + c) * columns * ROWS] = (float)sum;
                }
        }
}

/* w = G' u G, of the gradient of one filter; elements of u are `step` apart. */
static void return_to_filter(const Floats *u, int64_t step, Floats w[TAPS]) {
    Floats t[KERNEL][SPAN];
    for (int c = 0; c < SPAN; c++) {
        Floats column[SPAN], back[KERNEL];
        UNROLL for (int r = 0; r < SPAN; r++) column[r] = u[(r * SPAN + c) * step];
        map_filters_back(column, back);
        UNROLL for (int r = 0; r < KERNEL; r++) t[r][c] = back[r];
    }
    for (int r = 0; r < KERNEL; r++) map_filters_back(t[r], w + r * KERNEL);
}

/* to = B' x B, for a row of tiles of one channel whose first row of inputs is x; elements are `step` apart.
 */
static void transform_inputs(const Floats *x, Floats *to, int64_t step) {
    Floats t[SPAN][SIDE];
    for (int c = 0; c < SIDE; c++) { /* tiles overlap, and share their columns */
        Floats column[SPAN], mapped[SPAN];
        UNROLL for (int r = 0; r < SPAN; r++) column[r] = x[r * SIDE + c];
        map_inputs(column, mapped);
        UNROLL for (int r = 0; r < SPAN; r++) t[r][c] = mapped[r];
    }
    for (int r = 0; r < SPAN; r++)
        for (int tile = 0; tile < POOLED; tile++) {
            Floats mapped[SPAN];
            map_inputs(&t[r][2 * tile], mapped);
            UNROLL for (int c = 0; c < SPAN; c++) to[(r * SPAN + c) * step + tile] = mapped[c];
        }
}

/* x += B m B', the way back of `transform_inputs`; tiles overlap. */
static void return_to_inputs(const Floats *from, int64_t step, Floats *x) {
    Floats t[SPAN][SIDE] = {{{0}}};
    for (int r = 0; r < SPAN; r++)
        for (int tile = 0; tile < POOLED; tile++) {
            Floats row[SPAN], back[SPAN];
            UNROLL for (int c = 0; c < SPAN; c++) row[c] = from[(r * SPAN + c) * step + tile];
            map_inputs_back(row, back);
            UNROLL for (int c = 0; c < SPAN; c++) t[r][2 * tile + c] += back[c];
        }
    for (int c = 0; c < SIDE; c++) {
        Floats column[SPAN], back[SPAN];
        UNROLL for (int r = 0; r < SPAN; r++) column[r] = t[r][c];
        map_inputs_back(column, back);
        UNROLL for (int r = 0; r < SPAN; r++) x[r * SIDE + c] += back[r];
    }
}

/* outputs = A' m A, the four sums of one tile in reading order */
static inline void transform_outputs(const Floats *from, int64_t step, Floats outputs[4]) {
    Floats t[2][SPAN];
    UNROLL for (int c = 0; c < SPAN; c++) {
        Floats column[SPAN], mapped[2];
        UNROLL for (int r = 0; r < SPAN; r++) column[r] = from[(r * SPAN + c) * step];
        map_outputs(column, mapped);
        t[0][c] = mapped[0], t[1][c] = mapped[1];
    }
    map_outputs(t[0], outputs), map_outputs(t[1], outputs + 2);
}

/* to = A y A', the way back of `transform_outputs` */
static inline void return_from_outputs(const Floats outputs[4], Floats *to, int64_t step) {
    Floats upper[SPAN], lower[SPAN];
    map_outputs_back(outputs, upper), map_outputs_back(outputs + 2, lower);
    UNROLL for (int c = 0; c < SPAN; c++) {
        Floats pair[2] = {upper[c], lower[c]}, column[SPAN];
        map_outputs_back(pair, column);
        UNROLL for (int r = 0; r < SPAN; r++) to[(r * SPAN + c) * step] = column[r];
    }
}

/* to[e][row][tile] = sum over channels of from[e][channel][tile] filters[e][channel][row] */
static void filter_tiles(const Floats *from, int64_t rows_from, const float *filters, int64_t channels,
                         Floats to[ELEMENTS][ROWS][POOLED]) {
    for (int e = 0; e < ELEMENTS; e++) {
        Floats sums[ROWS][POOLED];
        UNROLL for (int r = 0; r < ROWS; r++)
            UNROLL for (int t = 0; t < POOLED; t++) sums[r][t] = broadcast(0);
        const Floats *x = from + e * rows_from * POOLED;
        const float *filter = filters + e * channels * ROWS;
        for (int64_t channel = 0; channel < channels; channel++, x += POOLED, filter += ROWS)
            UNROLL for (int t = 0; t < POOLED; t++) {
                Floats value = in_register(x[t]);
                UNROLL for (int r = 0; r < ROWS; r++) sums[r][t] += value * filter[r];
            }
        UNROLL for (int r = 0; r < ROWS; r++)
            UNROLL for (int t = 0; t < POOLED; t++) to[e][r][t] = sums[r][t];
    }
}

/* correlations[e][out][in] += sum over a row of tiles of outputs[e][out][tile] inputs[e][in][tile] */
static void correlate_tiles(const Floats *outputs, int64_t outs, const Floats *inputs, int64_t ins,
                            Floats *correlations) {
    for (int e = 0; e < ELEMENTS; e++)
        for (int64_t o = 0; o < outs; o += ROWS)
            for (int64_t i = 0; i < ins; i += ROWS) {
                const Floats *y = outputs + (e * outs + o) * POOLED, *x = inputs + (e * ins + i) * POOLED;
                Floats *to = correlations + (e * outs + o) * ins + i, sums[ROWS][ROWS];
                UNROLL for (int r = 0; r < ROWS; r++)
                    UNROLL for (int s = 0; s < ROWS; s++) sums[r][s] = to[r * ins + s];
                UNROLL for (int t = 0; t < POOLED; t++) {
                    Floats left[ROWS];
                    UNROLL for (int r = 0; r < ROWS; r++) left[r] = in_register(y[r * POOLED + t]);
                    UNROLL for (int s = 0; s < ROWS; s++) {
                        Floats right = in_register(x[s * POOLED + t]);
                        UNROLL for (int r = 0; r < ROWS; r++) sums[r][s] += left[r] * right;
                    }
                }
                UNROLL for (int r = 0; r < ROWS; r++)
                    UNROLL for (int s = 0; s < ROWS; s++) to[r * ins + s] = sums[r][s];
            }
}
#endif
