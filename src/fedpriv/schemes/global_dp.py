"""Geyer et al. / SecretFlow: client-level DP that stops before the budget is exceeded.

DEVIATION: the authors' code scales *small* updates up to the median and lets large ones pass; here
every update ends with norm at most S, and what the code does is `clipping: released`, which has
no ε. The code clips each layer by itself; here the update is scaled as a whole, either way.
DEVIATION: the authors' code stops after the round that crossed the bound; here that round is not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, WithJsonSchema

from fedpriv.account.accountants import ACCOUNTANTS
from fedpriv.frozen import Delta, Frozen, Positive, choice_error, unless
from fedpriv.mechanisms.clipping import Bounded, clip, norms_of, raise_to
from fedpriv.mechanisms.gaussian import Denominator, gaussian_mean
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.trace import DISTANCES, Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch

    from fedpriv.mechanisms.sampling import CohortLaw


# Of our accountants those that plan independent noise.
OUR_PLANNERS = [name for name, accountant in ACCOUNTANTS.own.items() if accountant.plans_of("gaussian")]


def _of_plans(name: str) -> str:
    if name not in ACCOUNTANTS or not ACCOUNTANTS[name].plans_of("gaussian"):
        raise choice_error("accountant", [name], ", ".join(OUR_PLANNERS))
    return name


Planner = Annotated[str, AfterValidator(_of_plans), WithJsonSchema({"enum": OUR_PLANNERS, "type": "string"})]


class RoundBudget(Frozen):
    """The (ε, δ) that no round may exceed, as `accountant` counts it."""

    epsilon: Positive
    """Training stops before the round that would exceed it."""
    delta: Delta
    """At which ε is counted."""
    accountant: Planner = "moments"
    """Who counts."""


class GlobalDP(Scheme):
    """Clip to S, a number or the median norm of the round, noise σS on the sum, divide by m.

    m is the expected number of clients or, with `denominator: present`, that of those who came.

    With `clip: median` the bound S is a private statistic used without noise: the stated ε then ignores
    what S itself reveals (the trace marks it `clip_private`). With `clipping: released` updates smaller than
    S are scaled up to it and larger ones pass: nothing is bounded, and the noise σS hides nothing (the trace
    has the bound ∞). The rounds of the budget are still counted as if S were a bound, as the code does.
    """

    name: Literal["global_dp"] = "global_dp"
    unit: ClassVar[Unit] = "client"
    mechanism: ClassVar[Mechanism] = "gaussian"
    measures: ClassVar[tuple[str, ...]] = tuple(DISTANCES)
    clip: Literal["median"] | Positive
    """The bound S of an update's norm, or the median norm of the round."""
    clipping: Literal["bounded", "released"] = unless("bounded")
    """released: the authors' code; no ε holds."""
    noise_multiplier: Positive
    """σ: noise std of the sum over S."""
    denominator: Denominator = unless("expected")
    """Of the mean: clients expected, or who came."""
    budget: RoundBudget
    """What may be spent."""

    def horizon(self, cohort: CohortLaw, population: int, rounds: int) -> int:
        """Return the last round whose ε is within the budget; σ, q and T are public, so no data is seen.

        Counted as if the cohort were drawn by Poisson sampling, a mean over those present at sensitivity 2S;
        with another law, and of such a mean, the ledger says otherwise.
        """
        from fedpriv.account.plans import affordable_rounds

        return affordable_rounds(
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            sampling_rate=cohort.expected(population) / population,
            noise_multiplier=self.noise_multiplier / (2 if self.denominator == "present" else 1),
            at_most=rounds,
            accountant=self.budget.accountant,
        )

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        scale = raise_to if self.clipping == "released" else clip
        if self.clip != "median":
            return scale(updates, self.clip)
        norms = norms_of(updates)
        # An empty or all-zero round has no median; any positive bound keeps the noise defined.
        median = float(norms.median()) if len(norms) else 0.0
        bounded, facts = scale(updates, median if 0 < median < float("inf") else 1.0)
        return bounded, facts | {"clip_private": True}

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        noise = context.noise("noise")
        return gaussian_mean(bounded, self.noise_multiplier, context.expected, noise, self.denominator)
