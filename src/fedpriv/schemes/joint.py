"""Joint privacy: the clients' instance noise counted again, towards client-level privacy.

Federated Learning with Bayesian Differential Privacy, section V-C. The server adds nothing.

DEVIATION: the paper does not say against whom. Who sees only the *sum* faces everybody's noise; the server
that receives single uploads faces one client's. The trace lets both be counted (docs/accounting.md).
DEVIATION: a client that is taken out takes its noise along. We count the shares of the others, n − 1 of n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.schemes.base import Bounded, Facts, Round, Unit
from fedpriv.schemes.instance import Instance

if TYPE_CHECKING:
    import torch

    from fedpriv.models.base import Model
    from fedpriv.work import LocalWork


class Joint(Instance):
    """As `instance`, with one gradient a round, so that noise and clean gradient belong to the same point."""

    name: Literal["joint"] = "joint"
    unit: ClassVar[Unit] = "both"
    # A client knows its own gradient and nobody else's.
    measures: ClassVar[tuple[str, ...]] = ("remove_sum",)

    def fits(self, local: LocalWork, model: Model) -> str:
        if local.name != "fedsgd":
            return f"local: found {local.name}, allowed: fedsgd, for noisy steps would move the next gradient"
        return super().fits(local, model)

    def combine(self, bounded: Bounded, now: Round) -> tuple[torch.Tensor, Facts]:
        step, facts = super().combine(bounded, now)
        return step, facts | {"noise_shares": max(len(bounded.updates) - 1, 1)}
