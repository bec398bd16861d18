"""Privacy loss distributions: the tightest of the three bounds.

The loss of one release of the Poisson-subsampled Gaussian is put on a grid. `above` lays a chord over the
exact δ(ε) between two points of the grid: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, "Connect the
dots: tighter discrete approximations of privacy loss distributions", as in dp-accounting, with whole
arrays instead of loops. `below` stays under the exact δ(ε) everywhere: on either side of each point it is
at most what a likelihood-ratio test midway to the next point achieves.

Many releases are composed by fast Fourier transform. What rounding can have done to a transform is
bounded, and ε is found for a δ that differs by as much. Where that is no small part of δ the losses are
tilted: weighed with exp(t·loss), which makes those that decide δ the usual ones, so that rounding is
small beside them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import erfcx, log_ndtr

from fedpriv.account import moments, rdp
from fedpriv.account.spend import Curve
from fedpriv.account.views import Mechanism, planned_mechanism

if TYPE_CHECKING:
    from fedpriv.account.views import View


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
        found = np.empty((2, len(tilts)))
        for row, signed in enumerate((-losses, losses)):
            largest = signed.max()
            powers = [np.exp(tilt * (signed - largest)) for tilt in tilts[:2]]
            for column in range(len(tilts)):
                power = powers[column % 2]
                found[row, column] = np.log(power @ mass)
                np.square(power, out=power)  # which doubles its relative error
            found[row] += tilts * largest
        farthest = float(np.abs(losses).max())
        return found + 8 * ROUNDING * (1 + tilts * (1 / tilts[0] + farthest))

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
    delta = hockey_stick(rate, multiplier, grid * width, added)
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
    found = -np.exp(log_upper) * np.expm1(np.minimum(epsilon + log_lower - log_upper, 0.0))
    if multiplier < SMOOTH:
        return found
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
    return np.where(y > -4, density * step * mean, found)


# So many releases of each loss, of one direction and one width.
Run = Sequence[tuple[PrivacyLoss, int]]

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
        """Factors of the probabilities at these points that undo the tilt.

        Where it is no float a transform says nothing: what it is off by, times that, is more than any δ.
        """
        if not self.tilt:
            return np.full(len(cells), np.exp(min(self.log_scale, 600.0)))
        return np.exp((self.log_scale - self.tilt * self.width * cells).clip(max=600.0))

    def moved(self, epsilon: float) -> float:
        """Bound on how far the transforms have moved δ(ε)."""
        undone = self.log_scale - self.tilt * epsilon if self.tilt else 0.0
        return self.off * math.exp(min(undone, 600.0))


def upper_epsilon(run: Run, delta: float) -> float:
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


def lower_epsilon(run: Run, delta: float) -> float:
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


# The loss of one release, of removing a client and of adding one.
Losses = dict[Mechanism, tuple[PrivacyLoss, PrivacyLoss]]

# Losses are rounded to multiples of an interval: 1e-4, coarser where ε or the loss of one release is so large
# that the cells would not fit, finer where fewer than these would go into a usual loss. The rounding makes ε
# larger, by a few intervals at most.
FINEST = 1e-4
CELLS = 50_000  # per ε, of single values and of the last round of a curve
CURVE_CELLS = 5_000  # per ε, of the rounds before it
RESOLVED = 10.0

# Standard deviations of all losses together that are looked at, at least. Where it is so much more that the
# cells do not fit, intervals are taken that are larger by these.
SPREADS = 20.0
COARSER = (1, 4, 16)

# Where losses would be rounded to more than this nobody has a use for ε: a curve is left out.
WIDEST = 100.0

# More noise and smaller rates count as these, which cost more, but next to nothing. With less noise than this
# losses are beyond all use.
MOST_NOISE, LEAST_NOISE, LEAST_RATE = 1e9, 1e-50, 1e-12

# A curve is evaluated at each of the first rounds, then at steps of this ratio, and at the last round.
EACH_ROUND_UNTIL = 20
STEP = 1.1

# More distinct mechanisms than this have no curve: each is a loss distribution of its own, and all of them
# are composed at every evaluated round.
MOST_MECHANISMS = 8


def interval(
    mechanisms: Sequence[Mechanism], times: Sequence[int], delta: float, sensitivity: str, cells: int
) -> float:
    """Return the interval that spreads `cells` over ε, whose scale the moments accountant tells.

    It is larger where one release would need more than half of the cells that there may be, or all of them
    more than there may be, and smaller where a usual loss would be few intervals.
    """
    cost, widest = np.zeros(len(moments.LAMBDAS)), 0.0
    for mechanism, count in zip(mechanisms, times, strict=True):
        if mechanism.noise_multiplier > 0:
            rate, noise = _counted_as(mechanism, sensitivity)
            if noise < LEAST_NOISE:
                return np.inf
            cost += count * moments.log_moment(rate, noise)
            low, high = loss_range(rate, noise)
            widest = max(widest, high - low)
    # The square of a loss is about e^moment − 1 on average.
    usual = math.sqrt(math.expm1(min(cost[0] / max(1, sum(times)), 700.0)))
    spread = math.sqrt(cost[0])
    wanted = min(max(FINEST, float(moments.best(cost, delta)[0]) / cells), usual / RESOLVED)
    return max(wanted, max(2 * widest, SPREADS * spread) / MOST_CELLS)


def epsilon(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours.

    It is that of `rdp` where rounding leaves nothing better to be certified: of very many rounds or a tiny δ.
    """
    plan = {"sampling_rate": sampling_rate, "noise_multiplier": noise_multiplier}
    found = _epsilon([planned_mechanism(**plan)], [rounds], delta, "C")
    return min(found, rdp.epsilon(**plan, rounds=rounds, delta=delta))


def evaluation_rounds(rounds: int) -> list[int]:
    """Return the rounds at which a curve over `rounds` is evaluated, ascending, the last among them."""
    found = list(range(1, min(rounds, EACH_ROUND_UNTIL) + 1))
    while found[-1] < rounds:
        found.append(min(rounds, int(found[-1] * STEP)))
    return found


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C; nothing for `fixed` or `seen` samples.

    Nor for many mechanisms.

    A sensitivity whose ε is beyond all use (`WIDEST`) is left out.
    There is no loss distribution here for sampling without replacement, or seen. Between the `evaluated`
    rounds a curve carries the value of the next one, which is larger: ε never falls from round to round.
    """
    if view.law in ("fixed", "seen") or len(view.mechanisms) > MOST_MECHANISMS:
        return []
    # As in rdp.py: add/remove at twice the sensitivity bounds replaced clients.
    found = (_curve(view, delta, sensitivity) for sensitivity in view.relations)
    return [curve for curve in found if curve]


def _epsilon(mechanisms: Sequence[Mechanism], times: Sequence[int], delta: float, sensitivity: str) -> float:
    run = {one: count for one, count in zip(mechanisms, times, strict=True) if count}
    if not run:
        return 0.0
    if any(one.noise_multiplier == 0 for one in run):
        return np.inf
    run = _together(run)
    width = interval(list(run), list(run.values()), delta, sensitivity, CELLS)
    for wider in (width * coarser for coarser in COARSER):
        found = _composed(_losses(run, wider, sensitivity), run, delta) if wider <= WIDEST else np.inf
        if found < np.inf:
            return found
    return np.inf


def _together(run: Mapping[Mechanism, int]) -> dict[Mechanism, int]:
    """Return releases with all whole Gaussians among them as the single one that they amount to."""
    whole = {one: count for one, count in run.items() if one.sampling_rate == 1}
    if not whole:
        return dict(run)
    apart = {one: count for one, count in run.items() if one not in whole}
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        seen = sum(count * np.float64(one.noise_multiplier) ** -2.0 for one, count in whole.items())
        alone = planned_mechanism(1.0, float(np.float64(seen) ** -0.5))
    return apart | {alone: 1}


def _counted_as(mechanism: Mechanism, sensitivity: str) -> tuple[float, float]:
    return max(mechanism.sampling_rate, LEAST_RATE), min(mechanism.multiplier(sensitivity), MOST_NOISE)


def _losses(mechanisms: Iterable[Mechanism], width: float, sensitivity: str) -> Losses:
    """Return the loss of one release of each mechanism when a client is removed, and when one is added."""
    found: Losses = {}
    for one in mechanisms:
        rate, noise = _counted_as(one, sensitivity)
        found[one] = (
            loss_from_above(rate, noise, width, added=False),
            loss_from_above(rate, noise, width, added=True),
        )
    return found


def _composed(once: Losses, run: Mapping[Mechanism, int], delta: float) -> float:
    return max(upper_epsilon([(once[one][way], run[one]) for one in run], delta) for way in (0, 1))


def _curve(view: View, delta: float, sensitivity: str) -> Curve | None:
    times = tuple(map(tuple, view.counts.cumsum(axis=0).tolist()))
    value = _epsilons(tuple(view.mechanisms), times, delta, sensitivity)
    if value is None:
        return None
    if np.isinf(value).any():  # there was no noise, or rounding leaves nothing better
        value = np.where(np.isinf(value), rdp.epsilons(view, delta, sensitivity)[0], value)
    return view.curve(value, np.full(len(value), np.nan), "pld", sensitivity)


@cache  # runs of one paper differ in their data more often than in their noise
def _epsilons(
    mechanisms: tuple[Mechanism, ...], done: tuple[tuple[int, ...], ...], delta: float, sensitivity: str
) -> np.ndarray | None:
    """Return ε after every round, in each of which so many releases were `done` of every mechanism."""
    width = interval(mechanisms, done[-1], delta, sensitivity, CURVE_CELLS)
    if not width <= WIDEST:
        return None
    once = _losses([one for one in mechanisms if one.noise_multiplier > 0], width, sensitivity)
    value = np.full(len(done), np.inf)
    for last in evaluation_rounds(len(done)):
        run = {one: count for one, count in zip(mechanisms, done[last - 1], strict=True) if count}
        if run.keys() - once.keys():
            break
        value[last - 1] = _composed(once, run, delta) if run else 0.0
    value[-1] = _epsilon(mechanisms, done[-1], delta, sensitivity)
    return np.minimum.accumulate(value[::-1])[::-1]
