"""One view of a trace: whose presence is protected from whom, and by which mechanisms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fedpriv.account.events import Mechanism
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd

# Assumptions that fail, as a status names them.
FIXED = "cohorts have a fixed size"
SIZE_SEEN = "the size of a cohort is seen"

ADD_OR_REMOVE = {"C": "add_remove", "2C": "replace_one"}
ZERO_OUT = {"C": "zero_out", "2C": "replace_one"}
REPLACE = {"2C": "replace_one"}


class Samples(NamedTuple):
    """Sampled distances and what they are held against: T rounds, K steps, n members, m samples of each."""

    sampling_rate: np.ndarray  # [T]
    noise_std: np.ndarray  # [T], in the units of the distances
    bound: np.ndarray  # [T], the norm bound in these units
    largest: dict[str, float]  # of each distance, in units of the bound
    distances: dict[str, np.ndarray]  # [T, K, n, m], NaN where a sample is missing
    panels: dict[str, np.ndarray]  # [T, p], the same clients in every round
    taking_part: np.ndarray  # [T], how many of the n positions are filled; the others cost nothing
    members: Literal["sum", "max"]  # how the costs of a round's members make the cost of a step
    alike: np.ndarray  # [T], of how many members the largest cost is counted

    @property
    def bounds(self) -> int:
        """Return how many upper bounds are looked at: one for each step of each member of each round."""
        steps = max((array.shape[1] for array in self.distances.values()), default=1)
        return max(1, steps * int(self.taking_part.sum()))


class View(NamedTuple):
    """Whose presence is protected from whom: the mechanisms that were run, how many, and the samples."""

    unit: str
    accounting: str  # sequential, parallel, sum, sized, upload, drawn; empty for noise that the server adds
    law: str  # how units get into a release: poisson, fixed, full or seen
    relations: dict[str, str]  # sensitivity -> the neighbours whom it is for
    certified: tuple[str, ...]  # the sensitivities that the mechanism enforces
    unmet: str  # the assumption of the view that fails; empty if all hold
    mechanisms: list[Mechanism]  # [D], distinct
    counts: np.ndarray  # [T, D], how many of each were run in a round
    samples: Samples
    apart: str = "remove_sum"  # the distance that its neighbours are apart
    residual: float = 0.0  # the probability that the mechanisms are not those that were run; δ pays for it
    uncertified: str = ""  # why a sensitivity is not certified that is not
    mechanism: str = "gaussian"  # what was released, as its scheme declares
    # Columns `[T]` of the trace beyond what every trace has: of the mechanism, and of how often who comes.
    facts: Mapping[str, np.ndarray] = MappingProxyType({})

    def unmet_at(self, sensitivity: str) -> str:
        """Return the assumption that fails of an ε of this view at `sensitivity`; empty if all hold."""
        return self.unmet or ("" if sensitivity in self.certified else self.uncertified)

    def curve(self, epsilon: np.ndarray, order: np.ndarray, accountant: str, sensitivity: str) -> Curve:
        """Return ε at `sensitivity` after every round, with what it means in this view."""
        unmet, relation = self.unmet_at(sensitivity), self.relations[sensitivity]
        return Curve(epsilon, order, accountant, relation, sensitivity=sensitivity, unmet=unmet)

    def running(self, costs: np.ndarray) -> np.ndarray:
        """Return the total after each round `[T, ...]` of the mechanisms' costs `[D, ...]`; 0 × ∞ = 0."""
        done = self.counts.cumsum(axis=0)
        revealed = done @ np.isinf(costs).astype(np.int64)
        return np.where(revealed > 0, np.inf, done @ np.where(np.isinf(costs), 0.0, costs))


def distinct(mechanisms: Iterable[Mechanism], times: np.ndarray) -> tuple[list[Mechanism], np.ndarray]:
    """Return the distinct ones of the rounds' mechanisms `[T]` and how many of each a round had `[T, D]`."""
    by_round = list(mechanisms)
    column = {one: index for index, one in enumerate(dict.fromkeys(by_round))}
    counts = np.zeros((len(by_round), len(column)), dtype=np.int64)
    counts[np.arange(len(by_round)), [column[one] for one in by_round]] = times
    return list(column), counts


def effective_noise(trace: pd.DataFrame, noise: np.ndarray) -> np.ndarray:
    """Return the noise of every round that hides anything `[T]`.

    There is none where a client sends something in the clear as well (statistics of batch normalisation):
    that is computed from its data and released as it is, and no noise on the rest makes up for it.
    """
    return np.where(trace["clear_values"] > 0, 0.0, noise)
