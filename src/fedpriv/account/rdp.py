"""Rényi accounting by dp-accounting, its orders and its improved conversion to (ε, δ)."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fedpriv.account.events import Mechanism, event, planned
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    from dp_accounting.rdp import RdpAccountant

    from fedpriv.account.views import View


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
def quietly() -> Generator[None]:
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
        composed = accountant().compose(event(planned(sampling_rate, noise_multiplier), rounds))
    return float(composed.get_epsilon(delta))


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round: for sensitivities C and 2C, or for `fixed` samples 2C alone.

    Divergences add up, so each mechanism is evaluated once.
    """
    if view.law == "fixed":
        return [_curve(view, delta, "2C", "replace_one")]
    # The library has no Poisson event for replaced clients; see docs/accounting.md for why twice the
    # sensitivity under add/remove bounds it.
    return [_curve(view, delta, sensitivity, "add_remove") for sensitivity in view.relations]


def _curve(view: View, delta: float, sensitivity: str, evaluated_as: str) -> Curve:
    from dp_accounting.rdp import compute_epsilon

    orders = accountant().orders.tolist()
    once = [_divergences(one, sensitivity, evaluated_as) for one in view.mechanisms]
    total = view.running(np.array(once))
    value, order = np.array([compute_epsilon(orders, divergence, delta) for divergence in total]).T
    order = np.where(np.isfinite(value), order, np.nan)
    return view.curve(value, order, "rdp", sensitivity)


@cache  # runs of one paper differ in their data more often than in their noise
def _divergences(mechanism: Mechanism, sensitivity: str, evaluated_as: str) -> np.ndarray:
    """Return the divergence of one release at every order of the library."""
    with quietly():
        return accountant(evaluated_as).compose(event(mechanism, 1, sensitivity)).rdp
