"""Randomised response on binary weights: what clients upload are bits, some of them flipped.

Binary Federated Learning with Client-Level Differential Privacy, Algorithm 1, Definition 3 and Lemma 3.

DEVIATION: the paper sums the uploads; we take the mean, as the authors' code does, so that what clients mix
into weights in [-1, 1] is in [-1, 1] itself.
DEVIATION: the authors' code flips whole tensors: `noise: tensor`. The paper flips every weight by itself:
`noise: coordinate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.frozen import NUMBER, Positive
from fedpriv.mechanisms.clipping import Bounded
from fedpriv.mechanisms.gaussian import upload_distance
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.trace import Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch

    from fedpriv.config.run import Run


class DpflBnn(Scheme):
    """Keep every uploaded bit with probability 1/2 + `gamma`, flip it otherwise; the server averages.

    With γ = 1/2 nothing is flipped, with γ = 0 the upload carries no information. `debias` divides the mean
    by 2γ, so that its expectation is the mean of the true bits. `gain` is ours: where nothing is flipped, 2γ'
    does to the mean what flips at γ' do to it on average, without their noise.
    """

    name: Literal["dpfl_bnn"] = "dpfl_bnn"
    unit: ClassVar[Unit] = "client"
    mechanism: ClassVar[Mechanism] = "randomized_response"
    sends: ClassVar[Literal["update", "weights"]] = "weights"
    gamma: Annotated[float, Field(ge=0, le=0.5), NUMBER]
    """A bit is kept with probability 1/2 + γ."""
    noise: Literal["coordinate", "tensor"] = "coordinate"
    """Flips every bit by itself, or whole tensors."""
    debias: bool = False
    """The server divides the mean by 2γ."""
    gain: Positive = 1.0
    """What the server multiplies the mean by."""

    @model_validator(mode="after")
    def _something_left(self) -> DpflBnn:
        if self.debias and self.gamma == 0:
            raise PydanticCustomError(
                "choice", "debias: found true with gamma 0, allowed: false, or gamma > 0"
            )
        return self

    def refuses(self, run: Run) -> str:
        if not run.model.binary:
            return f"model: found {run.model.name}, allowed: bnn, binary_softmax, whose weights are bits"
        return super().refuses(run)

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        """Return the rows, all plus or minus one, with their norm."""
        return Bounded(updates, updates.shape[1] ** 0.5), {}

    def release(
        self, bounded: Bounded, uploads: torch.Tensor, context: RoundContext
    ) -> tuple[Bounded, Facts]:
        import torch

        rows = bounded.updates
        flipped = flips(self.gamma, self.noise, rows.shape, context)
        sent = np.packbits((rows > 0).cpu().numpy() ^ flipped, axis=1)
        bits = np.unpackbits(sent, axis=1, count=rows.shape[1])
        received = torch.from_numpy(bits.astype(np.float32) * 2 - 1).to(rows)
        facts = {
            "gamma": self.gamma,
            "flips": self.noise,
            "noisy_bits": rows.shape[1],
            "share_flipped": float(flipped.mean()) if flipped.size else 0.0,
            "upload_bytes": float(sent.shape[1]),
            "uploads_apart": upload_distance(rows),
        }
        return Bounded(received, bounded.l2), facts

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        mean, facts = super().combine(bounded, context)
        return mean * (self.gain / (2 * self.gamma) if self.debias else self.gain), facts


def flips(gamma: float, noise: str, shape: tuple[int, ...], context: RoundContext) -> np.ndarray:
    """Mask of the bits `[n, p]` that are flipped: one coin for each, or one for each client's tensor."""
    clients, bits = shape
    coins = clients, bits if noise == "coordinate" else len(context.tensors)
    flipped = context.streams.coins(0.5 - gamma, coins, "flips", context.number)
    return flipped if noise == "coordinate" else np.repeat(flipped, context.tensors, axis=1)
