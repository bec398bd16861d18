"""What a trace of randomised response costs: who sees which bits of a client, and every ε of it.

The mathematics is in `randomized_response`. Such a trace has six readings: a neighbour differs in one bit, in
all bits or in everything that it sends, and single uploads are seen or the sum over the cohort alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedpriv.account import randomized_response as rr
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd

ONE_BIT, ALL_BITS = "one bit of a client", "all bits of a client"
RELATION = "replace_one"


class Flips(NamedTuple):
    """One reading of T rounds, each with the same flips of the same number of bits."""

    unit: str
    accounting: str  # upload or sum
    sensitivity: str  # what neighbours differ in: bit, bits or all
    law: str
    gamma: float
    clients: int  # whose bits are in the sum, in the smallest round; 1 where single uploads are seen
    released: np.ndarray  # [T], how many of the bits that may differ were released by then
    revealed: bool  # True where no flip hides what neighbours differ in
    believed: bool  # False where the reading rests on something that is not so

    def divergence(self, order: float | np.ndarray) -> np.ndarray:
        """Return the Rényi divergence of one released bit."""
        if self.clients == 1:
            return rr.divergence(self.gamma, order)
        return rr.central_divergence(self.gamma, order, self.clients)


def responds(trace: pd.DataFrame) -> bool:
    """Return whether the clients of a checked trace answer by randomised response."""
    return bool((trace["noisy_bits"] > 0).all())


def flips(trace: pd.DataFrame) -> Iterator[Flips]:
    """Yield the readings of a checked trace; there are none without randomised response.

    One coin for a whole tensor hides nothing but its sign: two vectors that differ otherwise have no outcome
    in common, so nothing hides all bits, and one bit is hidden only from who sees no other bit of its tensor.
    What is sent in the clear beside the bits (statistics of batch normalisation) reveals a client.
    """
    if not responds(trace):
        return
    first = trace.iloc[0]
    gamma, coordinate = float(first["gamma"]), first["flips"] == "coordinate"
    rounds = np.arange(1, len(trace) + 1)
    smallest = max(1, int(trace["cohort_size"].min()))
    bits, bare = rounds * int(first["noisy_bits"]), gamma == 0.5
    clear = bool((trace["clear_values"] > 0).any())
    # A client is counted in every round: whoever sees uploads sees who took part.
    for accounting, clients in (("upload", 1), ("sum", smallest)):
        yield Flips(ONE_BIT, accounting, "bit", "full", gamma, clients, rounds, bare, coordinate)
        revealed = bare or not coordinate
        yield Flips(ALL_BITS, accounting, "bits", "full", gamma, clients, bits, revealed, True)
        yield Flips("client", accounting, "all", "full", gamma, clients, bits, revealed or clear, True)


def curves(reading: Flips, delta: float) -> list[Curve]:
    """Return ε after every round: by Rényi divergences, and of single bits by every conversion there is."""
    unknown = np.full(len(reading.released), np.nan)

    def exact() -> tuple[np.ndarray, np.ndarray]:
        return np.array([rr.exact_epsilon(reading.gamma, int(n), delta) for n in reading.released]), unknown

    def theorem() -> tuple[np.ndarray, np.ndarray]:
        found = np.array([rr.theorem_epsilon(reading.gamma, int(n), delta) for n in reading.released])
        with np.errstate(divide="ignore"):
            return found, 1 - 2 * np.log(delta) / found

    def rdp(tight: bool) -> tuple[np.ndarray, np.ndarray]:
        pure = rr.pure_epsilon(reading.gamma)
        return rr.rdp_epsilons(reading.divergence, reading.released, delta, pure, tight)

    accountants = {"rdp": lambda: rdp(tight=False)}
    if (reading.accounting, reading.sensitivity) == ("upload", "bit"):
        accountants |= {"rdp_tight": lambda: rdp(tight=True), "exact": exact, "theorem": theorem}
    return [
        Curve(
            *((np.full_like(unknown, np.inf), unknown) if reading.revealed else count()),
            accountant=name,
            relation=RELATION,
            sensitivity=reading.sensitivity,
            assumptions_met=reading.believed,
        )
        for name, count in accountants.items()
    ]
