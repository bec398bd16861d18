"""Accounting by privacy loss distributions (dp-accounting): the tightest of the three bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account import moments
from fedpriv.account.events import Rounds, blocks, event, planned
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting.pld import PLDAccountant

# Losses are rounded up to multiples of an interval: the library's 1e-4, coarser where ε is so large that the
# cells would not fit. The rounding makes ε larger, by a few intervals at most.
FINEST = 1e-4
CELLS = 50_000  # per ε, of single values and of the last round of a curve
CURVE_CELLS = 5_000  # per ε, of the rounds before it

# A curve is evaluated at each of the first rounds, then at steps of this ratio, and at the last round.
EACH_ROUND_UNTIL = 20
STEP = 1.1


def accountant(width: float = FINEST) -> PLDAccountant:
    """Return a fresh library accountant for add/remove neighbours."""
    from dp_accounting.pld import PLDAccountant

    return PLDAccountant(value_discretization_interval=width)


def interval(rounds: list[Rounds], delta: float, sensitivity: str, cells: int) -> float:
    """Return the interval that spreads `cells` over ε, whose scale the moments accountant tells."""
    cost = np.zeros(len(moments.LAMBDAS))
    for block in rounds:
        if block.noise_multiplier > 0:
            multiplier = block.multiplier(sensitivity)
            cost += block.times * moments.log_moment(block.sampling_rate, multiplier)
    return max(FINEST, float(moments.best(cost, delta)[0]) / cells)


def epsilon(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours."""
    return _epsilon([planned(sampling_rate, noise_multiplier, rounds)], delta, "C")


def evaluated(rounds: int) -> list[int]:
    """Return the rounds at which a curve over `rounds` is evaluated, ascending, the last among them."""
    found = list(range(1, min(rounds, EACH_ROUND_UNTIL) + 1))
    while found[-1] < rounds:
        found.append(min(rounds, int(found[-1] * STEP)))
    return found


def curves(trace: pd.DataFrame, distances: Mapping[str, np.ndarray], delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C; nothing for `fixed` cohorts.

    The library has no loss distribution for sampling without replacement. Between the `evaluated` rounds a
    curve carries the value of the next one, which is larger: ε never falls from round to round. `distances`
    are not used.
    """
    rounds = blocks(trace)
    if rounds[0].law == "fixed":
        return []
    # As in rdp.py: add/remove at twice the sensitivity bounds replaced clients.
    return [_curve(rounds, delta, "C", "add_remove"), _curve(rounds, delta, "2C", "replace_one")]


def _epsilon(rounds: list[Rounds], delta: float, sensitivity: str) -> float:
    composed = accountant(interval(rounds, delta, sensitivity, CELLS))
    for block in rounds:
        composed.compose(event(block, sensitivity))
    return float(composed.get_epsilon(delta))


def _curve(rounds: list[Rounds], delta: float, sensitivity: str, relation: str) -> Curve:
    """Return the curve from one loss distribution a block, which the library's accountant would rebuild."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism, identity

    width = interval(rounds, delta, sensitivity, CURVE_CELLS)
    total = sum(block.times for block in rounds)
    grid = evaluated(total)
    value = np.full(total, np.inf)
    start, before = 0, identity(width)
    for block in rounds:
        if block.noise_multiplier == 0:
            break
        one_round = from_gaussian_mechanism(
            block.multiplier(sensitivity),
            value_discretization_interval=width,
            sampling_prob=block.sampling_rate,
        )
        end = start + block.times
        for last in (last for last in grid if start < last <= end):
            until_last = before.compose(one_round.self_compose(last - start))
            value[last - 1] = until_last.get_epsilon_for_delta(delta)
        before, start = before.compose(one_round.self_compose(block.times)), end
    value[-1] = _epsilon(rounds, delta, sensitivity)
    value = np.minimum.accumulate(value[::-1])[::-1]
    order = np.full(total, np.nan)
    return Curve(value, order, accountant="pld", relation=relation, sensitivity=sensitivity)
