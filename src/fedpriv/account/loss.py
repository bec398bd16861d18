"""Privacy loss distributions of the Poisson-subsampled Gaussian on a grid of losses, and their composition.

Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, "Connect the dots: tighter discrete approximations of
privacy loss distributions", as in dp-accounting, with whole arrays instead of loops. On a grid every δ(ε)
lies on a chord above the exact one, so composed δ are too small by rounding alone. What that can have taken
is bounded, and ε is found for a δ that is smaller by as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import log_ndtr

# Standard deviations of the noise beyond which an outcome counts as revealing everything: e^-50 of them.
REACH = 9.75

# What each tail of a composition may hold beyond what is looked at; it counts as revealing everything.
TAIL = 5e-16

# Cells of the longest array that is worked on.
MOST_CELLS = 1 << 20

# How far rounding may move one δ of one release, or one number in one step of a Fourier transform.
ROUNDING = 4 * np.finfo(np.float64).eps

# Exponents at which tails are bounded, per unit of loss: each is twice the last but one.
TILTS = 1e-4 * np.sqrt(2.0) ** np.arange(54)


def reach(rate: float, multiplier: float) -> tuple[float, float]:
    """Return the least and the largest loss of one release that are told apart, of removing a client."""
    top = 1 / (2 * multiplier**2) + REACH / multiplier
    return _subsampled(rate, -top), _subsampled(rate, top)


class Loss:
    """The loss of one release on multiples of `width`, in one of the two directions of add/remove."""

    def __init__(self, rate: float, multiplier: float, width: float, added: bool):
        low, high = reach(rate, multiplier)
        if added:
            low, high = -high, -low
        self.width = width
        self.range = high - low
        self.low = int(np.floor(low / width))
        self.losses = np.arange(self.low, int(np.ceil(high / width)) + 1) * width
        delta = hockey_stick(rate, multiplier, self.losses, added)
        # Mass between two points goes to both, so that it is kept under either neighbour. Rounding makes some
        # of it negative; without that it would grow with every composition.
        upper = -np.diff(delta) / -np.expm1(-width)
        self.mass = np.concatenate([[1 - delta[0]], upper])
        self.mass[:-1] -= upper * np.exp(-width)
        self.infinite = float(delta[-1])

    @cached_property
    def log_moments(self) -> np.ndarray:
        """Return log E exp(t·loss) for every t in −TILTS and TILTS, `[2, tilts]`, rounded up."""
        some = self.mass > 0
        mass, losses = self.mass[some], self.losses[some]
        found = np.empty((2, len(TILTS)))
        for row, signed in enumerate((-losses, losses)):
            largest = signed.max()
            powers = [np.exp(tilt * (signed - largest)) for tilt in TILTS[:2]]
            for column in range(len(TILTS)):
                power = powers[column % 2]
                found[row, column] = np.log(power @ mass)
                np.square(power, out=power)  # which doubles its relative error
            found[row] += TILTS * largest
        farthest = float(np.abs(losses).max())
        return found + 8 * ROUNDING * (1 + TILTS * (1 / TILTS[0] + farthest))


def epsilon(run: Sequence[tuple[Loss, int]], delta: float) -> float:
    """Return an upper bound on ε of so many releases of each loss, of one direction and one width.

    It is infinite where rounding could hide half of δ, or where there are too many cells.
    """
    width, total = run[0][0].width, sum(count for _, count in run)
    moments = np.sum([count * one.log_moments for one, count in run], axis=0)
    low, high = ((moments - np.log(TAIL)) / TILTS).min(axis=1)
    start = sum(count * one.low for one, count in run)
    end = start + sum(count * (len(one.mass) - 1) for one, count in run)
    first, last = max(start, math.floor(-low / width)), min(end, math.ceil(high / width))
    if not 0 <= last - first < MOST_CELLS:
        return math.inf
    size = cast(int, next_fast_len(last - first + 1, real=True))
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for one, count in run:
        folded = np.pad(one.mass, (0, -len(one.mass) % size)).reshape(-1, size).sum(axis=0)
        spectrum *= _power(np.fft.rfft(folded), count)
    mass = np.roll(np.fft.irfft(spectrum, size), (start - first) % size)
    escaped = 2 * TAIL - math.expm1(sum(count * math.log1p(-one.infinite) for one, count in run))
    # Each number of a transform is off by so much for each of its steps, and a power of it by so many times.
    steps = math.log2(size) * math.sqrt(size)
    taken = steps * (total * np.linalg.norm(mass) + np.linalg.norm(spectrum))
    taken += sum(count * (1 + one.range) for one, count in run)
    allowed = delta - ROUNDING * float(taken)
    return _least(mass, first * width, width, escaped, allowed) if allowed > delta / 2 else math.inf


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Return `base` to a power, 1 or more, by squaring: from 100 on NumPy's own takes ten times as long."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def _least(mass: np.ndarray, lowest: float, width: float, escaped: float, delta: float) -> float:
    """Return the least ε ≥ 0 at which the hockey-stick divergence of `mass` on a grid is at most δ."""
    from scipy.signal import lfilter  # takes longest to import

    from_top = mass[::-1]
    upper = escaped + np.cumsum(from_top) - from_top
    # The same mass under the neighbour, in units of e^-loss where it is held against.
    fall = np.exp(-width)
    lower = lfilter([0.0, fall], [1.0, -fall], from_top)
    above = np.flatnonzero(upper - lower > delta)
    if not len(above):
        return max(0.0, lowest)
    if above[0] == 0:
        return np.inf
    cell = above[0]
    loss = lowest + (len(mass) - 1 - cell) * width
    with np.errstate(divide="ignore", invalid="ignore"):  # of no mass but rounding
        further = np.fmin(np.log((upper[cell] - delta) / lower[cell]), width)
    return max(0.0, loss + float(further))


def _subsampled(rate: float, loss: float) -> float:
    """Return log(1 − q + q e^loss)."""
    with np.errstate(divide="ignore"):
        return float(np.logaddexp(np.log1p(-rate), np.log(rate) + loss))


def hockey_stick(rate: float, multiplier: float, epsilon: np.ndarray, added: bool) -> np.ndarray:
    """Return δ(ε) of one release, accurate to its last digits however small q is; ε may be negative.

    Amplification by sampling in closed form: δ(ε) = q·δ'(log(1 + (e^ε − 1)/q)) of the whole Gaussian δ' if a
    client is removed, and much the same if one is added.
    """
    sign = 1.0 if not added else -1.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inner = -(1 - rate) * np.expm1(-sign * epsilon) / rate
        inside = inner > -1  # elsewhere one of the densities is larger throughout
        loss = epsilon + sign * np.log1p(np.where(inside, inner, 0.0))
        if added:
            share, outside = rate * (1 + inner), 0.0
        else:
            share, outside = rate, -np.expm1(epsilon)
        return np.where(inside, share * _gaussian(multiplier, loss), outside).clip(0.0, 1.0)


def _gaussian(multiplier: float, epsilon: np.ndarray) -> np.ndarray:
    shift = 1 / (2 * multiplier)
    log_upper, log_lower = (log_ndtr(one - epsilon * multiplier) for one in (shift, -shift))
    return -np.exp(log_upper) * np.expm1(np.minimum(epsilon + log_lower - log_upper, 0.0))
