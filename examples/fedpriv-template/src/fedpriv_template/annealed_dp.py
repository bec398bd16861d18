"""Client-level privacy whose noise falls from the first round to the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Positive
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.gaussian import gaussian_mean
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.trace import DISTANCES, Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch


class AnnealedDP(Scheme):
    """Clip to `clip_l2` and add noise whose multiplier falls geometrically from `first` to `last`.

    Every round's own multiplier goes into the trace, and ε is counted from that: nothing here knows of ε.
    """

    name: Literal["annealed_dp"] = "annealed_dp"
    unit: ClassVar[Unit] = "client"
    mechanism: ClassVar[Mechanism] = "gaussian"  # of a multiplier of its own in every round
    measures: ClassVar[tuple[str, ...]] = tuple(DISTANCES)
    clip_l2: Positive
    first: Positive
    last: Positive

    def noise_multiplier(self, number: int, rounds: int) -> float:
        """Return the multiplier of round 1, 2, ..., `rounds`."""
        return self.first * (self.last / self.first) ** ((number - 1) / max(1, rounds - 1))

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        return clip(updates, self.clip_l2)

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        multiplier = self.noise_multiplier(context.number, context.rounds)
        return gaussian_mean(bounded, multiplier, context.expected, context.noise("noise"))
