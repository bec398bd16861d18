"""Instance-level privacy: noise in the gradient computation on every client.

Federated Learning with Bayesian Differential Privacy, section V-B. Sequential and parallel accounting are
two readings of the same trace.

DEVIATION: the paper clips nothing per example and leaves open what its DP accountant then takes as
sensitivity. With `per_example_clip: false` the *batch mean* is clipped to C, as the authors' later code does,
and the noise has std σC on that mean: DP sees C, no matter how large the batch is. With `true` every example
is clipped (Abadi et al., DP-SGD) and the noise has std σ times that bound on the *sum*: DP sees the same σ at
1/B of the noise.
DEVIATION: batches are Poisson samples with a public denominator, which every accountant here assumes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Positive, ThousandsOrZero
from fedpriv.mechanisms.clipping import Bounded
from fedpriv.mechanisms.private_gradient import PrivateGradient
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.trace import Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch

    from fedpriv.config.run import Run
    from fedpriv.local.work import LocalWork


class Instance(Scheme):
    """Every local gradient is bounded and noised on the client; the server only averages."""

    name: Literal["instance"] = "instance"
    unit: ClassVar[Unit] = "instance"
    mechanism: ClassVar[Mechanism] = "gaussian"
    clip_l2: Positive
    """Of the mean gradient, which is what a client uploads."""
    noise_multiplier: Positive
    """Of the sensitivity to one example."""
    per_example_clip: bool = False
    """Every example's gradient is clipped (DP-SGD), not only their mean."""
    example_clip_l2: Positive | None = None
    """With per_example_clip; null: clip_l2."""
    distances: ThousandsOrZero = 16
    """Leave-one-out distances sampled from every batch."""

    def refuses(self, run: Run) -> str:
        if run.local.batch_size is None:
            return "local.batch_size: found null, allowed: a number of examples"
        if run.local.noisy_steps is None:
            return "local.steps: found null, allowed: a number of steps, for batches are drawn anew in each"
        return super().refuses(run)

    def gradient(self, local: LocalWork) -> PrivateGradient | None:
        assert local.batch_size is not None
        example = (self.example_clip_l2 or self.clip_l2) if self.per_example_clip else None
        return PrivateGradient(local.batch_size, self.clip_l2, example, self.noise_multiplier, self.distances)

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        """Return the updates as they are: clients bound their gradients themselves."""
        return Bounded(updates, self.clip_l2), {"clip_l2": self.clip_l2}

    def release(
        self, bounded: Bounded, uploads: torch.Tensor, context: RoundContext
    ) -> tuple[Bounded, Facts]:
        return Bounded(uploads, float("inf")), {"noise_in_sum": True}
