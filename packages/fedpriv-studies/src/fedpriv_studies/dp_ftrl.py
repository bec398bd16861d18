"""Client-level privacy without sampling: clip each update, Gaussian noise that is correlated between rounds.

Kairouz, McMahan, Song, Thakkar, Thakurta, Xu 2021, "Practical and private (deep) learning without sampling
or shuffling", Algorithm 1 (DP-FTRL), with the matrices of `fedpriv_studies.correlated`. Its model is the
start and a rate times the noisy sum of all updates so far: where a server is that takes a step along the
noisy sum of every round. Momentum and learning rates are the server's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import WithJsonSchema, model_validator

from fedpriv.frozen import Count, Positive, choice_error
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.sampling import CohortLaw
from fedpriv.schemes.base import RoundContext, Scheme
from fedpriv.schemes.client_dp import NUMBER_OR_BUDGET
from fedpriv.trace import Facts, Mechanism, Unit
from fedpriv_studies.correlated import MATRICES, Matrix, Name, Turns

if TYPE_CHECKING:
    import torch


class DpFtrl(Scheme):
    """Clip to `clip_l2`, add correlated noise to the sum, divide by the size of a cohort.

    `noise_multiplier` is the std of every independent normal over clip_l2. Which ε that is depends on how
    often a client comes and how far apart, which `cohort: {law: spaced}` limits; with any other law everybody
    may come in every round, and is counted so.
    """

    name: Literal["dp_ftrl"] = "dp_ftrl"
    unit: ClassVar[Unit] = "client"
    mechanism: ClassVar[Mechanism] = "correlated_gaussian"
    accountant: ClassVar[str] = "matrix"
    usual_law: ClassVar[str] = "spaced"
    draws_again: ClassVar[bool] = True
    clip_l2: Positive
    """The bound C of an update's norm."""
    noise_multiplier: Annotated[Positive, WithJsonSchema(NUMBER_OR_BUDGET)]
    """Std of an independent normal over C; or what it may cost, `{epsilon: 4}`: the least is found."""
    matrix: Name = "tree"
    """That noise is correlated through."""
    bands: Count | None = None
    """Of banded: diagonals that are not zero, null: as many as a client's rounds are apart."""

    @model_validator(mode="after")
    def _bands_are_of_banded(self) -> DpFtrl:
        if self.bands and self.matrix != "banded":
            raise choice_error("bands", [self.bands], f"null with matrix {self.matrix}")
        return self

    def planned(self, cohort: CohortLaw, population: int, rounds: int) -> Matrix:
        """Return the matrix of a run of so many rounds; without a limit everybody may come in every round."""
        times = int(cohort.facts(population, rounds).get("participations", rounds))
        return MATRICES[self.matrix].planned(Turns(rounds, times, cohort.gap(population)), self.bands or 0)

    def plan(self, cohort: CohortLaw, population: int, rounds: int) -> dict[str, Any] | None:
        if cohort.law not in ("spaced", "full"):
            return None
        matrix = self.planned(cohort, population, rounds).facts()
        of_cohorts = cohort.facts(population, rounds) or {"participations": rounds, "rounds_apart": 1}
        return {"sampling_rate": cohort.expected(population) / population, **matrix, **of_cohorts}

    def bound(self, updates: torch.Tensor, context: RoundContext) -> tuple[Bounded, Facts]:
        return clip(updates, self.clip_l2)

    def combine(self, bounded: Bounded, context: RoundContext) -> tuple[torch.Tensor, Facts]:
        total, std = bounded.updates.sum(0), self.noise_multiplier * bounded.sensitivity("add_remove")
        matrix = self.planned(context.law, context.population, context.rounds)
        noise = matrix.noise(context.streams, context.number, total)
        facts = {"noise_multiplier": self.noise_multiplier, "noise_std": std, **matrix.facts()}
        return (total + std * noise) / context.expected, facts
