/* The loss: an example in each lane. */
#ifndef LOSS_H
#define LOSS_H
#include "pieces.h"

/* Return the sum of the cross-entropies of n examples, write them to `losses` [n] unless it is NULL, and turn
 * logits [classes][n in whole vectors] into their gradient, in place. */
static double cross_entropy(int64_t classes, const int64_t *labels, const int64_t *rows, int64_t n,
                            float *logits, double *losses) {
    double loss = 0;
    int64_t lanes = whole_vectors(n), end = classes * lanes;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = labels[rows[i]] * lanes + i;
        float largest = logits[i], sum = 0;
        for (int64_t k = i; k < end; k += lanes) largest = logits[k] > largest ? logits[k] : largest;
        float below = logits[label] - largest;
        for (int64_t k = i; k < end; k += lanes) sum += logits[k] = expf(logits[k] - largest);
        for (int64_t k = i; k < end; k += lanes) logits[k] = logits[k] / sum - (float)(k == label);
        double own = logf(sum) - below;
        if (losses) losses[i] = own;
        loss += own;
    }
    return loss;
}
#endif
