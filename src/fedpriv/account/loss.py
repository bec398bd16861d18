"""The privacy loss of one release of the Poisson-subsampled Gaussian, on a grid.

`loss_from_above` lays a chord over the exact δ(ε) between two points of the grid: Doroshenko, Ghazi, Kamath,
Kumar, Manurangsi 2022, "Connect the dots: tighter discrete approximations of privacy loss distributions", as
in dp-accounting, with whole arrays instead of loops. The bounds from below are for audits. `loss_from_below`
stays under the exact δ(ε) everywhere: on either side of each point it is at most what a likelihood-ratio test
midway to the next point achieves. `replacement_loss_from_below` is of a unit that is replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import erfcx, log_ndtr

# Standard deviations of the noise beyond which an outcome counts as revealing everything: e^-50 of them.
REACH = 9.75

# Exponents at which tails are bounded, per unit of loss: each is twice the last but one. On grids finer than
# `FINE` they are larger by as much as the grid is finer.
TILTS = 1e-4 * np.sqrt(2.0) ** np.arange(54)
FINE = 1e-4

# How far rounding may move a function of one number, of its value; or a number in one step of a transform.
ROUNDING = 4 * np.finfo(np.float64).eps

# Cells that hold less have no part in log-moments: a composition of any length holds next to nothing of them.
LEAST_MASS = 1e-100

# From this multiplier on a divergence is a series in its inverse: differences of tails lose their digits.
SMOOTH = 100.0

# Of cells that are told together: how far their loss may be below the point that they count as, in widths.
NEARLY = 0.01

# Lower bounds count larger losses as this: their exponentials are no floats.
LARGEST_LOSS = 600.0


def loss_range(rate: float, multiplier: float) -> tuple[float, float]:
    """Return the least and the largest loss of one release that are told apart, of removing a client."""
    top = 1 / (2 * multiplier**2) + REACH / multiplier
    return _subsampled(rate, -top), _subsampled(rate, top)


@dataclass(frozen=True)
class PrivacyLoss:
    """The loss of one release in one of the two directions of add/remove.

    `mass` lies on the multiples of `width` from `low`·`width` on, `infinite` beyond them all. Of a tilted
    loss it is that times exp(`tilt`·loss − `log_scale`), which sums to 1.
    """

    width: float
    low: int
    mass: np.ndarray
    infinite: float
    uncertain: float  # what rounding may have taken from any δ, of it
    tilt: float = 0.0
    log_scale: float = 0.0

    @property
    def losses(self) -> np.ndarray:
        """Return the losses that the mass lies on."""
        return np.arange(self.low, self.low + len(self.mass)) * self.width

    @property
    def tilts(self) -> np.ndarray:
        """Return the exponents at which log-moments are taken."""
        return TILTS * max(1.0, FINE / self.width)

    @cached_property
    def log_moments(self) -> np.ndarray:
        """Return log E exp(t·loss) for every t in −`tilts` and `tilts`, `[2, tilts]`, rounded up."""
        some, tilts = self.mass > LEAST_MASS, self.tilts
        mass, losses = self.mass[some], self.losses[some]
        moments = np.empty((2, len(tilts)))
        for row, signed in enumerate((-losses, losses)):
            largest = signed.max()
            powers = [np.exp(tilt * (signed - largest)) for tilt in tilts[:2]]
            for column in range(len(tilts)):
                power = powers[column % 2]
                moments[row, column] = np.log(power @ mass)
                np.square(power, out=power)  # which doubles its relative error
            moments[row] += tilts * largest
        farthest = float(np.abs(losses).max())
        return moments + 8 * ROUNDING * (1 + tilts * (1 / tilts[0] + farthest))

    def tilted(self, tilt: float) -> PrivacyLoss:
        """Return the loss under the measure that weighs each outcome with exp(tilt·loss)."""
        exponents = tilt * self.losses
        farthest = float(np.abs(exponents).max())
        with np.errstate(divide="ignore"):
            shift = float((exponents + np.log(np.abs(self.mass))).max())
        weighed = self.mass * np.exp((exponents - shift).clip(max=700.0))
        total = float(weighed.sum())
        if not total > 0:  # nothing but rounding has weight
            return replace(self, uncertain=math.inf)
        log_scale = shift + math.log(total)
        uncertain = self.uncertain + ROUNDING * (farthest + abs(log_scale))
        return replace(self, mass=weighed / total, uncertain=uncertain, tilt=tilt, log_scale=log_scale)


def loss_from_above(rate: float, multiplier: float, width: float, added: bool) -> PrivacyLoss:
    """Return a loss whose δ(ε) is nowhere below that of the release, and equal to it on the grid."""
    grid = _grid(rate, multiplier, width, added)
    return _on_chords(width, grid, hockey_stick(rate, multiplier, grid * width, added), multiplier)


def replacement_loss_from_above(rate: float, multiplier: float, width: float) -> PrivacyLoss:
    """Return the same of a cohort of a fixed size and a unit that is replaced, of which no pair costs more.

    `multiplier` is over how far apart two units may be. The proof: docs/accounting.md.
    """
    last = _grid(rate, multiplier, width, added=False)[-1]
    grid = np.arange(-last, last + 1)
    losses = grid * width
    delta = hockey_stick(rate, multiplier, np.abs(losses), added=False)
    # Whoever is replaced by whom: δ(−ε) of a pair is 1 − e^−ε + e^−ε·δ(ε) of the same pair, turned around.
    below = np.minimum(losses, 0.0)
    delta = np.where(grid < 0, -np.expm1(below) + np.exp(below) * delta, delta)
    return _on_chords(width, grid, delta, multiplier)


def _on_chords(width: float, grid: np.ndarray, delta: np.ndarray, multiplier: float) -> PrivacyLoss:
    """Return the loss whose δ(ε) is `delta` on the grid."""
    # δ is straight in e^ε between two points. What lies between them adds `upper` to the mass of the upper
    # one and takes as much from the lower one less what has fallen: it is kept under either neighbour.
    # Rounding makes some mass negative; without that it would grow with every composition.
    fallen = -np.diff(delta)
    upper = fallen / -np.expm1(-width)
    mass = np.concatenate([[1 - delta[0]], upper])
    mass[:-1] -= upper
    mass[:-1] += fallen
    return PrivacyLoss(width, int(grid[0]), mass, float(delta[-1]), _digits(multiplier, grid))


def loss_from_below(rate: float, multiplier: float, width: float, added: bool) -> PrivacyLoss:
    """Return a loss whose δ(ε) is nowhere above that of the release."""
    from scipy.optimize import isotonic_regression  # takes longest to import

    grid = _grid(rate, multiplier, width, added)
    grid = grid[np.abs(grid * width) < LARGEST_LOSS]
    losses, gain = grid * width, -np.expm1(-width)
    middle = losses[:-1] + width / 2
    # What each of these tests achieves at the points to its left and right.
    delta = hockey_stick(rate, multiplier, middle, added)
    other = _other_tail(rate, multiplier, middle, added)
    left, right = (delta - other * np.expm1(side) for side in (-width / 2, width / 2))
    # Where one is worse than never to accuse, whatever is above the right point counts as being there.
    worse = np.append(right[:-1] <= 0, True)
    ends = losses[1:][worse]
    tail = hockey_stick(rate, multiplier, ends, added) + _other_tail(rate, multiplier, ends, added)
    left[worse], right[worse] = tail * gain, 0.0
    # Left of them all is the test that always accuses.
    least = np.minimum(np.append(left, 0.0), np.append(-np.expm1(losses[0]), right))
    # The greatest convex minorant in e^ε, from 1 at 0 on: slopes that never fall.
    steps = np.exp(losses) * np.append(1.0, np.full(len(losses) - 1, gain))
    slopes = isotonic_regression(np.diff(least, prepend=1.0) / steps, weights=steps).x
    mass = np.diff(slopes, append=0.0) * np.exp(losses)
    return PrivacyLoss(width, int(grid[0]), mass, 0.0, _digits(multiplier, grid))


def replacement_loss_from_below(rate: float, multiplier: float, width: float) -> tuple[PrivacyLoss, float]:
    """Return a loss of one release whose unit sends the opposite, and by how much any of it may be too large.

    Both are mixtures, with mean C or −C where the unit is drawn. Outcomes between two losses midway on the
    grid are told together, which tells no more than each; where their own loss is too far below the point
    between, they count as the point before.
    """
    half = 1 / (2 * multiplier**2)
    far = (1 + REACH * multiplier) / multiplier**2
    farthest = _subsampled(rate, far - half) - _subsampled(rate, -far - half)
    last = max(1, int(farthest / width))
    borders = _seen_at(rate, multiplier, (np.arange(last + 1) + 0.5) * width) / multiplier
    # Beyond each border, of either mixture: what is nearer to the one is as far from the other.
    shift = 1 / multiplier
    none = (1 - rate) * np.exp(log_ndtr(-borders))
    near, far = (none + rate * np.exp(log_ndtr(side - borders)) for side in (shift, -shift))
    likely, other = -np.diff(near), -np.diff(far)
    points = np.arange(1, last + 1) * width
    with np.errstate(divide="ignore", invalid="ignore"):
        below = points - np.log(likely / other)
    below = np.where((other > 0) & (likely > 0), below, np.inf)
    # The mirrored cells are too low by as much.
    slack = NEARLY * width
    mass = np.zeros(2 * last + 2)  # from −last − 1 to last
    middle = last + 1
    mass[middle] = 1 - near[0] - far[0]
    place = np.arange(1, last + 1)
    np.add.at(mass, middle + place - (below > slack), likely)
    np.add.at(mass, middle - place - (-below > slack), other)
    return PrivacyLoss(width, -middle, mass, 0.0, _digits(multiplier, mass)), slack


def _seen_at(rate: float, multiplier: float, losses: np.ndarray) -> np.ndarray:
    """Return the outputs x with each of these losses, all above 0: the root of a quadratic in e^(x/z²)."""
    log_share = np.log(rate) - 1 / (2 * multiplier**2)
    with np.errstate(divide="ignore"):
        log_half = np.log1p(-rate) + losses + np.log(-np.expm1(-losses)) - np.log(2)
    log_root = np.logaddexp(2 * log_half, 2 * log_share + losses) / 2
    return multiplier**2 * (np.logaddexp(log_half, log_root) - log_share)


def _grid(rate: float, multiplier: float, width: float, added: bool) -> np.ndarray:
    low, high = loss_range(rate, multiplier)
    if added:
        low, high = -high, -low
    return np.arange(int(np.floor(low / width)), int(np.ceil(high / width)) + 1)


def _digits(multiplier: float, grid: np.ndarray) -> float:
    """Share of δ that rounding may take from it on a grid.

    Exponents in the tails are up to REACH², and points as far from 0 as there are cells. δ is a difference of
    tails that may be REACH·z times as large.
    """
    return ROUNDING * (1 + REACH**3 * min(max(multiplier, 1.0), SMOOTH) + len(grid))


def _subsampled(rate: float, loss: float) -> float:
    """Return log(1 − q + q e^loss)."""
    if loss < 1:
        with np.errstate(divide="ignore"):
            return float(np.log1p(rate * np.expm1(loss))) if rate < 1 else loss
    with np.errstate(divide="ignore"):
        return float(np.logaddexp(np.log1p(-rate), np.log(rate) + loss))


def hockey_stick(rate: float, multiplier: float, epsilon: np.ndarray, added: bool) -> np.ndarray:
    """Return δ(ε) of one release, accurate to its last digits however small q is; ε may be negative.

    Amplification by sampling in closed form: δ(ε) = q·δ'(log(1 + (e^ε − 1)/q)) of the whole Gaussian δ' if a
    client is removed, and much the same if one is added.
    """
    inner, inside, loss = _unsampled(rate, epsilon, added)
    with np.errstate(over="ignore", invalid="ignore"):
        if added:
            share, outside = rate * (1 + inner), 0.0
        else:
            share, outside = rate, -np.expm1(epsilon)
        return np.where(inside, share * _gaussian(multiplier, loss), outside).clip(0.0, 1.0)


def _unsampled(rate: float, epsilon: np.ndarray, added: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (e^loss − 1 as it is needed, where there is such a loss, the loss of the whole Gaussian)."""
    sign = 1.0 if not added else -1.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inner = -(1 - rate) * np.expm1(-sign * epsilon) / rate
        inside = inner > -1  # elsewhere one of the densities is larger throughout
        return inner, inside, epsilon + sign * np.log1p(np.where(inside, inner, 0.0))


def _other_tail(rate: float, multiplier: float, epsilon: np.ndarray, added: bool) -> np.ndarray:
    """Return e^ε·P[loss > ε] under the neighbour."""
    _, inside, loss = _unsampled(rate, epsilon, added)
    log_upper, log_lower = _tails(multiplier, np.where(inside, loss, np.inf if added else -np.inf))
    other = log_lower + epsilon
    if added:
        with np.errstate(divide="ignore"):
            other = np.logaddexp(np.log1p(-rate) + log_upper, np.log(rate) + log_lower) + epsilon
    return np.exp(other)


def _tails(multiplier: float, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log P[loss > ε] of the whole Gaussian, and under its neighbour."""
    shift = 1 / (2 * multiplier)
    return log_ndtr(shift - epsilon * multiplier), log_ndtr(-shift - epsilon * multiplier)


def _gaussian(multiplier: float, epsilon: np.ndarray) -> np.ndarray:
    log_upper, log_lower = _tails(multiplier, epsilon)
    delta = -np.exp(log_upper) * np.expm1(np.minimum(epsilon + log_lower - log_upper, 0.0))
    if multiplier < SMOOTH:
        return delta
    # With Mills' ratio R it is φ(x)·(R(x) − R(x + h)), h = 1/z, x = zε − h/2: the integral of 1 − y·R(y) from
    # x to x + h, by the values in its middle. Far below zero nothing cancels.
    step, y = 1 / multiplier, np.maximum(epsilon * multiplier, -4.0)
    mills = np.sqrt(np.pi / 2) * erfcx(y / np.sqrt(2))
    slopes = [1 - y * mills]
    slopes.append(y * slopes[0] - mills)
    for order in (2, 3, 4):
        slopes.append(order * slopes[-2] + y * slopes[-1])
    mean = slopes[0] + step**2 / 24 * slopes[2] + step**4 / 1920 * slopes[4]
    density = np.exp(-np.square(y - step / 2) / 2) / np.sqrt(2 * np.pi)
    return np.where(y > -4, density * step * mean, delta)
