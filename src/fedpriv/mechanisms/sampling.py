"""Sampling: who takes part in a round, and which examples are in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from fedpriv.errors import BadInput
from fedpriv.frozen import NUMBER, Count, RunPart
from fedpriv.registry import Registry
from fedpriv.trace import Facts

if TYPE_CHECKING:
    from fedpriv.config.run import Run
    from fedpriv.streams import Streams


class CohortLaw(RunPart):
    """How the clients of a round are drawn; `expected` is public, the realised size is not."""

    law: str
    words: ClassVar[str]  # what prose calls it

    @classmethod
    def of_share(cls, share: float, population: int) -> Self:
        """Return the law that expects this share of so many clients in a cohort, if it can be told one."""
        raise NotImplementedError

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        """Return the ids of this round's clients, ascending, each at most once."""
        raise NotImplementedError

    def members(self, population: int, streams: Streams, round_number: int) -> np.ndarray:
        """Cohort of a round of a run, as `draw` gives it."""
        return self.draw(population, streams.numpy("cohort", round_number))

    def expected(self, population: int) -> float:
        """Return the public denominator of the mean: the expected cohort size."""
        raise NotImplementedError

    def facts(self, population: int, rounds: int) -> Facts:
        """Columns of the trace about how often a client comes in all `rounds`, where that is limited."""
        return {}

    def gap(self, population: int) -> int:
        """Least number of rounds from one of a client's rounds to its next."""
        return 1

    def most(self, population: int, rounds: int, failure: float) -> int:
        """Return so many clients that any one of them has fewer companions in every round.

        Except with probability `failure` at most; with 0 always.
        """
        return int(self.expected(population))


class Poisson(CohortLaw):
    """Every client joins independently with probability `rate`; an empty round is possible."""

    law: Literal["poisson"] = "poisson"
    words: ClassVar[str] = "Poisson sampling"
    rate: Annotated[float, Field(ge=1e-9, le=1), NUMBER]
    """A smaller one could not be accounted."""

    @classmethod
    def of_share(cls, share: float, population: int) -> Self:
        return cls(rate=share)

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        return np.flatnonzero(rng.random(population) < self.rate)

    def expected(self, population: int) -> float:
        return self.rate * population

    def most(self, population: int, rounds: int, failure: float) -> int:
        from scipy.stats import binom

        beyond = binom.isf(failure / rounds, population - 1, self.rate) if failure else population - 1
        return min(population, int(beyond) + 1)


class OfSize(CohortLaw):
    """As many clients in every round."""

    size: Count
    """Clients in every round."""

    @classmethod
    def of_share(cls, share: float, population: int) -> Self:
        return cls.model_validate({"size": max(1, round(share * population))})

    def refuses(self, run: Run) -> str:
        return self.too_many(run.partition.clients)

    def too_many(self, population: int) -> str:
        """One line where more are asked for than there are, else the empty string."""
        few = f"cohort.size: found {self.size}, allowed: at most {population} clients"
        return few if self.size > population else ""

    def expected(self, population: int) -> float:
        return float(self.size)


class Fixed(OfSize):
    """`size` clients without replacement; accountants that assume Poisson do not cover this."""

    law: Literal["fixed"] = "fixed"
    words: ClassVar[str] = "sampling without replacement"

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        if few := self.too_many(population):
            raise BadInput(few)
        return np.sort(rng.choice(population, self.size, replace=False))


class Full(CohortLaw):
    """Everyone, every round."""

    law: Literal["full"] = "full"
    words: ClassVar[str] = "full participation"

    @classmethod
    def of_share(cls, share: float, population: int) -> Self:
        return cls()

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        return np.arange(population)

    def expected(self, population: int) -> float:
        return float(population)


COHORTS: Registry[type[CohortLaw]] = Registry(
    "cohorts", CohortLaw, {"poisson": Poisson, "fixed": Fixed, "full": Full}
)


def poisson_batch(examples: int, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a batch in random order; every example is in it with probability batch_size/examples."""
    return rng.permutation(np.flatnonzero(rng.random(examples) < batch_size / examples))
