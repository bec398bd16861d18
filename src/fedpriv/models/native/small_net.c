/* Train the small network on one client, all mini-batches in one call, or compute its logits.
 *
 * 28x28 images - conv 3x3, 16 - pool - tanh - conv 3x3, 16 - pool - tanh - dense - tanh - dense - cross-entropy,
 * with an affine map after every sum: a bias, a batch normalisation, or the root of the number of terms. The
 * binary network uses signs of its weights, and signs of tanh before the second convolution and the last layer.
 *
 * Nothing is static and sums have a fixed order: any number of threads may call, equal input gives equal bits.
 */
#include "small_net_dense.h"
#include "small_net_layers.h"
#include "small_net_step.h"

/* The first layer's sums are never kept: their moments follow from products of pixels. */
static void normalise_first(const Net *net, const Places *at, float *weights, const float *used, int64_t n,
                            Memory *memory) {
    memset(memory->gram, 0, sizeof memory->gram);
    memset(memory->pixel_sums, 0, sizeof memory->pixel_sums);
    for (int64_t i = 0; i < n; i++) add_products(memory->patches[i], memory->gram, memory->pixel_sums);
    for (int a = 0; a < PATCH; a++) {
        memory->pixel_sums[a] *= unit(net);
        for (int b = 0; b < PATCH; b++) memory->gram[a][b] *= unit(net) * unit(net);
    }
    double count = (double)n * PIXELS;
    for (int unit = 0; unit < CHANNELS; unit++) {
        const float *w = used + at->weight[0] + unit * TAPS;
        double sum = 0, square = 0;
        for (int a = 0; a < TAPS; a++) {
            sum += w[a] * tap_sum(memory->pixel_sums, a);
            for (int b = 0; b < TAPS; b++) square += (double)w[a] * w[b] * tap_product(memory->gram, a, b);
        }
        double mean = sum / count;
        normalise(at, weights, used, 0, unit, mean, square / count - mean * mean, count, &memory->affine[0]);
    }
}

static void normalise_second(const Places *at, float *weights, const float *used, int64_t n, Memory *memory) {
    double sum[CHANNELS] = {0}, square[CHANNELS] = {0}, count = (double)n * TILES * 4;
    for (int64_t i = 0; i < n; i++)
        for (int block = 0; block < CHANNELS; block += LANES) {
            /* Sums of binary terms are integers: these are exact. */
            Floats one = all(0), two = all(0);
            for (int tile = 0; tile < TILES; tile++)
                for (int k = 0; k < 4; k++) {
                    Floats z = load(&memory->sums[i][tile][k][block]);
                    one += z, two += z * z;
                }
            for (int lane = 0; lane < LANES; lane++)
                sum[block + lane] += one[lane], square[block + lane] += two[lane];
        }
    for (int unit = 0; unit < CHANNELS; unit++) {
        double mean = sum[unit] / count, variance = square[unit] / count - mean * mean;
        normalise(at, weights, used, 1, unit, mean, variance, count, &memory->affine[1]);
    }
}

/* Prepare the weights of the second layer, for the next function. */
static void prepare_convolution(const Net *net, const float *weight, Memory *memory) {
    if (SIGNS_ARE_BYTES && net->binary)
        pack_filters(weight, *memory->byte_filters);
    else
        transform_filters(weight, *memory->filters, 0);
}

static void convolve(const Net *net, const float values[WINDOWS][CHANNELS], Memory *memory, Windows sums) {
    if (SIGNS_ARE_BYTES && net->binary) {
        pack_signs(values, *memory->bytes);
        convolve_signs(*memory->bytes, *memory->byte_filters, sums);
    } else {
        frame(values, net->binary, *memory->plane);
        transform_inputs(*memory->plane, *memory->inputs);
        filter_tiles(*memory->inputs, *memory->filters, *memory->products);
        transform_outputs(*memory->products, sums);
    }
}

/* Compute logits of the rows' images into memory; `training` normalises by the batch. */
static void forward(const Net *net, const Places *at, float *weights, const uint8_t *images, const int64_t *rows,
                    int64_t n, int training, Memory *memory) {
    const float *used = memory->used;
    int batch = training && net->norm;
    for (int layer = 0; layer < LAYERS && !batch; layer++)
        set_affine(net, at, weights, used, layer, &memory->affine[layer]);
    for (int64_t i = 0; i < n; i++)
        cut(images + (rows ? rows[i] : i) * PIXELS, net->bright, memory->patches[i]);
    if (batch) normalise_first(net, at, weights, used, n, memory);
    prepare_convolution(net, used + at->weight[1], memory);
    for (int64_t i = 0; i < n; i++) {
        Windows *sums = &memory->sums[batch ? i : 0];
        first_layer(memory->patches[i], used, &memory->affine[0], (float)unit(net), memory->first[i],
                    memory->first_code[i]);
        convolve(net, (const float(*)[CHANNELS])memory->first[i], memory, *sums);
        if (!batch) second_pool(*sums, &memory->affine[1], memory->features[i], memory->second_code[i]);
    }
    if (batch) normalise_second(at, weights, used, n, memory);
    for (int64_t i = 0; i < n && batch; i++)
        second_pool(memory->sums[i], &memory->affine[1], memory->features[i], memory->second_code[i]);
    dense_layers(net, at, weights, n, batch, memory);
}

/* Write the gradient of the first layer from its sums over maxima: weight [9][16] in units of greys, bias [16]. */
static void write_first(const Net *net, const Places *at, int64_t n, const float weight[TAPS][CHANNELS],
                        const float bias[CHANNELS], Memory *memory) {
    const Affine *affine = &memory->affine[0];
    for (int o = 0; o < CHANNELS; o++) {
        const float *w = memory->used + at->weight[0] + o * TAPS;
        float *flat = memory->gradient, *to = flat + at->weight[0] + o * TAPS, scale = affine->scale[o];
        for (int tap = 0; tap < TAPS; tap++) to[tap] = (float)unit(net) * weight[tap][o];
        if (!net->norm) {
            for (int tap = 0; tap < TAPS; tap++) to[tap] *= scale;
            if (!net->binary) flat[at->bias[0] + o] = scale * bias[o];
            continue;
        }
        /* As in the second layer, what the mean and the variance pass on, but from products of pixels. */
        double count = (double)n * PIXELS, mean = affine->centre[o], inverse = affine->inverse[o];
        double together = -mean * bias[o];
        for (int tap = 0; tap < TAPS; tap++) together += (double)w[tap] * to[tap];
        together *= inverse;
        flat[at->norm[0] + o] = (float)together;
        flat[at->norm[0] + CHANNELS + o] = bias[o];
        for (int tap = 0; tap < TAPS; tap++) {
            double pixels = tap_sum(memory->pixel_sums, tap), product = -mean * pixels;
            for (int other = 0; other < TAPS; other++) product += w[other] * tap_product(memory->gram, tap, other);
            to[tap] = scale * (float)(to[tap] - (bias[o] * pixels + together * inverse * product) / count);
        }
    }
}

/* From the gradient of the features write that of the convolutions' weights. */
static void convolutions_backward(const Net *net, const Places *at, int64_t n, Memory *memory) {
    float *flat = memory->gradient;
    Affine *affine = &memory->affine[1];
    float alone[CHANNELS] = {0}, times[CHANNELS] = {0}, level[CHANNELS] = {0}, slope[CHANNELS] = {0};
    for (int64_t i = 0; i < n; i++)
        second_pool_backward(memory->features[i], memory->features_gradient[i],
                             net->norm ? memory->sums[i] : NULL, memory->second_code[i], affine->centre,
                             memory->pooled[i], alone, times);
    for (int o = 0; o < CHANNELS; o++)
        if (net->norm) {
            float count = (float)n * TILES * 4, inverse = affine->inverse[o];
            flat[at->norm[1] + o] = times[o] * inverse;
            flat[at->norm[1] + CHANNELS + o] = alone[o];
            slope[o] = -affine->scale[o] * inverse * inverse * times[o] / count;
            level[o] = -affine->scale[o] * alone[o] / count - slope[o] * affine->centre[o];
        } else if (!net->binary)
            flat[at->bias[1] + o] = affine->scale[o] * alone[o];

    float first_weight[TAPS][CHANNELS] = {{0}}, first_bias[CHANNELS] = {0};
    transform_filters(memory->used + at->weight[1], *memory->transposed, 1);
    memset(memory->correlations, 0, sizeof *memory->correlations);
    memset(memory->maxima, 0, sizeof *memory->maxima);
    for (int64_t i = 0; i < n; i++) {
        second_layer_gradient(memory->pooled[i], memory->second_code[i], net->norm ? memory->sums[i] : NULL,
                              affine->scale, level, slope, *memory->outputs);
        frame(memory->first[i], net->binary, *memory->plane);
        if (net->norm) {
            transform_inputs(*memory->plane, *memory->inputs);
            correlate_tiles(*memory->inputs, *memory->outputs, *memory->correlations);
        } else
            correlate_maxima(*memory->plane, memory->second_code[i], memory->pooled[i], *memory->maxima);
        filter_tiles(*memory->outputs, *memory->transposed, *memory->products);
        memset(memory->plane_gradient, 0, sizeof *memory->plane_gradient);
        return_to_inputs(*memory->products, *memory->plane_gradient);
        frame_backward(*memory->plane_gradient, memory->first[i]);
        first_layer_backward(memory->patches[i], memory->first_code[i], memory->first[i], first_weight,
                             first_bias);
    }
    if (net->norm)
        return_to_filters(*memory->correlations, flat + at->weight[1]);
    else
        for (int o = 0; o < CHANNELS; o++)
            for (int i = 0; i < CHANNELS; i++)
                for (int tap = 0; tap < TAPS; tap++)
                    flat[at->weight[1] + (o * CHANNELS + i) * TAPS + tap] =
                        affine->scale[o] * (*memory->maxima)[o][tap][i];
    write_first(net, at, n, (const float(*)[CHANNELS])first_weight, first_bias, memory);
}

/* Take a step for each mini-batch; `start`, `uniforms` may be null. Returns 0, or 1 where memory is short. */
int small_net_train(const Net *net, const uint8_t *images, const int64_t *labels, const int64_t *rows,
                    const int64_t *sizes, int64_t steps, float *weights, float *first, float *second,
                    int64_t steps_before, const Adam *how, const float *start, const float *uniforms,
                    int64_t uniforms_stride, double *loss) {
    Places at = places(net);
    Memory memory;
    int64_t most = 0;
    for (int64_t s = 0; s < steps; s++) most = sizes[s] > most ? sizes[s] : most;
    allocate(&memory, net, &at, most, 1);
    if (!memory.block) return 1;
    for (int64_t s = 0; s < steps; s++) {
        use(net, &at, weights, uniforms ? uniforms + s * uniforms_stride : NULL, memory.used);
        forward(net, &at, weights, images, rows, sizes[s], 1, &memory);
        *loss = cross_entropy(net, labels, rows, sizes[s], memory.logits);
        dense_layers_backward(net, &at, sizes[s], &memory);
        convolutions_backward(net, &at, sizes[s], &memory);
        step(net, &at, how, steps_before + s + 1, start, memory.gradient, weights, first, second);
        rows += sizes[s];
    }
    free(memory.block);
    return 0;
}

/* Write logits [n][classes] in evaluation mode. Returns 0, or 1 where memory is short. */
int small_net_logits(const Net *net, const uint8_t *images, int64_t n, const float *weights, float *logits) {
    enum { CHUNK = 64 };
    Places at = places(net);
    Memory memory;
    allocate(&memory, net, &at, least(n, CHUNK), 0);
    if (!memory.block) return 1;
    use(net, &at, weights, NULL, memory.used);
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t count = least(n - i, CHUNK);
        forward(net, &at, (float *)weights, images + i * PIXELS, NULL, count, 0, &memory);
        for (int64_t k = 0; k < count; k++)
            for (int64_t j = 0; j < net->classes; j++) *logits++ = memory.logits[j * whole(count) + k];
    }
    free(memory.block);
    return 0;
}
