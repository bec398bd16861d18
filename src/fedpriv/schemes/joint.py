"""Joint privacy: the clients' instance noise counted again, towards client-level privacy.

Federated Learning with Bayesian Differential Privacy, section V-C. The server adds nothing.

DEVIATION: the paper does not say against whom. Who sees only the *sum* faces everybody's noise; the server
that receives single uploads faces one client's. The trace lets both be counted (docs/accounting.md).
DEVIATION: a client that is taken out takes its noise along. We count the shares of the others, n − 1 of n.
DEVIATION: the paper's noise is as many shares as clients came, which tells their number: Poisson sampling
then hides less than the paper counts. `top_up` makes the noise that of a constant number of shares.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Below1, unless
from fedpriv.mechanisms.clipping import Bounded
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.instance import Instance
from fedpriv.trace import Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch

    from fedpriv.config.run import Run


class Joint(Instance):
    """As `instance`, with one gradient a round, so that noise and clean gradient belong to the same point.

    With `top_up` the server, trusted to sum, adds the noise of the clients that are missing to a constant and
    public number K of shares. `top_up` is the probability that in some round there are more than K, which
    the account pays from δ; 0: never, K is everybody. Why it holds: fix who else takes part in every round,
    and suppose they are fewer than K, which has nothing to do with the client or its data. With the client
    or without, the noise of the sum is then of K shares, and the client's part is there with probability q:
    Poisson sampling at sensitivity C, by adding or removing. So δ(ε) is at most that of Poisson sampling
    plus the probability that the others are not fewer.
    """

    name: Literal["joint"] = "joint"
    unit: ClassVar[Unit] = "both"
    mechanism: ClassVar[Mechanism] = "gaussian"
    # A client knows its own gradient and nobody else's.
    measures: ClassVar[tuple[str, ...]] = ("remove_sum",)
    top_up: Below1 | None = unless(None)
    """Chance that a round has more than K shares; null: no noise is added."""

    def refuses(self, run: Run) -> str:
        if not run.local.one_gradient:
            why = "for noisy steps would move the next gradient"
            return f"local: found {run.local.name}, allowed: fedsgd, {why}"
        return super().refuses(run)

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        step, facts = super().combine(bounded, context)
        size = len(bounded.updates)
        if self.top_up is None:
            return step, facts | {"noise_shares": max(size - 1, 1)}
        shares = context.law.most(context.population, context.rounds, self.top_up)
        missing = math.sqrt(max(shares - size, 0)) * context.gradient_noise_std
        step = step + context.noise("top_up").like(step) * (missing / context.expected)
        return step, facts | {"noise_shares": shares, "topped_up": True}
