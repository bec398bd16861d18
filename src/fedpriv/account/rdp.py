"""Rényi accounting by dp-accounting, its orders and its improved conversion to (ε, δ)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account.events import Rounds, blocks, event, planned
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting.rdp import RdpAccountant


def accountant(relation: str = "add_remove") -> RdpAccountant:
    """Return a fresh library accountant for neighbours under `relation`."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    neighbours = {
        "add_remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace_one": NeighboringRelation.REPLACE_ONE,
    }
    return RdpAccountant(neighboring_relation=neighbours[relation])


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the library's note that it drops an order whose series does not converge, which is safe."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def epsilon(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours."""
    with quietly():
        composed = accountant().compose(event(planned(sampling_rate, noise_multiplier, rounds)))
    return float(composed.get_epsilon(delta))


def curves(trace: pd.DataFrame, distances: Mapping[str, np.ndarray], delta: float) -> list[Curve]:
    """Return ε after every round: for sensitivities C and 2C, or for `fixed` cohorts 2C alone.

    Divergences add over rounds, so one round of each block is evaluated and the rest is a running sum.
    `distances` are not used.
    """
    rounds = blocks(trace)
    if rounds[0].law == "fixed":
        return [_curve(rounds, delta, "2C", "replace_one", "replace_one")]
    # The library has no Poisson event for replaced clients; see docs/accounting.md for why twice the
    # sensitivity under add/remove bounds it.
    return [
        _curve(rounds, delta, "C", "add_remove", "add_remove"),
        _curve(rounds, delta, "2C", "replace_one", "add_remove"),
    ]


def _curve(rounds: list[Rounds], delta: float, sensitivity: str, relation: str, evaluated_as: str) -> Curve:
    from dp_accounting.rdp import compute_epsilon

    orders = accountant().orders.tolist()
    with quietly():
        one_round = [
            accountant(evaluated_as).compose(event(block._replace(times=1), sensitivity)).rdp
            for block in rounds
        ]
    total = np.repeat(one_round, [block.times for block in rounds], axis=0).cumsum(axis=0)
    value, order = np.array([compute_epsilon(orders, divergence, delta) for divergence in total]).T
    order = np.where(np.isfinite(value), order, np.nan)
    return Curve(value, order, accountant="rdp", relation=relation, sensitivity=sensitivity)
