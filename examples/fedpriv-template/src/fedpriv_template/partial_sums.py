"""Noise on partial sums, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from fedpriv.account.accountants import Accountant
from fedpriv.account.rdp import guaranteed_epsilon
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.client_dp import ClientDP
from fedpriv.trace import Facts, Mechanism, Released, TraceColumn

if TYPE_CHECKING:
    import torch

    from fedpriv.account.statement import Curve
    from fedpriv.account.views import View
    from fedpriv.mechanisms.clipping import Bounded

PREFIX = Released(
    "partial sums of bounded parts, each with Gaussian noise of its own",
    {"prefix_multiplier": TraceColumn("float64", "std of that noise over the bound", 0.0)},
    independent=False,
)


class Prefix(ClientDP):
    """Clip, and let the noise of the sum of all rounds so far be N(0, (`noise_multiplier` · clip_l2)²)."""

    name: Literal["prefix"] = "prefix"
    mechanism: ClassVar[Mechanism] = "prefix"
    draws_again: ClassVar[bool] = True  # the noise of the round before, which the operating system could not

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        total = bounded.updates.sum(0)
        now, before = (
            context.streams.noise("prefix", round).like(total)
            for round in (context.number, context.number - 1)
        )
        noise = now - before if context.number > 1 else now
        step = (total + self.noise_multiplier * bounded.l2 * noise) / context.expected
        return step, {"prefix_multiplier": self.noise_multiplier}


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round of clients that may come in each: all partial sums are one Gaussian."""
    rounds = np.arange(1, len(view.counts) + 1)
    moved = np.sqrt(np.cumsum(rounds**2.0))
    ratios = (moved / view.facts["prefix_multiplier"]).tolist()
    epsilon = np.array([guaranteed_epsilon(mu, delta) for mu in ratios])
    return [view.curve(epsilon, np.full(len(rounds), np.nan), "prefix", "C")]


ACCOUNTANT = Accountant(curves, mechanisms=("prefix",), laws=("full", "poisson"))
