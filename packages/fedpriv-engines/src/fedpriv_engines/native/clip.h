/* How much of an example's gradient counts where gradients are clipped one by one. */
#ifndef CLIP_H
#define CLIP_H
#include <math.h>
#include <stdint.h>

/* Return what brings a gradient of this norm down to `clip`: 1 where it is below or where `clip` is 0, and 0
 * where it is not finite. */
static inline float share_within(double norm, double clip, int64_t *clipped) {
    if (clip <= 0) return 1;
    if (!isfinite(norm)) return 0;
    /* Shrunk by more than what rounding may have taken from the norm. */
    int over = norm * (1 + 1e-6) > clip;
    *clipped += over;
    return (float)(over ? clip / norm * (1 - 2e-6) : 1);
}
#endif
