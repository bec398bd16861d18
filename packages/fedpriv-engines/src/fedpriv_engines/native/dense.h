/* Products of small matrices, rows one after the other. */
#ifndef DENSE_H
#define DENSE_H
#include "pieces.h"

/* Tiles may hang over the end: rows beyond the last are computed as the last once more, and stored as it. */
enum { ROWS = LANES == 16 ? 4 : 2 };

/* One tile of `mix_rows`, `width` vectors wide; inlined, so that `width` is a constant. */
#define SPECIALISED static inline __attribute__((always_inline))
SPECIALISED void mix_tile(const float *a, const int64_t a_offset[ROWS], int64_t a_step, const float *b,
                          int64_t inner, int64_t length, float *c, const int64_t c_offset[ROWS],
                          int add, const int width) {
    Floats sums[ROWS][7];
    UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int v = 0; v < width; v++)
            sums[r][v] = add ? load(c + c_offset[r] + v * LANES) : broadcast(0);
    for (int64_t k = 0; k < inner; k++)
        UNROLL for (int v = 0; v < width; v++) {
            Floats right = in_register(load(b + k * length + v * LANES));
            UNROLL for (int r = 0; r < ROWS; r++) sums[r][v] += right * a[a_offset[r] + k * a_step];
        }
    UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int v = 0; v < width; v++) store(c + c_offset[r] + v * LANES, sums[r][v]);
}

/* c[i] = sum over k of a[i * a_row + k * a_step] b[k], rows of `length` in whole vectors; or `add` it to c */
static void mix_rows(const float *a, int64_t a_row, int64_t a_step, int64_t rows, const float *b,
                     int64_t inner, int64_t length, float *c, int add) {
    for (int64_t j = 0; j < length;) {
        int64_t vectors = (length - j) / LANES, width = vectors >= 7 ? 7 : vectors >= 4 ? 4 : 1;
        for (int64_t i = 0; i < rows; i += ROWS) {
            int64_t a_offset[ROWS], c_offset[ROWS];
            UNROLL for (int r = 0; r < ROWS; r++) {
                int64_t inside = minimum(i + r, rows - 1);
                a_offset[r] = inside * a_row, c_offset[r] = inside * length;
            }
            if (width == 7)
                mix_tile(a, a_offset, a_step, b + j, inner, length, c + j, c_offset, add, 7);
            else if (width == 4)
                mix_tile(a, a_offset, a_step, b + j, inner, length, c + j, c_offset, add, 4);
            else
                mix_tile(a, a_offset, a_step, b + j, inner, length, c + j, c_offset, add, 1);
        }
        j += width * LANES;
    }
}
#endif
