"""Accounting by privacy loss distributions (dp-accounting): the tightest of the three bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account import moments
from fedpriv.account.events import Mechanism, event, planned
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    from dp_accounting.pld import PLDAccountant

    from fedpriv.account.views import View

# Losses are rounded up to multiples of an interval: the library's 1e-4, coarser where ε is so large that the
# cells would not fit. The rounding makes ε larger, by a few intervals at most.
FINEST = 1e-4
CELLS = 50_000  # per ε, of single values and of the last round of a curve
CURVE_CELLS = 5_000  # per ε, of the rounds before it

# Where losses would be rounded to more than this, e to their power leaves the range of floats. Nobody has a
# use for an ε of half a million: a curve is left out, a single value is infinite.
WIDEST = 100.0

# A curve is evaluated at each of the first rounds, then at steps of this ratio, and at the last round.
EACH_ROUND_UNTIL = 20
STEP = 1.1

# More distinct mechanisms than this have no curve: each is a loss distribution of its own, and all of them
# are composed at every evaluated round.
MOST = 8


def accountant(width: float = FINEST) -> PLDAccountant:
    """Return a fresh library accountant for add/remove neighbours."""
    from dp_accounting.pld import PLDAccountant

    return PLDAccountant(value_discretization_interval=width)


def interval(
    mechanisms: Sequence[Mechanism], times: Sequence[int], delta: float, sensitivity: str, cells: int
) -> float:
    """Return the interval that spreads `cells` over ε, whose scale the moments accountant tells."""
    cost = np.zeros(len(moments.LAMBDAS))
    for mechanism, count in zip(mechanisms, times, strict=True):
        if mechanism.noise_multiplier > 0:
            cost += count * moments.log_moment(mechanism.sampling_rate, mechanism.multiplier(sensitivity))
    return max(FINEST, float(moments.best(cost, delta)[0]) / cells)


def epsilon(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours."""
    return _epsilon([planned(sampling_rate, noise_multiplier)], [rounds], delta, "C")


def evaluated(rounds: int) -> list[int]:
    """Return the rounds at which a curve over `rounds` is evaluated, ascending, the last among them."""
    found = list(range(1, min(rounds, EACH_ROUND_UNTIL) + 1))
    while found[-1] < rounds:
        found.append(min(rounds, int(found[-1] * STEP)))
    return found


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C; nothing for `fixed` samples or many mechanisms.

    A sensitivity whose ε is beyond all use (`WIDEST`) is left out.
    The library has no loss distribution for sampling without replacement. Between the `evaluated` rounds a
    curve carries the value of the next one, which is larger: ε never falls from round to round.
    """
    if view.law == "fixed" or len(view.mechanisms) > MOST:
        return []
    # As in rdp.py: add/remove at twice the sensitivity bounds replaced clients.
    found = (_curve(view, delta, sensitivity) for sensitivity in view.relations)
    return [curve for curve in found if curve]


def _epsilon(mechanisms: Sequence[Mechanism], times: Sequence[int], delta: float, sensitivity: str) -> float:
    width = interval(mechanisms, times, delta, sensitivity, CELLS)
    if width > WIDEST:
        return math.inf
    composed = accountant(width)
    for mechanism, count in zip(mechanisms, times, strict=True):
        if count:
            composed.compose(event(mechanism, count, sensitivity))
    return float(composed.get_epsilon(delta))


def _curve(view: View, delta: float, sensitivity: str) -> Curve | None:
    times = tuple(map(tuple, view.counts.cumsum(axis=0).tolist()))
    value = _epsilons(tuple(view.mechanisms), times, delta, sensitivity)
    return None if value is None else view.curve(value, np.full(len(value), np.nan), "pld", sensitivity)


@cache  # runs of one paper differ in their data more often than in their noise
def _epsilons(
    mechanisms: tuple[Mechanism, ...], done: tuple[tuple[int, ...], ...], delta: float, sensitivity: str
) -> np.ndarray | None:
    """Return ε after every round, in each of which so many releases were `done` of every mechanism.

    There is one loss distribution a mechanism; the library's accountant would rebuild it.
    """
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism, identity

    width = interval(mechanisms, done[-1], delta, sensitivity, CURVE_CELLS)
    if width > WIDEST:
        return None
    once = {
        one: from_gaussian_mechanism(
            one.multiplier(sensitivity), value_discretization_interval=width, sampling_prob=one.sampling_rate
        )
        for one in mechanisms
        if one.noise_multiplier > 0
    }
    value = np.full(len(done), np.inf)
    for last in evaluated(len(done)):
        run = {one: count for one, count in zip(mechanisms, done[last - 1], strict=True) if count}
        if run.keys() - once.keys():
            break
        composed = identity(width)
        for one, count in run.items():
            composed = composed.compose(once[one].self_compose(count))
        value[last - 1] = composed.get_epsilon_for_delta(delta)
    value[-1] = _epsilon(mechanisms, done[-1], delta, sensitivity)
    return np.minimum.accumulate(value[::-1])[::-1]
