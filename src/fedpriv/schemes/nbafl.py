"""Noising before aggregation: clients add noise to the weights that they upload, and the server to its own.

FederatedScope, Differential Privacy, section "Implementation of DP", and what it goes back to: Wei et al.
2020, Federated Learning With Differential Privacy: Algorithms and Performance Analysis. Its ε and δ are
labels that scale the noise; what they certify is another matter (docs/accounting.md).

DEVIATION: FederatedScope weights a mean by the numbers of examples; we divide by the public number of
clients.
DEVIATION: the exposures L of Wei et al. are taken to be the expected ones, T times the sampling rate. The
document and its repository take for L the number of clients in a round.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from fedpriv.frozen import Positive
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.gaussian import normals, upload_distance
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.trace import Facts, Mechanism

if TYPE_CHECKING:
    import torch


class NbAFL(Scheme):
    """Uploads carry noise ∝ `constant` · `weight_clip` / (examples · `epsilon`), broadcasts perhaps too.

    `clip: element` cuts off the server's weights at plus and minus C before they are sent, as the document
    does; nothing bounds what clients upload. `clip: norm` scales every upload down to norm C, as Wei et al.
    """

    name: Literal["nbafl"] = "nbafl"
    mechanism: ClassVar[Mechanism] = "gaussian"
    sends: ClassVar[Literal["update", "weights"]] = "weights"
    epsilon: Positive
    """A label: the noise is divided by it."""
    constant: Positive
    """c, of a δ = 1.25 exp(-c²/2)."""
    weight_clip: Positive
    """C, of weights before they are sent."""
    scaling: Literal["document", "paper", "repository"] = "document"
    """Of the noise std: whose formula."""
    clip: Literal["element", "norm"] = "element"
    """Of every number of the server's weights, or of the norm of an upload."""

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        if self.clip == "norm":
            return clip(updates, self.weight_clip)
        return Bounded(updates, math.inf), {}

    def release(
        self, bounded: Bounded, uploads: torch.Tensor, context: RoundContext
    ) -> tuple[Bounded, Facts]:
        import torch

        std = self.uplink_std(context)
        rows = bounded.updates
        noisy = normals(context.noises("uplink"), rows)
        noisy.mul_(torch.from_numpy(std).to(rows)[:, None]).add_(rows)
        facts = {
            "upload_l2": bounded.l2,
            "upload_noise_std": float(std.min(initial=math.inf)),
            "uploads_apart": upload_distance(rows),
            "noise_in_sum": True,
        }
        return Bounded(noisy, bounded.l2), (facts if len(rows) else {}) | self.least(bounded.l2, context)

    def broadcast(self, weights: torch.Tensor, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        if self.clip == "element":
            weights = weights.clamp(-self.weight_clip, self.weight_clip)
        std = self.downlink_std(context)
        if std:
            weights = weights + std * context.noise("downlink").like(weights)
        return weights, {"broadcast_noise_std": std}

    def least(self, l2: float, context: RoundContext) -> Facts:
        """Facts of the upload with the least noise there can be: of who has most examples."""
        if context.most is None:
            return {}
        largest = context._replace(examples=np.array([context.most]))
        return {"upload_l2": l2, "upload_noise_least": float(self.uplink_std(largest)[0])}

    def uplink_std(self, context: RoundContext) -> np.ndarray:
        """Return the std of the noise of each upload `[n]`; the repository has lost a factor of two."""
        unit = self.weight_clip * self.constant / self.epsilon
        if self.scaling == "paper":
            return np.full(len(context.examples), 2 * unit * exposures(context) / context.fewest)
        factor = 2 if self.scaling == "document" else 1
        return factor * unit * context.rounds / context.examples

    def downlink_std(self, context: RoundContext) -> float:
        """Return the std of the noise before a broadcast: none, unless there are many rounds."""
        seen = exposures(context) if self.scaling == "paper" else context.expected
        excess = context.rounds**2 - seen**2 * context.population
        if excess <= 0:
            return 0.0
        unit = 2 * self.weight_clip * self.constant / self.epsilon
        return unit * math.sqrt(excess) / (context.fewest * context.population)


def exposures(context: RoundContext) -> float:
    """Return in how many rounds a client is expected to take part."""
    return context.rounds * context.expected / context.population
