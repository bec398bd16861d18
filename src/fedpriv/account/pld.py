"""Accounting by privacy loss distributions: the tightest of the three bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account import composition, loss, moments, rdp
from fedpriv.account.events import Mechanism, planned
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    from fedpriv.account.view import View

# The loss of one release, of removing a client and of adding one.
Losses = dict[Mechanism, tuple[loss.Loss, loss.Loss]]

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
MOST = 8


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
            low, high = loss.reach(rate, noise)
            widest = max(widest, high - low)
    # The square of a loss is about e^moment − 1 on average.
    usual = math.sqrt(math.expm1(min(cost[0] / max(1, sum(times)), 700.0)))
    spread = math.sqrt(cost[0])
    wanted = min(max(FINEST, float(moments.best(cost, delta)[0]) / cells), usual / RESOLVED)
    return max(wanted, max(2 * widest, SPREADS * spread) / composition.MOST_CELLS)


def epsilon(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours.

    It is that of `rdp` where rounding leaves nothing better to be certified: of very many rounds or a tiny δ.
    """
    plan = {"sampling_rate": sampling_rate, "noise_multiplier": noise_multiplier}
    found = _epsilon([planned(**plan)], [rounds], delta, "C")
    return min(found, rdp.epsilon(**plan, rounds=rounds, delta=delta))


def evaluated(rounds: int) -> list[int]:
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
    if view.law in ("fixed", "seen") or len(view.mechanisms) > MOST:
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
        alone = planned(1.0, float(np.float64(seen) ** -0.5))
    return apart | {alone: 1}


def _counted_as(mechanism: Mechanism, sensitivity: str) -> tuple[float, float]:
    return max(mechanism.sampling_rate, LEAST_RATE), min(mechanism.multiplier(sensitivity), MOST_NOISE)


def _losses(mechanisms: Iterable[Mechanism], width: float, sensitivity: str) -> Losses:
    """Return the loss of one release of each mechanism when a client is removed, and when one is added."""
    found: Losses = {}
    for one in mechanisms:
        rate, noise = _counted_as(one, sensitivity)
        found[one] = loss.above(rate, noise, width, added=False), loss.above(rate, noise, width, added=True)
    return found


def _composed(once: Losses, run: Mapping[Mechanism, int], delta: float) -> float:
    return max(composition.upper([(once[one][way], run[one]) for one in run], delta) for way in (0, 1))


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
    for last in evaluated(len(done)):
        run = {one: count for one, count in zip(mechanisms, done[last - 1], strict=True) if count}
        if run.keys() - once.keys():
            break
        value[last - 1] = _composed(once, run, delta) if run else 0.0
    value[-1] = _epsilon(mechanisms, done[-1], delta, sensitivity)
    return np.minimum.accumulate(value[::-1])[::-1]
