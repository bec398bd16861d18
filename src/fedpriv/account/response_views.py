"""What a trace of randomised response costs: who sees which bits of a client, and every ε of it.

The mathematics is in `randomized_response`. Such a trace has six readings: a neighbour differs in one bit, in
all bits or in everything that it sends, and single uploads are seen or the sum over the cohort alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedpriv.account import randomized_response as rr
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd

ONE_BIT, ALL_BITS = "one bit of a client", "all bits of a client"
RELATION = "replace_one"


class ResponseView(NamedTuple):
    """One reading of T rounds, each with the same flips of the same number of bits."""

    unit: str
    accounting: str  # upload or sum
    sensitivity: str  # what neighbours differ in: bit, bits or all
    law: str
    gamma: float
    clients: int  # whose bits are in the sum, in the smallest round; 1 where single uploads are seen
    released: np.ndarray  # [T], how many of the bits that may differ were released by then
    revealed: bool  # True where no flip hides what neighbours differ in
    unmet: str = ""  # the assumption of the reading that fails; empty if all hold


def responds(trace: pd.DataFrame) -> bool:
    """Return whether the clients of a checked trace answer by randomised response."""
    return bool((trace["noisy_bits"] > 0).all())


def response_views(trace: pd.DataFrame) -> Iterator[ResponseView]:
    """Yield the readings of a checked trace; there are none without randomised response.

    One coin for a whole tensor hides nothing but its sign: two vectors that differ otherwise have no outcome
    in common, so nothing hides all bits, and one bit is hidden only from who sees no other bit of its tensor.
    What is sent in the clear beside the bits (statistics of batch normalisation) reveals a client.
    """
    if not responds(trace) or (trace["mechanism"] != "randomized_response").any():
        return
    first = trace.iloc[0]
    gamma, coordinate = float(first["gamma"]), first["flips"] == "coordinate"
    rounds = trace["releases"].to_numpy(dtype=np.int64).cumsum()
    smallest = max(1, int(trace["cohort_size"].min()))
    bare = gamma == 0.5
    clear = bool((trace["clear_values"] > 0).any())
    # A client is counted in every round: whoever sees uploads sees who took part.
    for accounting, clients in (("upload", 1), ("sum", smallest)):
        all_bits = ResponseView(
            unit=ALL_BITS,
            accounting=accounting,
            sensitivity="bits",
            law="full",
            gamma=gamma,
            clients=clients,
            released=rounds * int(first["noisy_bits"]),
            revealed=bare or not coordinate,
        )
        yield all_bits._replace(
            unit=ONE_BIT,
            sensitivity="bit",
            released=rounds,
            revealed=bare,
            unmet="" if coordinate else "the other bits of the tensor flip together",
        )
        yield all_bits
        yield all_bits._replace(unit="client", sensitivity="all", revealed=all_bits.revealed or clear)


def curves(view: ResponseView, delta: float) -> list[Curve]:
    """Return ε after every round: by Rényi divergences, and of single bits by every conversion there is."""
    unknown = np.full(len(view.released), np.nan)
    single = (view.accounting, view.sensitivity) == ("upload", "bit")
    found: list[Curve] = []
    for name in ACCOUNTANTS if single else ("rdp",):
        if view.revealed:
            epsilon, order = np.full_like(unknown, np.inf), unknown
        else:
            epsilon, order = _counted(name, view.gamma, view.clients, tuple(view.released.tolist()), delta)
        found.append(
            Curve(
                epsilon,
                order,
                accountant=name,
                relation=RELATION,
                sensitivity=view.sensitivity,
                unmet=view.unmet,
            )
        )
    return found


@cache  # runs of one paper differ in their data more often than in their flips
def _counted(
    accountant: str, gamma: float, clients: int, released: tuple[int, ...], delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return ε after every round and the order that gives it, NaN where there is none; both `[T]`."""
    return ACCOUNTANTS[accountant](gamma, clients, released, delta)


def _rdp(gamma: float, clients: int, released: Sequence[int], delta: float) -> tuple[np.ndarray, np.ndarray]:
    def one_bit(order: float | np.ndarray) -> np.ndarray:
        return rr.divergence(gamma, order, clients)

    return rr.rdp_epsilons(one_bit, released, delta, rr.pure_epsilon(gamma))


def _exact(
    gamma: float, clients: int, released: Sequence[int], delta: float
) -> tuple[np.ndarray, np.ndarray]:
    found = np.array([rr.exact_epsilon(gamma, bits, delta) for bits in released])
    return found, np.full(len(found), np.nan)


def _theorem(
    gamma: float, clients: int, released: Sequence[int], delta: float
) -> tuple[np.ndarray, np.ndarray]:
    found = np.array([rr.theorem_epsilon(gamma, bits, delta) for bits in released])
    with np.errstate(divide="ignore"):
        return found, 1 - 2 * np.log(delta) / found


# By name; those after the first count single bits of a single upload.
ACCOUNTANTS: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "rdp": _rdp,
    "exact": _exact,
    "theorem": _theorem,
}
