"""Privacy loss distributions: the tightest of the three bounds.

Losses of one release (`fedpriv.account.loss`) are composed by fast Fourier transform. What rounding can have
done to a transform is bounded, and ε is found for a δ that differs by as much (`upper_epsilon`; for audits
`lower_epsilon`). Where that is no small part of δ the losses are tilted, weighed with exp(t·loss): that makes
those that decide δ the usual ones, so that rounding is small beside them too. The accountant (`epsilon`,
`curves`) takes a grid that fits ε. Of Poisson samples it has the worse of both directions of add/remove, of
samples of a fixed size the one loss that no replaced unit exceeds.

>>> round(epsilon(sampling_rate=0.01, noise_multiplier=1.0, rounds=1000, delta=1e-5), 2)
1.83
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.linalg import solve_banded

from fedpriv.account import moments, rdp
from fedpriv.account.loss import (
    ROUNDING,
    PrivacyLoss,
    loss_from_above,
    loss_range,
    replacement_loss_from_above,
)
from fedpriv.account.releases import Release, planned_release, planned_sensitivity
from fedpriv.account.statement import Curve

if TYPE_CHECKING:
    from fedpriv.account.views import View

# So many releases of each loss, of one direction and one width.
Releases = Sequence[tuple[PrivacyLoss, int]]

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


def upper_epsilon(releases: Releases, delta: float) -> float:
    """Return an upper bound on ε: infinite where rounding leaves none, or where there are too many cells."""
    return min(_attempts(releases, delta, _upper))


def lower_epsilon(releases: Releases, delta: float) -> float:
    """Return a lower bound on ε: 0 where rounding leaves none, or where there are too many cells."""
    return max(_attempts(releases, delta, _lower))


def _upper(releases: Releases, delta: float) -> tuple[float, float]:
    """Return an upper bound on ε, and the share of δ that the transforms may have moved there."""
    whole = _transformed(releases)
    if whole is None or whole.relative > MOST_RELATIVE:
        return math.inf, math.inf
    highest = np.array([whole.first + len(whole.mass) - 1])
    escaped = whole.infinite + TAIL * float(whole.scale(highest)[0])
    crossing = _crossing(whole, escaped, lambda scale: (delta - whole.off * scale) / (1 + 2 * whole.relative))
    epsilon = max(0.0, whole.first * whole.width, crossing)
    return epsilon, whole.moved(epsilon) / delta


def _lower(releases: Releases, delta: float) -> tuple[float, float]:
    """Return a lower bound on ε, and the share of δ that the transforms may have moved there."""
    whole = _transformed(releases)
    if whole is None or whole.relative > MOST_RELATIVE:
        return 0.0, math.inf
    # A transform is circular: what lies beyond either end comes in at the other one.
    off = whole.off + 2 * TAIL / (1 + whole.tilt)
    epsilon = max(0.0, _crossing(whole, 0.0, lambda scale: (delta + off * scale) / (1 - whole.relative)))
    return epsilon, whole.moved(epsilon) / delta


def _attempts(
    releases: Releases, delta: float, bound: Callable[[Releases, float], tuple[float, float]]
) -> Iterator[float]:
    """Yield bounds on ε of the releases as they are, and tilted.

    Chernoff's bound on ε is least at the first tilt; at the second one rounding is, at the ε of the first.
    """
    if delta > SMALL:
        epsilon, share = bound(releases, delta)
        yield epsilon
        if share <= SHARE:
            return
    tilts, moments = releases[0][0].tilts, _moments(releases)[1]
    tilt = float(tilts[((moments - math.log(delta)) / tilts).argmin()])
    epsilon, share = bound([(loss.tilted(tilt), count) for loss, count in releases], delta)
    yield epsilon
    if SHARE < share < math.inf:
        weights = np.log([_weight(exponent, releases[0][0].width) for exponent in tilts.tolist()])
        again = float(tilts[(moments - tilts * epsilon + weights).argmin()])
        if again != tilt:
            yield bound([(loss.tilted(again), count) for loss, count in releases], delta)[0]


def _moments(releases: Releases) -> np.ndarray:
    (first, times), *others = releases
    return sum((count * loss.log_moments for loss, count in others), times * first.log_moments)


def _transformed(releases: Releases) -> Composed | None:
    """Return the composition, none where it has too many cells."""
    width, tilt, total = releases[0][0].width, releases[0][0].tilt, sum(count for _, count in releases)
    low, high = ((_moments(releases) - np.log(TAIL)) / releases[0][0].tilts).min(axis=1)
    start = sum(count * loss.low for loss, count in releases)
    end = start + sum(count * (len(loss.mass) - 1) for loss, count in releases)
    first, last = max(start, math.floor(-low / width)), min(end, math.ceil(high / width))
    if not 0 <= last - first < MOST_CELLS:
        return None
    size = fast_length(last - first + 1)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for loss, count in releases:
        mass = loss.mass
        if len(mass) > size:  # folded, for a transform is circular
            mass = np.pad(mass, (0, -len(mass) % size)).reshape(-1, size).sum(axis=0)
        spectrum *= _power(np.fft.rfft(mass, size), count)
    mass = np.roll(np.fft.irfft(spectrum, size), (start - first) % size)
    # Each number f of a transform, at most 1, is off by so much for each of its steps. A power f^n is off by
    # n·f^(n−1) times that, which is at most 2n·f^n + 1; a product of powers by no more.
    moved = ROUNDING * math.log2(size) * float(total * np.linalg.norm(mass) + np.linalg.norm(spectrum))
    # All else has a share in each δ: releases, weights that undo the tilt, sums from the top.
    farthest = max(abs(first), abs(first + size)) * width
    relative = sum(count * loss.uncertain for loss, count in releases)
    relative += ROUNDING * (tilt * farthest + size + 1 / width)
    return Composed(
        width,
        first,
        mass,
        tilt,
        sum(count * loss.log_scale for loss, count in releases),
        -math.expm1(sum(count * math.log1p(-loss.infinite) for loss, count in releases)),
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


def fast_length(least: int) -> int:
    """Return the length from `least` on of which a Fourier transform is quick: 2, 3 and 5 are its factors.

    That of `scipy.fft.next_fast_len`, which takes a fifth of a second to import.
    """
    best = 1 << (least - 1).bit_length()
    fives = 1
    while fives < best:
        odd = fives
        while odd < best:
            twos = max(math.ceil(least / odd) - 1, 0).bit_length()
            best = min(best, odd << twos)
            odd *= 3
        fives *= 5
    return best


def _power(base: np.ndarray, exponent: int) -> np.ndarray:
    """Return `base` to a power, 1 or more, by squaring: from 100 on NumPy's own takes ten times as long."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    square = half * half
    return np.multiply(square, base, out=square) if exponent % 2 else square


def _crossing(whole: Composed, escaped: float, allowed: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the largest ε whose δ exceeds what is `allowed` at the scale of the losses; −∞ if none does."""
    # δ at a point is e^-width of that at the next higher one and 1 − e^-width of what is above.
    gain = -math.expm1(-whole.width)
    above, last = 0.0, 0.0
    for stop in range(len(whole.mass), 0, -BLOCK):
        start = max(0, stop - BLOCK)
        cells = whole.first + np.arange(stop - 1, start - 1, -1)
        scale = whole.scale(cells)
        from_top = whole.mass[start:stop][::-1] * scale
        through = np.cumsum(np.concatenate([[above], from_top]))[1:]
        over = through - from_top  # P[loss > ε] without what has escaped
        delta = _faded(gain, over, last)
        at_most = allowed(scale)
        exceeds = np.flatnonzero(escaped + delta > at_most)
        if len(exceeds):
            cell = exceeds[0]
            if cell == 0 and stop == len(whole.mass):
                return math.inf
            with np.errstate(divide="ignore", invalid="ignore"):  # of no mass but rounding
                further = np.log1p((escaped + delta[cell] - at_most[cell]) / (over[cell] - delta[cell]))
            return float(cells[cell] * whole.width + np.fmin(further, whole.width))
        above, last = through[-1], delta[-1]
    return -math.inf


def _faded(gain: float, values: np.ndarray, last: float) -> np.ndarray:
    """Return the means of `values` so far, each `gain` of a value and 1 − `gain` of the mean before it."""
    rest = np.full(len(values), gain - 1)
    # The same to the last bit as by `scipy.signal.lfilter`, which takes half a second to import.
    bands = np.stack([np.zeros_like(rest), np.ones_like(rest), rest])
    fresh = gain * values
    fresh[0] -= last * (gain - 1)
    return cast(np.ndarray, solve_banded((1, 1), bands, fresh, check_finite=False))


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

# Up to this δ a client added or removed at 2C costs more than one replaced in Poisson samples. Beyond it two
# clients that are opposites may cost more, where ε is below 0.4: docs/accounting.md.
LARGEST_DELTA = 0.1

# Where losses would be rounded to more than this nobody has a use for ε: a curve is left out.
WIDEST = 100.0

# More noise and smaller rates count as these, which cost more, but next to nothing. With less noise than this
# losses are beyond all use.
MOST_NOISE, LEAST_NOISE, LEAST_RATE = 1e9, 1e-50, 1e-12

# A curve is evaluated at each of the first rounds, then at steps of this ratio, and at the last round.
EACH_ROUND_UNTIL = 20
STEP = 1.1

# More distinct releases than this have no curve: each is a loss distribution of its own, and all of them
# are composed at every evaluated round. Of cohorts of a fixed size there may be as many as they have sizes,
# on a coarser grid, whose scale some of the moments tell.
MOST_RELEASES, MOST_SIZES = 8, 300
SIZES_CELLS = 1_000  # per ε
SOME_LAMBDAS = moments.LAMBDAS[::8]


def interval(
    releases: Sequence[Release],
    times: Sequence[int],
    delta: float,
    sensitivity: str,
    cells: int,
    lambdas: np.ndarray = moments.LAMBDAS,
) -> float:
    """Return the interval that spreads `cells` over ε, whose scale the moments accountant tells at `lambdas`.

    It is larger where one release would need more than half of the cells that there may be, or all of them
    more than there may be, and smaller where a usual loss would be few intervals.
    """
    cost, widest = np.zeros(len(lambdas)), 0.0
    for release, count in zip(releases, times, strict=True):
        if release.noise_multiplier > 0:
            rate, noise = _counted_as(release, sensitivity)
            if noise < LEAST_NOISE:
                return np.inf
            cost += count * moments.log_moment(rate, noise, lambdas)
            low, high = loss_range(rate, noise)
            widest = max(widest, 2 * high if release.law == "fixed" else high - low)
    # The square of a loss is about e^moment − 1 on average.
    usual = math.sqrt(math.expm1(min(cost[0] / max(1, sum(times)), 700.0)))
    spread = math.sqrt(cost[0])
    width = min(max(FINEST, float(moments.best(cost, delta, lambdas)[0]) / cells), usual / RESOLVED)
    return max(width, max(2 * widest, SPREADS * spread) / MOST_CELLS)


def epsilon(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    sampling_law: str = "poisson",
) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours.

    With sampling law `fixed` that of samples of a fixed size, one unit replaced. It is infinite where
    rounding leaves nothing to be certified: of an ε beyond all use, or a tiny δ.
    """
    sensitivity = planned_sensitivity(sampling_law)
    release = planned_release(sampling_rate, noise_multiplier, sampling_law)
    plan = {"sampling_rate": sampling_rate, "noise_multiplier": noise_multiplier, "rounds": rounds}
    by_losses = _epsilon([release], [rounds], delta, sensitivity)
    if np.isinf(by_losses):
        return np.inf
    return min(by_losses, rdp.epsilon(**plan, delta=delta, sampling_law=sampling_law))


def evaluation_rounds(rounds: int) -> list[int]:
    """Return the rounds at which a curve over `rounds` is evaluated, ascending, the last among them."""
    evaluated = list(range(1, min(rounds, EACH_ROUND_UNTIL) + 1))
    while evaluated[-1] < rounds:
        evaluated.append(min(rounds, int(evaluated[-1] * STEP)))
    return evaluated


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C, or for `fixed` samples 2C alone.

    None for very many different releases. A sensitivity whose ε is beyond all use (`WIDEST`) is left out.
    Between the rounds that are evaluated a curve carries the value of the next one, which is larger: ε never
    falls from round to round.
    """
    most = MOST_SIZES if view.law == "fixed" else MOST_RELEASES
    if len(view.releases) > most:
        return []
    done = tuple(map(tuple, view.counts.cumsum(axis=0).tolist()))
    by_sensitivity: list[Curve] = []
    for sensitivity in view.sensitivities:  # as in rdp.py: add/remove at 2C bounds replaced clients
        value = _epsilons(tuple(view.releases), done, delta, sensitivity)
        if value is None:
            continue
        nothing = np.isinf(value)  # there was no noise, or rounding leaves nothing to be certified
        if nothing.any() and np.isfinite(rdp.epsilons(view, delta, sensitivity)[0][nothing]).any():
            continue
        by_sensitivity.append(view.curve(value, np.full(len(value), np.nan), "pld", sensitivity))
    return by_sensitivity


def _epsilon(releases: Sequence[Release], times: Sequence[int], delta: float, sensitivity: str) -> float:
    run = {release: count for release, count in zip(releases, times, strict=True) if count}
    if not run:
        return 0.0
    if any(release.noise_multiplier == 0 for release in run):
        return np.inf
    run = _together(run)
    width = interval(list(run), list(run.values()), delta, sensitivity, CELLS)
    for wider in (width * coarser for coarser in COARSER):
        once = _losses(run, wider, delta, sensitivity) if wider <= WIDEST else None
        epsilon = _composed(once, run, delta) if once else np.inf
        if epsilon < np.inf:
            return epsilon
    return np.inf


def _together(run: Mapping[Release, int]) -> dict[Release, int]:
    """Return releases with all whole Gaussians among them as the single one that they amount to."""
    whole = {release: count for release, count in run.items() if release.sampling_rate == 1}
    if not whole:
        return dict(run)
    sampled = {release: count for release, count in run.items() if release not in whole}
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        seen = sum(count * np.float64(release.noise_multiplier) ** -2.0 for release, count in whole.items())
        alone = planned_release(1.0, float(np.float64(seen) ** -0.5))
    return sampled | {alone: 1}


def _counted_as(release: Release, sensitivity: str) -> tuple[float, float]:
    return max(release.share, LEAST_RATE), min(release.multiplier(sensitivity), MOST_NOISE)


def _losses(
    releases: Iterable[Release], width: float, delta: float, sensitivity: str
) -> dict[Release, list[PrivacyLoss]]:
    """Return the losses of each release: when a client is removed, and when one is added.

    Of samples of a fixed size it is one loss, of a client that is replaced, which holds for Poisson samples
    too, and at every δ.
    """
    counted = {release: _counted_as(release, sensitivity) for release in releases}
    large = sensitivity == "2C" and delta > LARGEST_DELTA
    if large or any(release.law == "fixed" for release in counted):
        return {release: [replacement_loss_from_above(*of, width)] for release, of in counted.items()}
    return {
        release: [loss_from_above(*of, width, added) for added in (False, True)]
        for release, of in counted.items()
    }


def _composed(
    once: Mapping[Release, Sequence[PrivacyLoss]], run: Mapping[Release, int], delta: float
) -> float:
    counted = [(once[release], count) for release, count in run.items()]
    ways = zip(*(losses for losses, _ in counted), strict=True)
    times = [count for _, count in counted]
    return max(upper_epsilon([*zip(losses, times, strict=True)], delta) for losses in ways)


@cache  # runs of one paper differ in their data more often than in their noise
def _epsilons(
    releases: tuple[Release, ...], done: tuple[tuple[int, ...], ...], delta: float, sensitivity: str
) -> np.ndarray | None:
    """Return ε after every round, in each of which so many releases of each kind were `done`."""
    many = len(releases) > MOST_RELEASES
    grid = (SIZES_CELLS, SOME_LAMBDAS) if many else (CURVE_CELLS, moments.LAMBDAS)
    width = interval(releases, done[-1], delta, sensitivity, *grid)
    if not width <= WIDEST:
        return None
    noisy = [release for release in releases if release.noise_multiplier > 0]
    once = _losses(noisy, width, delta, sensitivity)
    value = np.full(len(done), np.inf)
    for last in evaluation_rounds(len(done)):
        run = {release: count for release, count in zip(releases, done[last - 1], strict=True) if count}
        if run.keys() - once.keys():
            break
        value[last - 1] = _composed(once, run, delta) if run else 0.0
    if not many:
        value[-1] = _epsilon(releases, done[-1], delta, sensitivity)
    return np.minimum.accumulate(value[::-1])[::-1]
