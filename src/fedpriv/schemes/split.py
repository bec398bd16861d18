"""Split privacy: instance noise on the clients and client-level noise on the server, accounted apart.

Federated Learning with Bayesian Differential Privacy, section VI-D: what joint accounting is compared with.
The paper does not say whether the server clips what it receives. It matters: noise of std s on d coordinates
has norm s√d, and clipping an upload that is mostly noise leaves next to nothing of the gradient in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Positive
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.instance import Instance
from fedpriv.trace import Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch

    from fedpriv.config.run import Run


class Split(Instance):
    """As `instance`, and the server adds N(0, (`server_noise_multiplier` · clip_l2)²) to the sum of uploads.

    With `clip_uploads` the server clips what arrives, noise and all, to `clip_l2`, as it must if it does not
    trust the clients. Without, it relies on their having bounded the noise-free part, and a client's noise,
    which nothing bounds, comes and goes with it. Either way the server's noise alone protects clients.
    """

    name: Literal["split"] = "split"
    unit: ClassVar[Unit] = "both"
    mechanism: ClassVar[Mechanism] = "gaussian"
    server_noise_multiplier: Positive
    """σ: noise std of the server over clip_l2."""
    clip_uploads: bool = True
    """The server clips what arrives, noise and all, to clip_l2."""

    def refuses(self, run: Run) -> str:
        if not run.local.one_gradient:
            return f"local: found {run.local.name}, allowed: fedsgd, whose uploads are bounded by clip_l2"
        return super().refuses(run)

    def release(
        self, bounded: Bounded, uploads: torch.Tensor, context: RoundContext
    ) -> tuple[Bounded, Facts]:
        if self.clip_uploads:
            return clip(uploads, self.clip_l2)
        return Bounded(uploads, self.clip_l2), {"noise_in_sum": True}

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        return gaussian_mean(
            bounded,
            self.server_noise_multiplier,
            context.expected,
            context.noise("noise"),
        )
