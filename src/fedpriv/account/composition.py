"""Bounds on ε of many releases, whose losses on a grid are composed by fast Fourier transform.

What rounding can have done to a transform is bounded, and ε is found for a δ that differs by as much. Where
that is no small part of δ the losses are tilted: weighed with exp(t·loss), which makes those that decide δ
the usual ones, so that rounding is small beside them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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

# Cells of a composition that are looked at together, from the top: ε is found in the first blocks.
BLOCK = 1 << 13

# Rounding that takes a larger share of δ than this calls for tilting. Of a δ this small it always does.
SHARE, SMALL = 1e-3, 1e-9

# Where other rounding may take a larger share of δ than this nothing is certified.
MOST_RELATIVE = 0.5


@dataclass(frozen=True)
class Composed:
    """The loss of all releases, on multiples of `width` from `first`·`width` on; tilted as each was."""

    width: float
    first: int
    mass: np.ndarray
    tilt: float
    log_scale: float
    infinite: float
    off: float  # what the transforms may have moved a δ, under the tilted measure
    relative: float  # what rounding may have taken from any δ, of it

    @property
    def highest(self) -> np.ndarray:
        """Return the last point, in units of `width`, `[1]`."""
        return np.array([self.first + len(self.mass) - 1])

    def scale(self, cells: np.ndarray) -> np.ndarray:
        """Return what probabilities at these points are multiplied with to undo the tilt.

        Where it is no float a transform says nothing: what it is off by, times that, is more than any δ.
        """
        if not self.tilt:
            return np.full(len(cells), np.exp(min(self.log_scale, 600.0)))
        return np.exp((self.log_scale - self.tilt * self.width * cells).clip(max=600.0))

    def moved(self, epsilon: float) -> float:
        """Return what the transforms may have moved δ(ε)."""
        undone = self.log_scale - self.tilt * epsilon if self.tilt else 0.0
        return self.off * math.exp(min(undone, 600.0))


def upper(run: Run, delta: float) -> float:
    """Return an upper bound on ε: infinite where rounding leaves none, or where there are too many cells."""

    def found(run: Run) -> tuple[float, float]:
        one = _transformed(run)
        if one is None or one.relative > MOST_RELATIVE:
            return math.inf, math.inf
        escaped = one.infinite + TAIL * float(one.scale(one.highest)[0])
        crossing = _crossing(one, escaped, lambda scale: (delta - one.off * scale) / (1 + 2 * one.relative))
        epsilon = max(0.0, one.first * one.width, crossing)
        return epsilon, one.moved(epsilon) / delta

    return min(_attempts(run, delta, found))


def lower(run: Run, delta: float) -> float:
    """Return a lower bound on ε: 0 where rounding leaves none, or where there are too many cells."""

    def found(run: Run) -> tuple[float, float]:
        one = _transformed(run)
        if one is None or one.relative > MOST_RELATIVE:
            return 0.0, math.inf
        # A transform is circular: what lies beyond either end comes in at the other one.
        off = one.off + 2 * TAIL / (1 + one.tilt)
        crossing = _crossing(one, 0.0, lambda scale: (delta + off * scale) / (1 - one.relative))
        epsilon = max(0.0, crossing)
        return epsilon, one.moved(epsilon) / delta

    return max(_attempts(run, delta, found))


def _attempts(run: Run, delta: float, found: Callable[[Run], tuple[float, float]]) -> Iterator[float]:
    """Yield bounds on ε of the releases as they are, and tilted; `found` gives one and its share of rounding.

    Chernoff's bound on ε is least at the first tilt; at the second one rounding is, at the ε of the first.
    """
    if delta > SMALL:
        epsilon, share = found(run)
        yield epsilon
        if share <= SHARE:
            return
    tilts, moments = run[0][0].tilts, _moments(run)[1]
    tilt = float(tilts[((moments - math.log(delta)) / tilts).argmin()])
    epsilon, share = found([(one.tilted(tilt), count) for one, count in run])
    yield epsilon
    if SHARE < share < math.inf:
        weights = np.log([_weight(one, run[0][0].width) for one in tilts.tolist()])
        again = float(tilts[(moments - tilts * epsilon + weights).argmin()])
        if again != tilt:
            yield found([(one.tilted(again), count) for one, count in run])[0]


def _moments(run: Run) -> np.ndarray:
    return sum((count * one.log_moments for one, count in run[1:]), run[0][1] * run[0][0].log_moments)


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
        mass = one.mass
        if len(mass) > size:  # folded, for a transform is circular
            mass = np.pad(mass, (0, -len(mass) % size)).reshape(-1, size).sum(axis=0)
        spectrum *= _power(np.fft.rfft(mass, size), count)
    mass = np.roll(np.fft.irfft(spectrum, size), (start - first) % size)
    # Each number f of a transform, at most 1, is off by so much for each of its steps. A power f^n is off by
    # n·f^(n−1) times that, which is at most 2n·f^n + 1; a product of powers by no more.
    moved = ROUNDING * math.log2(size) * float(total * np.linalg.norm(mass) + np.linalg.norm(spectrum))
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
        float(moved * min(math.sqrt(size), _weight(tilt, width))),
        relative,
    )


def _weight(tilt: float, width: float) -> float:
    """Return a bound on the norm of what the cells from an ε on count for in its δ: e^-tx·(1 − e^-x).

    The sum of its squares over a grid is at most that of an integral and its largest value.
    """
    if not tilt:
        return math.inf
    integral = 2 / (2 * tilt * (2 * tilt + 1) * (2 * tilt + 2))
    return math.sqrt(integral / width + 1 / (1 + tilt) ** 2)


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Return `base` to a power, 1 or more, by squaring: from 100 on NumPy's own takes ten times as long."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    found = half * half
    return np.multiply(found, base, out=found) if exponent % 2 else found


def _crossing(found: Composed, escaped: float, allowed: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the largest ε whose δ exceeds what is `allowed` at the scale of the losses; −∞ if none does."""
    from scipy.signal import lfilter  # takes longest to import

    # δ at a point is e^-width of that at the next higher one and 1 − e^-width of what is above.
    gain = -math.expm1(-found.width)
    above, state = 0.0, np.zeros(1)
    for stop in range(len(found.mass), 0, -BLOCK):
        start = max(0, stop - BLOCK)
        cells = found.first + np.arange(stop - 1, start - 1, -1)
        scale = found.scale(cells)
        from_top = found.mass[start:stop][::-1] * scale
        through = np.cumsum(np.concatenate([[above], from_top]))[1:]
        over = through - from_top  # P[loss > ε] without what has escaped
        delta, state = cast(tuple[np.ndarray, np.ndarray], lfilter([gain], [1.0, gain - 1], over, zi=state))
        at_most = allowed(scale)
        exceeds = np.flatnonzero(escaped + delta > at_most)
        if len(exceeds):
            cell = exceeds[0]
            if cell == 0 and stop == len(found.mass):
                return math.inf
            with np.errstate(divide="ignore", invalid="ignore"):  # of no mass but rounding
                further = np.log1p((escaped + delta[cell] - at_most[cell]) / (over[cell] - delta[cell]))
            return float(cells[cell] * found.width + np.fmin(further, found.width))
        above = through[-1]
    return -math.inf
