"""Client-level privacy: clip each update, Gaussian noise on the sum.

Federated Learning with Bayesian Differential Privacy, section V-A, with the scaling of Geyer et al.

DEVIATION: eq. (7) prints noise of std σC on the *average*. We add it to the *sum*, as Geyer et al. do, whom
the paper says it follows: literal eq. (7) is |U| times noisier and cannot give the published accuracies.
DEVIATION: the denominator is the public expected cohort qN, not |U|, so that the sensitivity of the sum is C;
|U| is `denominator: present`, whose account is another (docs/accounting.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import TypeAdapter, WithJsonSchema

from fedpriv.frozen import Frozen, Positive, unless
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.gaussian import Denominator, gaussian_mean
from fedpriv.mechanisms.sampling import CohortLaw
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.trace import DISTANCES, Facts, Mechanism, Unit

if TYPE_CHECKING:
    import torch


class RunBudget(Frozen):
    """What all rounds of a run may cost a client, in place of the scheme's `noise_multiplier`."""

    epsilon: Positive
    """Of a client added or removed, after the last round, at the run's `account.delta`.

    With cohorts of a fixed size it is of a client replaced.
    """
    accountant: str = ""
    """That certifies it; empty: the scheme's own, pld unless it says another."""


NUMBER_OR_BUDGET = {"anyOf": [TypeAdapter(Positive).json_schema(), RunBudget.model_json_schema()]}


class ClientDP(Scheme):
    """Clip to `clip_l2`, add N(0, (`noise_multiplier` · clip_l2)²) to the sum, divide by qN.

    With `denominator: present` it is divided by the number of clients who came, which whoever sees the noise
    learns as well: sampling then hides a client only among those who might have come in its place.
    """

    name: Literal["client_dp"] = "client_dp"
    unit: ClassVar[Unit] = "client"
    mechanism: ClassVar[Mechanism] = "gaussian"
    measures: ClassVar[tuple[str, ...]] = tuple(DISTANCES)
    clip_l2: Positive
    """The bound C of an update's norm."""
    noise_multiplier: Annotated[Positive, WithJsonSchema(NUMBER_OR_BUDGET)]
    """σ: noise std of the sum over C; or what it may cost, `{epsilon: 4}`, for which the least σ is found."""
    denominator: Denominator = unless("expected")
    """Of the mean: clients expected, or who came."""

    def plan(self, cohort: CohortLaw, population: int, rounds: int) -> dict[str, Any] | None:
        if self.denominator != "expected" or cohort.law not in ("poisson", "full", "fixed"):
            return None
        law = {"sampling_law": "fixed"} if cohort.law == "fixed" else {}
        return {"sampling_rate": cohort.expected(population) / population, **law}

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        return clip(updates, self.clip_l2)

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        noise = context.noise("noise")
        return gaussian_mean(bounded, self.noise_multiplier, context.expected, noise, self.denominator)
