/* Train the small network on one client, all mini-batches in one call, or compute its logits.
 *
 * 28x28 images - conv 3x3, 16 - pool - tanh - conv 3x3, 16 - pool - tanh - dense - tanh - dense - softmax,
 * with an affine map after every sum: a bias, a batch normalisation, or the root of the number of terms. The
 * binary network uses signs of its weights, and of tanh before the second convolution and the last layer.
 *
 * Nothing is static and sums have a fixed order: any number of threads may call; equal input, equal bits.
 */
#include "small_net_dense.h"
#include "small_net_layers.h"
#include "small_net_step.h"

/* The first layer's sums are never kept: their moments follow from products of pixels. */
static void normalise_first(const Net *net, const Layout *layout, float *weights, const float *effective,
                            int64_t n, Memory *memory) {
    memset(memory->gram, 0, sizeof memory->gram);
    memset(memory->pixel_sums, 0, sizeof memory->pixel_sums);
    for (int64_t i = 0; i < n; i++) add_products(memory->patches[i], memory->gram, memory->pixel_sums);
    for (int a = 0; a < PATCH; a++) {
        memory->pixel_sums[a] *= grey_unit(net);
        for (int b = 0; b < PATCH; b++) memory->gram[a][b] *= grey_unit(net) * grey_unit(net);
    }
    double count = (double)n * PIXELS;
    for (int unit = 0; unit < CHANNELS; unit++) {
        const float *w = effective + layout->weight[0] + unit * TAPS;
        double sum = 0, square = 0;
        for (int a = 0; a < TAPS; a++) {
            sum += w[a] * tap_sum(memory->pixel_sums, a);
            for (int b = 0; b < TAPS; b++) square += (double)w[a] * w[b] * tap_product(memory->gram, a, b);
        }
        double mean = sum / count;
        normalise_unit(layout, weights, effective, 0, unit, mean, square / count - mean * mean, count,
                       &memory->affine[0]);
    }
}

static void normalise_second(const Layout *layout, float *weights, const float *effective, int64_t n,
                             Memory *memory) {
    double sum[CHANNELS] = {0}, square[CHANNELS] = {0}, count = (double)n * TILES * 4;
    for (int64_t i = 0; i < n; i++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            /* Sums of binary terms are integers: these are exact. */
            Floats ones = broadcast(0), squares = broadcast(0);
            for (int tile = 0; tile < TILES; tile++)
                for (int k = 0; k < 4; k++) {
                    Floats z = load(&memory->second_sums[i][tile][k][block]);
                    ones += z, squares += z * z;
                }
            for (int lane = 0; lane < LANES; lane++)
                sum[block + lane] += ones[lane], square[block + lane] += squares[lane];
        }
    for (int unit = 0; unit < CHANNELS; unit++) {
        double mean = sum[unit] / count, variance = square[unit] / count - mean * mean;
        normalise_unit(layout, weights, effective, 1, unit, mean, variance, count, &memory->affine[1]);
    }
}

/* Lay out the weights of the second layer once for all examples that `convolve` will see. */
static void prepare_convolution(const Net *net, const float *weight, Memory *memory) {
    if (SIGNS_ARE_BYTES && net->binary)
        pack_filters(weight, *memory->sign_filters);
    else
        transform_filters(weight, *memory->filters, 0);
}

static void convolve(const Net *net, const float values[WINDOWS][CHANNELS], Memory *memory, Windows sums) {
    if (SIGNS_ARE_BYTES && net->binary) {
        pack_signs(values, *memory->sign_plane);
        convolve_signs(*memory->sign_plane, *memory->sign_filters, sums);
    } else {
        fill_plane(values, net->binary, *memory->plane);
        transform_inputs(*memory->plane, *memory->inputs);
        filter_tiles(*memory->inputs, *memory->filters, *memory->products);
        transform_outputs(*memory->products, sums);
    }
}

/* Compute logits of the rows' images into memory; `training` normalises by the batch. */
static void forward(const Net *net, const Layout *layout, float *weights, const uint8_t *images,
                    const int64_t *rows, int64_t n, int training, Memory *memory) {
    const float *effective = memory->effective;
    int by_batch = training && net->norm;
    for (int layer = 0; layer < LAYERS && !by_batch; layer++)
        set_affine(net, layout, weights, effective, layer, &memory->affine[layer]);
    for (int64_t i = 0; i < n; i++)
        cut_patches(images + (rows ? rows[i] : i) * PIXELS, net->bright, memory->patches[i]);
    if (by_batch) normalise_first(net, layout, weights, effective, n, memory);
    prepare_convolution(net, effective + layout->weight[1], memory);
    for (int64_t i = 0; i < n; i++) {
        Windows *sums = &memory->second_sums[by_batch ? i : 0];
        first_layer(memory->patches[i], effective, &memory->affine[0], (float)grey_unit(net),
                    memory->first_values[i], memory->first_codes[i]);
        convolve(net, (const float (*)[CHANNELS])memory->first_values[i], memory, *sums);
        if (!by_batch) second_pool(*sums, &memory->affine[1], memory->features[i], memory->second_codes[i]);
    }
    if (by_batch) normalise_second(layout, weights, effective, n, memory);
    for (int64_t i = 0; i < n && by_batch; i++)
        second_pool(memory->second_sums[i], &memory->affine[1], memory->features[i], memory->second_codes[i]);
    dense_layers(net, layout, weights, n, by_batch, memory);
}

/* Write the first layer's gradient from sums over maxima: weight [9][16] in units of greys, bias [16]. */
static void write_first(const Net *net, const Layout *layout, int64_t n, const float weight[TAPS][CHANNELS],
                        const float bias[CHANNELS], Memory *memory) {
    const Affine *affine = &memory->affine[0];
    for (int o = 0; o < CHANNELS; o++) {
        const float *w = memory->effective + layout->weight[0] + o * TAPS;
        float *flat = memory->gradient, *to = flat + layout->weight[0] + o * TAPS, scale = affine->scale[o];
        for (int tap = 0; tap < TAPS; tap++) to[tap] = (float)grey_unit(net) * weight[tap][o];
        if (!net->norm) {
            for (int tap = 0; tap < TAPS; tap++) to[tap] *= scale;
            if (!net->binary) flat[layout->bias[0] + o] = scale * bias[o];
            continue;
        }
        /* As in the second layer, what the mean and the variance pass on, but from products of pixels. */
        double count = (double)n * PIXELS, mean = affine->centre[o], inverse = affine->inverse[o];
        double product_sum = -mean * bias[o];
        for (int tap = 0; tap < TAPS; tap++) product_sum += (double)w[tap] * to[tap];
        product_sum *= inverse;
        flat[layout->norm[0] + o] = (float)product_sum;
        flat[layout->norm[0] + CHANNELS + o] = bias[o];
        for (int tap = 0; tap < TAPS; tap++) {
            double pixels = tap_sum(memory->pixel_sums, tap), product = -mean * pixels;
            for (int other = 0; other < TAPS; other++)
                product += w[other] * tap_product(memory->gram, tap, other);
            to[tap] = scale * (float)(to[tap] - (bias[o] * pixels + product_sum * inverse * product) / count);
        }
    }
}

/* From the gradient of the features write that of the convolutions' weights. */
static void convolutions_backward(const Net *net, const Layout *layout, int64_t n, Memory *memory) {
    float *flat = memory->gradient;
    Affine *affine = &memory->affine[1];
    float gradient_sum[CHANNELS] = {0}, product_sum[CHANNELS] = {0}, level[CHANNELS] = {0},
          slope[CHANNELS] = {0};
    for (int64_t i = 0; i < n; i++)
        second_pool_backward(memory->features[i], memory->features_gradient[i],
                             net->norm ? memory->second_sums[i] : NULL, memory->second_codes[i],
                             affine->centre, memory->pooled[i], gradient_sum, product_sum);
    for (int o = 0; o < CHANNELS; o++)
        if (net->norm) {
            float count = (float)n * TILES * 4, inverse = affine->inverse[o];
            flat[layout->norm[1] + o] = product_sum[o] * inverse;
            flat[layout->norm[1] + CHANNELS + o] = gradient_sum[o];
            slope[o] = -affine->scale[o] * inverse * inverse * product_sum[o] / count;
            level[o] = -affine->scale[o] * gradient_sum[o] / count - slope[o] * affine->centre[o];
        } else if (!net->binary)
            flat[layout->bias[1] + o] = affine->scale[o] * gradient_sum[o];

    float first_weight[TAPS][CHANNELS] = {{0}}, first_bias[CHANNELS] = {0};
    transform_filters(memory->effective + layout->weight[1], *memory->transposed_filters, 1);
    memset(memory->correlations, 0, sizeof *memory->correlations);
    memset(memory->second_weight_gradient, 0, sizeof *memory->second_weight_gradient);
    for (int64_t i = 0; i < n; i++) {
        second_layer_gradient(memory->pooled[i], memory->second_codes[i],
                              net->norm ? memory->second_sums[i] : NULL, affine->scale, level, slope,
                              *memory->outputs);
        fill_plane(memory->first_values[i], net->binary, *memory->plane);
        if (net->norm) {
            transform_inputs(*memory->plane, *memory->inputs);
            correlate_tiles(*memory->inputs, *memory->outputs, *memory->correlations);
        } else
            correlate_maxima(*memory->plane, memory->second_codes[i], memory->pooled[i],
                             *memory->second_weight_gradient);
        filter_tiles(*memory->outputs, *memory->transposed_filters, *memory->products);
        memset(memory->plane_gradient, 0, sizeof *memory->plane_gradient);
        return_to_inputs(*memory->products, *memory->plane_gradient);
        plane_backward(*memory->plane_gradient, memory->first_values[i]);
        first_layer_backward(memory->patches[i], memory->first_codes[i], memory->first_values[i],
                             first_weight, first_bias);
    }
    if (net->norm)
        return_to_filters(*memory->correlations, flat + layout->weight[1]);
    else
        for (int o = 0; o < CHANNELS; o++)
            for (int i = 0; i < CHANNELS; i++)
                for (int tap = 0; tap < TAPS; tap++)
                    flat[layout->weight[1] + (o * CHANNELS + i) * TAPS + tap] =
                        affine->scale[o] * (*memory->second_weight_gradient)[o][tap][i];
    write_first(net, layout, n, (const float (*)[CHANNELS])first_weight, first_bias, memory);
}

/* Take a step for each mini-batch; `start`, `uniforms` may be null. Returns 0, or 1 where memory is short. */
int small_net_train(const Net *net, const uint8_t *images, const int64_t *labels, const int64_t *rows,
                    const int64_t *sizes, int64_t steps, float *weights, float *first_moment,
                    float *second_moment, int64_t steps_before, const Adam *adam, const float *start,
                    const float *uniforms, int64_t uniforms_stride, double *loss) {
    Layout layout = layout_of(net);
    Memory memory;
    int64_t largest_batch = 0;
    for (int64_t s = 0; s < steps; s++) largest_batch = sizes[s] > largest_batch ? sizes[s] : largest_batch;
    allocate(&memory, net, &layout, largest_batch, 1);
    if (!memory.allocation) return 1;
    for (int64_t s = 0; s < steps; s++) {
        effective_weights(net, &layout, weights, uniforms ? uniforms + s * uniforms_stride : NULL,
                          memory.effective);
        forward(net, &layout, weights, images, rows, sizes[s], 1, &memory);
        *loss = mean_cross_entropy(net, labels, rows, sizes[s], memory.logits);
        dense_layers_backward(net, &layout, sizes[s], &memory);
        convolutions_backward(net, &layout, sizes[s], &memory);
        adam_step(net, &layout, adam, steps_before + s + 1, start, memory.gradient, weights, first_moment,
                  second_moment);
        rows += sizes[s];
    }
    free(memory.allocation);
    return 0;
}

/* Write logits [n][classes] in evaluation mode. Returns 0, or 1 where memory is short. */
int small_net_logits(const Net *net, const uint8_t *images, int64_t n, const float *weights, float *logits) {
    enum { CHUNK = 64 };
    Layout layout = layout_of(net);
    Memory memory;
    allocate(&memory, net, &layout, minimum(n, CHUNK), 0);
    if (!memory.allocation) return 1;
    effective_weights(net, &layout, weights, NULL, memory.effective);
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t count = minimum(n - i, CHUNK);
        forward(net, &layout, (float *)weights, images + i * PIXELS, NULL, count, 0, &memory);
        for (int64_t k = 0; k < count; k++)
            for (int64_t j = 0; j < net->classes; j++)
                *logits++ = memory.logits[j * whole_vectors(count) + k];
    }
    free(memory.allocation);
    return 0;
}
