"""Log-moments of very many distances: exact at some, between them an upper bound.

At every λ the log-moment is a convex function of s = Δ²/(2σ²), so a chord of it lies above it: what is read
off chords is never less than the exact value, and rises with s as that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from fedpriv.account.moments import LAMBDAS, log_moments_at

LogMoments = Callable[[np.ndarray], np.ndarray]  # s, of any shape -> [*shape, Λ]; NaN stays NaN

EXACT = 5_000  # up to so many distances each is evaluated
STRIDE = 16.0  # chords lie between powers of it
LOWEST = -16  # below this power of it all is negligible
REVEALED = STRIDE**64  # so large an s costs infinity, as no noise does
START = 256  # points that are laid out before cells are halved
TOLERANCE = 5e-5  # relative height of a chord over the middle of its cell; at most twice that elsewhere
NEGLIGIBLE = 1e-9  # a log-moment this small matters to no ε: a million of them cost 0.001


def log_moments(sampling_rate: float, scale: np.ndarray) -> LogMoments:
    """Return a function from s to log-moments, made for the values in `scale` (NaN: missing).

    Of few values it is exact. Of many it is never below the exact value nor more than 2·TOLERANCE above it,
    relative, but for NEGLIGIBLE. An infinite s (no noise) costs infinity.
    """
    proper = scale[(scale > 0) & (scale < REVEALED)]
    if proper.size <= EXACT:
        return lambda s: log_moments_at(sampling_rate, s, LAMBDAS)
    highest = math.ceil(math.log(proper.max(), STRIDE))
    return _on_chords(sampling_rate, max(LOWEST + 1, highest))


@lru_cache(maxsize=16)  # of 1 MB, at low rates of 30
def _on_chords(sampling_rate: float, highest: int) -> LogMoments:
    """Return what `log_moments` does, for values up to this power of STRIDE: the same for many runs."""
    low, high = STRIDE**LOWEST, STRIDE**highest
    curves = [
        _chords(lambda s, one=int(one): log_moments_at(sampling_rate, s, [one])[:, 0], low, high)
        for one in LAMBDAS
    ]
    # All orders on the points of all of them: the same chords, in one table.
    points = np.unique(np.concatenate([[0.0], *(points for points, _ in curves)]))
    table = np.stack([np.interp(points, [0.0, *curve[0]], [0.0, *curve[1]]) for curve in curves], axis=-1)
    slopes = np.diff(table, axis=0) / np.diff(points)[:, None]

    def read(s: np.ndarray) -> np.ndarray:
        cell = np.searchsorted(points[1:-1], s, side="left")
        found = slopes.take(cell, axis=0)
        found *= (s - points[cell])[..., None]
        found += table.take(cell, axis=0)
        found[s >= REVEALED] = np.inf
        return found

    return read


def _chords(
    exact: Callable[[np.ndarray], np.ndarray], low: float, high: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return points over [low, high] and the values there of the convex, rising function `exact`.

    Cells are halved until each chord is close at its middle. The height of a chord is concave: nowhere is it
    more than twice that in the middle.
    """
    points = np.geomspace(low, high, START)
    values = exact(points)
    cells = np.arange(len(points) - 1)  # those to be looked at, by the index of their left end
    while len(cells):
        middle = (points[cells] + points[cells + 1]) / 2
        there = exact(middle)
        height = (values[cells] + values[cells + 1]) / 2 - there
        split = height > TOLERANCE * values[cells] + NEGLIGIBLE / 2
        split &= (middle > points[cells]) & (middle < points[cells + 1])
        cells, middle, there = cells[split], middle[split], there[split]
        points = np.insert(points, cells + 1, middle)
        values = np.insert(values, cells + 1, there)
        left = cells + np.arange(len(cells))
        cells = np.stack([left, left + 1], axis=1).ravel()
    return points, values
