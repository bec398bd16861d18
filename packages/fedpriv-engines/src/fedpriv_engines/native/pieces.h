/* Memory of a call: one block, handed out in aligned pieces; lanes in whole vectors. */
#ifndef PIECES_H
#define PIECES_H
#include <stdlib.h>

#include "vectors.h"

static inline int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }

/* Return how many lanes n numbers take in whole vectors. */
static inline int64_t whole_vectors(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Return the next piece of a block; with a null block only count. */
static void *next_piece(char *block, size_t *used, size_t bytes) {
    void *piece = block ? block + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return piece;
}
#endif
