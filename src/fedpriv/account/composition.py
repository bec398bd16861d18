"""Bounds on ε of many releases, whose losses on a grid are composed by fast Fourier transform.

What rounding can have done to a transform is bounded, and ε is found for a δ that differs by as much. Where
that is no small part of δ the losses are tilted: weighed with exp(t·loss), which makes those that decide δ the
usual ones, so that rounding is small beside them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.fft import next_fast_len

from fedpriv.account.loss import ROUNDING, Loss

# So many releases of each loss, of one direction and one width.
Run = Sequence[tuple[Loss, int]]

# What each tail of a composition may hold beyond what is looked at.
TAIL = 5e-16

# Cells of the longest array that is worked on.
MOST_CELLS = 1 << 20

# Rounding that takes a larger share of δ than this calls for tilting; from a δ as small as this it always does.
SHARE, SMALL = 1e-3, 1e-9


@dataclass(frozen=True)
class Composed:
    """The loss of all releases, on multiples of `width` from `first`·`width` on; tilted as each of them was."""

    width: float
    first: int
    mass: np.ndarray
    tilt: float
    log_scale: float
    infinite: float
    off: float  # what the transforms may have moved, under the tilted measure
    relative: float  # what rounding may have taken from any δ, of it

    def scale(self, cells: np.ndarray) -> np.ndarray:
        """Return what probabilities at these points are multiplied with to undo the tilt.

        Where it is no float a transform says nothing: what it is off by, times that, is more than any δ.
        """
        return np.exp((self.log_scale - self.tilt * self.width * cells).clip(max=600.0))


def upper(run: Run, delta: float) -> float:
    """Return an upper bound on ε: infinite where rounding leaves none, or where there are too many cells."""
    found = _composed(run, delta)
    if found is None or found.relative > 0.5:
        return math.inf
    end = found.scale(np.array([found.first + len(found.mass) - 1.0]))
    escaped = found.infinite + TAIL * float(end[0])
    crossing = _crossing(found, escaped, lambda scale: (delta - found.off * scale) / (1 + 2 * found.relative))
    return max(0.0, found.first * found.width, crossing)


def lower(run: Run, delta: float) -> float:
    """Return a lower bound on ε: 0 where rounding leaves none, or where there are too many cells."""
    found = _composed(run, delta)
    if found is None or found.relative > 0.5:
        return 0.0
    # A transform is circular: what lies beyond either end comes in at the other one.
    off = found.off + 2 * TAIL
    return max(0.0, _crossing(found, 0.0, lambda scale: (delta + off * scale) / (1 - found.relative)))


def _composed(run: Run, delta: float) -> Composed | None:
    if delta > SMALL:
        found = _transformed(run)
        if found is None or found.off <= SHARE * delta:
            return found
    exponents = (_moments(run)[1] - math.log(delta)) / run[0][0].tilts
    tilt = float(run[0][0].tilts[exponents.argmin()])
    return _transformed([(one.tilted(tilt), count) for one, count in run])


def _moments(run: Run) -> np.ndarray:
    return np.sum([count * one.log_moments for one, count in run], axis=0)


def _transformed(run: Run) -> Composed | None:
    """Return the composition, none where it has too many cells."""
    width, tilt, total = run[0][0].width, run[0][0].tilt, sum(count for _, count in run)
    low, high = ((_moments(run) - np.log(TAIL)) / run[0][0].tilts).min(axis=1)
    start = sum(count * one.low for one, count in run)
    end = start + sum(count * (len(one.mass) - 1) for one, count in run)
    first, last = max(start, math.floor(-low / width)), min(end, math.ceil(high / width))
    if not 0 <= last - first < MOST_CELLS:
        return None
    size = cast(int, next_fast_len(last - first + 1, real=True))
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for one, count in run:
        folded = np.pad(one.mass, (0, -len(one.mass) % size)).reshape(-1, size).sum(axis=0)
        spectrum *= _power(np.fft.rfft(folded), count)
    mass = np.roll(np.fft.irfft(spectrum, size), (start - first) % size)
    # Each number f of a transform is off by so much for each of its steps, of the 1 that it is at most; a product of
    # n of them by n times that where they are large, Σ n·f^(n−1) being at most 2n·f^n + 1.
    steps = math.log2(size) * math.sqrt(size)
    moved = ROUNDING * steps * float(total * np.linalg.norm(mass) + np.linalg.norm(spectrum))
    # All else has a share in each δ: releases, weights that undo the tilt, sums from the top.
    farthest = max(abs(first), abs(first + size)) * width
    relative = sum(count * one.uncertain for one, count in run)
    relative += ROUNDING * (tilt * farthest + size + 1 / width)
    return Composed(
        width,
        first,
        mass,
        tilt,
        sum(count * one.log_scale for one, count in run),
        -math.expm1(sum(count * math.log1p(-one.infinite) for one, count in run)),
        moved / (1 + tilt),  # e^-tx·(1 − e^-x) is at most that
        relative,
    )


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Return `base` to a power, 1 or more, by squaring: from 100 on NumPy's own takes ten times as long."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def _crossing(found: Composed, escaped: float, allowed: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the largest ε on the grid whose δ exceeds what is `allowed` at the scale of its losses; −∞ if none does."""
    from scipy.signal import lfilter  # takes longest to import

    cells = found.first + np.arange(len(found.mass))[::-1]
    scale = found.scale(cells)
    from_top = found.mass[::-1] * scale
    over = np.cumsum(from_top) - from_top  # P[loss > ε] without what has escaped
    # δ at a point is that at the next higher one times e^-width, and 1 − e^-width of what is above: no difference.
    gain = -math.expm1(-found.width)
    delta = lfilter([gain], [1.0, gain - 1], over)
    at_most = allowed(scale)
    exceeds = np.flatnonzero(escaped + delta > at_most)
    if not len(exceeds):
        return -math.inf
    if exceeds[0] == 0:
        return math.inf
    cell = exceeds[0]
    with np.errstate(divide="ignore", invalid="ignore"):  # of no mass but rounding
        further = np.log1p((escaped + delta[cell] - at_most[cell]) / (over[cell] - delta[cell]))
    return float(cells[cell] * found.width + np.fmin(further, found.width))
