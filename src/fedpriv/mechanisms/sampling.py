"""Sampling: who takes part in a round, and which examples are in a batch."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedpriv.errors import BadInput
from fedpriv.frozen import NUMBER, Count, Frozen


class CohortLaw(Frozen):
    """How the clients of a round are drawn; `expected` is public, the realised size is not."""

    law: str

    def too_many(self, population: int) -> str:
        """Return which key asks for more clients than there are, or the empty string."""
        return ""

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        """Return the ids of this round's clients, ascending, each at most once."""
        raise NotImplementedError

    def expected(self, population: int) -> float:
        """Return the public denominator of the mean: the expected cohort size."""
        raise NotImplementedError

    def most(self, population: int, rounds: int, failure: float) -> int:
        """Return so many clients that any one of them has fewer companions in every round.

        Except with probability `failure` at most; with 0 always.
        """
        return int(self.expected(population))


class Poisson(CohortLaw):
    """Every client joins independently with probability `rate`; an empty round is possible."""

    law: Literal["poisson"] = "poisson"
    rate: Annotated[float, Field(ge=1e-9, le=1), NUMBER]  # a smaller one could not be accounted

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        return np.flatnonzero(rng.random(population) < self.rate)

    def expected(self, population: int) -> float:
        return self.rate * population

    def most(self, population: int, rounds: int, failure: float) -> int:
        from scipy.stats import binom

        beyond = binom.isf(failure / rounds, population - 1, self.rate) if failure else population - 1
        return min(population, int(beyond) + 1)


class Fixed(CohortLaw):
    """`size` clients without replacement; accountants that assume Poisson do not cover this."""

    law: Literal["fixed"] = "fixed"
    size: Count  # clients in every round

    def too_many(self, population: int) -> str:
        few = f"cohort.size: found {self.size}, allowed: at most {population} clients"
        return few if self.size > population else ""

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        if few := self.too_many(population):
            raise BadInput(few)
        return np.sort(rng.choice(population, self.size, replace=False))

    def expected(self, population: int) -> float:
        return float(self.size)


class Full(CohortLaw):
    """Everyone, every round."""

    law: Literal["full"] = "full"

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        return np.arange(population)

    def expected(self, population: int) -> float:
        return float(population)


COHORTS: dict[str, type[CohortLaw]] = {"poisson": Poisson, "fixed": Fixed, "full": Full}


def poisson_batch(examples: int, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a batch in random order; every example is in it with probability batch_size/examples."""
    return rng.permutation(np.flatnonzero(rng.random(examples) < batch_size / examples))
