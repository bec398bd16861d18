"""Joint privacy: the clients' instance noise counted again, towards client-level privacy.

Federated Learning with Bayesian Differential Privacy, section V-C. The server adds nothing.

DEVIATION: the paper does not say against whom. Who sees only the *sum* faces everybody's noise; the server
that receives single uploads faces one client's. The trace lets both be counted (docs/accounting.md).
DEVIATION: a client that is taken out takes its noise along. We count the shares of the others, n − 1 of n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.schemes.base import Bounded, Facts, Unit
from fedpriv.schemes.instance import Instance

if TYPE_CHECKING:
    import torch

    from fedpriv.config import LocalWork
    from fedpriv.streams import Streams


class Joint(Instance):
    """As `instance`, with one gradient a round, so that noise and clean gradient belong to the same point."""

    name: Literal["joint"] = "joint"
    unit: ClassVar[Unit] = "both"
    # A client knows its own gradient and nobody else's.
    measures: ClassVar[tuple[str, ...]] = ("remove_sum",)

    def fits(self, local: LocalWork) -> str:
        if local.name != "fedsgd":
            return f"local: found {local.name}, allowed: fedsgd, for noisy steps would move the next gradient"
        return super().fits(local)

    def combine(
        self, bounded: Bounded, expected: float, streams: Streams, round: int
    ) -> tuple[torch.Tensor, Facts]:
        step, facts = super().combine(bounded, expected, streams, round)
        return step, facts | {"noise_shares": max(len(bounded.updates) - 1, 1)}
