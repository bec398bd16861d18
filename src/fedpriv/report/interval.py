"""Mean and 95 % interval over seeds: the one statistic of every table, figure and claim."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
METHOD = "mean ± half-width of the 95 % Student-t interval over seeds"


class Interval(NamedTuple):
    """A mean over `n` seeds and its interval; one seed, or an infinite mean, has none (NaN ends)."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


def interval(values: Iterable[float]) -> Interval:
    """Return the mean of `values` and its Student-t interval; a NaN among them makes all of it NaN."""
    sample = np.asarray(list(values), dtype=float)
    if not len(sample) or np.isnan(sample).any():
        return Interval(np.nan, np.nan, np.nan, len(sample))
    mean = float(sample.mean())
    if len(sample) == 1 or np.isinf(mean):
        return Interval(mean, np.nan, np.nan, len(sample))
    from scipy.stats import t

    half = float(t.ppf((1 + LEVEL) / 2, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample)))
    return Interval(mean, mean - half, mean + half, len(sample))
