/* Both convolutions of the CNN with their pools, forward and backward. An example has a lane of its own. */
#ifndef CNN_LAYERS_H
#define CNN_LAYERS_H
#include "activation.h"
#include "cnn_winograd.h"

/* Put n <= LANES images into the lanes, greys from 0 to 1; further lanes get an image of zeros. */
static void read_images(const uint8_t *images, const int64_t *rows, int64_t n, Floats *image) {
    float grey[256];
    for (int value = 0; value < 256; value++) grey[value] = (float)value / 255;
    for (int64_t lane = 0; lane < n; lane++) {
        const uint8_t *from = images + rows[lane] * PIXELS;
        for (int y = 0; y < PATH; y++) {
            float *to = (float *)(image + (BORDER + y) * IMAGE_SIDE + BORDER) + lane;
            for (int x = 0; x < PATH; x++) to[x * LANES] = grey[from[y * PATH + x]];
        }
    }
    for (int64_t lane = n; lane < LANES; lane++)
        for (int place = 0; place < IMAGE_SIDE * IMAGE_SIDE; place++) ((float *)(image + place))[lane] = 0;
}

/* Return the largest of four and where it is: the first in reading order, and a NaN where there is one. */
static inline Floats pool(const Floats sums[4], Bytes *code) {
    Floats largest = sums[0];
    Ints place = {0};
    UNROLL for (int k = 1; k < 4; k++) {
        Ints larger = (sums[k] > largest) | (sums[k] != sums[k]);
        largest = choose(larger, sums[k], largest);
        place = (larger & k) | (~larger & place);
    }
    *code = __builtin_convertvector(place, Bytes);
    return largest;
}

/* Give each of four places the gradient in those lanes where the maximum was there. */
static inline void unpool(Floats gradient, Bytes code, Floats sums[4]) {
    Ints place = __builtin_convertvector(code, Ints);
    UNROLL for (int k = 0; k < 4; k++) sums[k] = (Floats)((place == k) & (Ints)gradient);
}

/* The first layer's filters [out][TAPS] in blocks of ROWS: [block][TAPS][ROWS]. */
static void block_filters(const float *weight, int64_t outs, float *to) {
    memset(to, 0, sizeof *to * (size_t)(whole_blocks(outs) * TAPS));
    for (int64_t out = 0; out < outs; out++)
        for (int tap = 0; tap < TAPS; tap++)
            to[(out / ROWS * TAPS + tap) * ROWS + out % ROWS] = weight[out * TAPS + tap];
}

/* The four sums of ROWS channels at one window, whose first pixel is `image`. */
static inline void first_sums(const Floats *image, const float filters[TAPS][ROWS], Floats sums[ROWS][4]) {
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int k = 0; k < 4; k++) sums[r][k] = broadcast(0);
    UNROLL for (int y = 0; y < SPAN; y++)
        UNROLL for (int x = 0; x < SPAN; x++) {
            Floats pixel = in_register(image[y * IMAGE_SIDE + x]);
            UNROLL for (int k = 0; k < 4; k++) {
                int row = y - k / 2, column = x - k % 2;
                if (row < 0 || row >= KERNEL || column < 0 || column >= KERNEL) continue;
                UNROLL for (int r = 0; r < ROWS; r++) sums[r][k] += pixel * filters[row * KERNEL + column][r];
            }
        }
}

static void first_layer(const Net *net, const float *bias, Memory *memory) {
    for (int64_t block = 0; block < net->width[0]; block += ROWS)
        for (int window = 0; window < WINDOWS; window++) {
            int y = window / WINDOW_ROW, x = window % WINDOW_ROW;
            const float *filters = memory->first_filters + block * TAPS;
            Floats sums[ROWS][4];
            first_sums(memory->image + 2 * y * IMAGE_SIDE + 2 * x, (const float (*)[ROWS])filters, sums);
            for (int64_t c = block; c < block + ROWS && c < net->width[0]; c++) {
                Floats largest = pool(sums[c - block], &memory->codes[0][c * WINDOWS + window]);
                memory->first[(c * SIDE + BORDER + y) * SIDE + BORDER + x] =
                    activation(net->activation, largest + bias[c]);
            }
        }
}

/* Add the first layer's gradient, from that of its values: weight [out][TAPS], bias [out]. Every lane takes
 * the pixels that its maximum has seen. */
static void first_layer_backward(const Net *net, Memory *memory, Floats *weight, Floats *bias) {
    for (int64_t c = 0; c < net->width[0]; c++, weight += TAPS) {
        Floats taps[KERNEL][KERNEL], sum = broadcast(0);
        UNROLL for (int y = 0; y < KERNEL; y++)
            UNROLL for (int x = 0; x < KERNEL; x++) taps[y][x] = weight[y * KERNEL + x];
        for (int window = 0; window < WINDOWS; window++) {
            int y = window / WINDOW_ROW, x = window % WINDOW_ROW;
            int64_t place = (c * SIDE + BORDER + y) * SIDE + BORDER + x;
            const Floats *pixel = memory->image + 2 * y * IMAGE_SIDE + 2 * x;
            Ints code = __builtin_convertvector(memory->codes[0][c * WINDOWS + window], Ints);
            Ints right = (code & 1) != 0, below = code > 1;
            Floats value = memory->first[place], above[KERNEL];
            Floats gradient = memory->first_gradient[place] * activation_slope(net->activation, value);
            sum += gradient;
            UNROLL for (int r = 0; r < SPAN; r++)
                UNROLL for (int t = 0; t < KERNEL; t++) {
                    Floats here = choose(right, pixel[r * IMAGE_SIDE + t + 1], pixel[r * IMAGE_SIDE + t]);
                    if (r) taps[r - 1][t] += gradient * choose(below, here, above[t]);
                    above[t] = here;
                }
        }
        UNROLL for (int y = 0; y < KERNEL; y++)
            UNROLL for (int x = 0; x < KERNEL; x++) weight[y * KERNEL + x] = taps[y][x];
        bias[c] += sum;
    }
}

/* Transform what a row of tiles of the second layer reads. */
static void second_inputs(const Net *net, int row, Memory *memory) {
    int64_t firsts = whole_blocks(net->width[0]);
    for (int64_t c = 0; c < net->width[0]; c++)
        transform_inputs(memory->first + (c * SIDE + 2 * row) * SIDE, memory->inputs + c * POOLED,
                         firsts * POOLED);
}

static void second_layer(const Net *net, const float *bias, Memory *memory) {
    int64_t firsts = whole_blocks(net->width[0]);
    for (int row = 0; row < POOLED; row++) {
        second_inputs(net, row, memory);
        for (int64_t block = 0; block < net->width[1]; block += ROWS) {
            filter_tiles(memory->inputs, firsts, memory->filters + block * ELEMENTS * net->width[0],
                         net->width[0], memory->products);
            for (int64_t c = block; c < block + ROWS && c < net->width[1]; c++)
                for (int tile = 0; tile < POOLED; tile++) {
                    Floats sums[4];
                    int64_t window = c * TILES + row * POOLED + tile;
                    transform_outputs(&memory->products[0][c - block][tile], ROWS * POOLED, sums);
                    Floats largest = pool(sums, &memory->codes[1][window]);
                    memory->values[2][window] = activation(net->activation, largest + bias[c]);
                }
        }
    }
}

/* From the gradient of the second layer's values, find that of the first's; add that of its filters to
 * `correlations` and that of its bias. */
static void second_layer_backward(const Net *net, Memory *memory, Floats *bias) {
    int64_t ins = net->width[0], outs = net->width[1];
    int64_t firsts = whole_blocks(ins), seconds = whole_blocks(outs);
    memset(memory->first_gradient, 0, sizeof(Floats) * (size_t)(ins * SIDE * SIDE));
    for (int row = 0; row < POOLED; row++) {
        second_inputs(net, row, memory);
        for (int64_t c = 0; c < outs; c++)
            for (int tile = 0; tile < POOLED; tile++) {
                int64_t window = c * TILES + row * POOLED + tile;
                Floats sums[4], slope = activation_slope(net->activation, memory->values[2][window]);
                Floats gradient = memory->gradients[2][window] * slope;
                bias[c] += gradient;
                unpool(gradient, memory->codes[1][window], sums);
                return_from_outputs(sums, memory->outputs + c * POOLED + tile, seconds * POOLED);
            }
        correlate_tiles(memory->outputs, seconds, memory->inputs, firsts, memory->correlations);
        for (int64_t block = 0; block < ins; block += ROWS) {
            filter_tiles(memory->outputs, seconds, memory->reversed_filters + block * ELEMENTS * outs, outs,
                         memory->products);
            for (int64_t c = block; c < block + ROWS && c < ins; c++)
                return_to_inputs(&memory->products[0][c - block][0], ROWS * POOLED,
                                 memory->first_gradient + (c * SIDE + 2 * row) * SIDE);
        }
    }
}
#endif
