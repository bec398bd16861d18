"""Joint privacy: the clients' instance noise counted again, towards client-level privacy.

Federated Learning with Bayesian Differential Privacy, section V-C. The server adds nothing.

DEVIATION: the paper does not say against whom. Who sees only the *sum* faces everybody's noise; the server
that receives single uploads faces one client's. The trace lets both be counted (docs/accounting.md).
DEVIATION: a client that is taken out takes its noise along. We count the shares of the others, n − 1 of n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.mechanisms.clipping import Bounded
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.instance import Instance
from fedpriv.trace import Facts, Unit

if TYPE_CHECKING:
    import torch

    from fedpriv.local.work import LocalWork
    from fedpriv.models.base import Model


class Joint(Instance):
    """As `instance`, with one gradient a round, so that noise and clean gradient belong to the same point."""

    name: Literal["joint"] = "joint"
    unit: ClassVar[Unit] = "both"
    # A client knows its own gradient and nobody else's.
    measures: ClassVar[tuple[str, ...]] = ("remove_sum",)

    def fits(self, local: LocalWork, model: Model) -> str:
        if not local.one_gradient:
            return f"local: found {local.name}, allowed: fedsgd, for noisy steps would move the next gradient"
        return super().fits(local, model)

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        step, facts = super().combine(bounded, context)
        return step, facts | {"noise_shares": max(len(bounded.updates) - 1, 1)}
