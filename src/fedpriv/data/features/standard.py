"""Features on one scale: what a clipped and noised linear head sees differs as images do, not as units do."""

import numpy as np

# Of the median spread, or of the largest where most features never vary: what hardly varies is not blown up.
LEAST_SPREAD = 1e-3


def standardised(
    features: np.ndarray, plain: np.ndarray, length: float = 1.0, reach: float = np.inf
) -> np.ndarray:
    """Return `features` `[n, f]` with the mean and spread of `plain` `[m, f]` taken out, float16.

    Afterwards the root mean square of the norms of the rows of `plain` is `length`, a power of two, or less
    where values are cut: none is more than `reach` spreads from its mean. The statistics are those of
    training images and are used without noise, as those of a calibrated backbone are: no ε pays for them.
    """
    known = plain.astype(np.float32)
    mean, spread = known.mean(axis=0), known.std(axis=0)
    least = LEAST_SPREAD * (np.median(spread) or spread.max() or 1.0)
    scale = 1 / (np.maximum(spread, least) * np.sqrt(known.shape[1]))
    most = reach / known.shape[1] ** 0.5
    found = np.empty(features.shape, np.float16)
    for start in range(0, len(features), 1024):  # so that float32 copies stay small
        moved = (features[start : start + 1024].astype(np.float32) - mean) * scale
        found[start : start + 1024] = moved.clip(-most, most)
    found *= np.float16(length)  # nothing is rounded again
    return found
