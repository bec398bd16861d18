"""Client-level privacy; the clipping norm follows a quantile of the norms, which is estimated privately.

Andrew, Thakkar, McMahan, Ramaswamy 2021, Differentially Private Learning with Adaptive Clipping, Algorithm 1.
In every round the server learns a noisy count of the clients whose update was within the bound, and moves the
bound towards the quantile by a factor. Count and sum are released together, each with noise of its own, and
both are accounted (Theorem 1 there).

DEVIATION: Andrew et al. choose the noise of the count, a twentieth of the cohort; we choose its share of what
a round costs, so that there is always noise left for the sum. Theirs is the share (10 z / m)².
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from fedpriv.frozen import NUMBER, Fraction, Positive
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.schemes.base import Memory, RoundContext, Scheme
from fedpriv.trace import DISTANCES, Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch

# The bound stays where float32 can count with it.
LEAST, MOST = 1e-30, 1e30


class AdaptiveDP(Scheme):
    """As `client_dp`, with a clipping norm that starts at `clip_l2` and follows a `quantile` of the norms.

    `noise_multiplier` is z of a round, of sum and count together: what it costs is that of `client_dp` with
    the same. The count takes `count_share` of 1/z², and the sum has noise of std z / √(1 − share) · C.
    """

    name: Literal["adaptive_dp"] = "adaptive_dp"
    unit: ClassVar[Unit] = "client"
    mechanism: ClassVar[Mechanism] = "gaussian"
    measures: ClassVar[tuple[str, ...]] = tuple(DISTANCES)
    clip_l2: Positive
    """In the first round."""
    noise_multiplier: Positive
    """Of a round: of the sum and the count together."""
    quantile: Fraction = 0.5
    """Of the clients, whose updates shall be within the bound."""
    adaptation: Positive = 0.2
    """How fast the logarithm of the bound follows."""
    count_share: Annotated[float, Field(gt=0, lt=1), NUMBER] = 0.01
    """Of what a round costs, for the count."""

    @property
    def count_noise_multiplier(self) -> float:
        """Return the std of the noise of the count over what a client moves it by: 1/2, for it is centred."""
        return self.noise_multiplier / math.sqrt(self.count_share)

    def memory(self, parameters: int) -> Memory:
        import torch

        return {"clip_l2": torch.tensor([self.clip_l2], dtype=torch.float64)}

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        return clip(updates, float(context.memory["clip_l2"]))

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        multiplier = self.noise_multiplier / math.sqrt(1 - self.count_share)
        return gaussian_mean(bounded, multiplier, context.expected, context.noise("noise"))

    def remember(self, bounded: Bounded, context: RoundContext) -> tuple[Memory, Facts]:
        assert bounded.inside is not None
        before = context.memory["clip_l2"]
        count = bounded.inside.double().cpu().sub(0.5).sum(0, keepdim=True)
        noisy = count + self.count_noise_multiplier / 2 * context.noise("count").like(count)
        share = noisy / context.expected + 0.5
        now = before * (self.adaptation * (self.quantile - share)).exp()
        facts = {"count_noise_multiplier": self.count_noise_multiplier}
        return {"clip_l2": now.clamp(LEAST, MOST)}, facts
