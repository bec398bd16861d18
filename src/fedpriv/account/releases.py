"""What accountants count: single releases, of which a view has a few kinds, each so many times.

A release is a sum over a random sample of units with Gaussian noise on it, or a bit that is kept or flipped
by chance. Of rounds that have not happened yet it is what the planner of a run knows of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np

from fedpriv.errors import require_known


class Release(NamedTuple):
    """One Gaussian release of a sum over a random sample of units."""

    law: str  # poisson, fixed, full, or seen: drawn at random, and whoever looks sees who was
    population: int
    sample: int  # of `fixed` draws; 0 otherwise, where the realised size is not public
    sampling_rate: float
    noise_multiplier: float  # noise std over the bound C of one unit's part; 0 if there was no noise

    def multiplier(self, sensitivity: str) -> float:
        """Return the multiplier seen when one unit moves the sum by `sensitivity`, C or 2C."""
        return self.noise_multiplier if sensitivity == "C" else self.noise_multiplier / 2

    @property
    def share(self) -> float:
        """Return the chance of a unit to be in the release."""
        drawn = self.law == "fixed" and self.population
        return self.sample / self.population if drawn else self.sampling_rate


ONE_BIT, ALL_BITS = "one bit of a client", "all bits of a client"  # units of randomised response
BARE = 0.5  # the γ of a bit that is never flipped


class RandomBit(NamedTuple):
    """One bit of a client by randomised response."""

    gamma: float  # kept with probability 1/2 + γ
    clients: int  # whose bits are in the sum that is seen; 1 where single bits are


AnyRelease = TypeVar("AnyRelease", bound=NamedTuple)


def distinct_releases(
    releases: Iterable[AnyRelease], times: np.ndarray
) -> tuple[list[AnyRelease], np.ndarray]:
    """Return the distinct ones of the rounds' releases `[T]` and how many of each a round had `[T, D]`."""
    by_round = list(releases)
    column = {release: index for index, release in enumerate(dict.fromkeys(by_round))}
    counts = np.zeros((len(by_round), len(column)), dtype=np.int64)
    counts[np.arange(len(by_round)), [column[release] for release in by_round]] = times
    return list(column), counts


def planned_release(sampling_rate: float, noise_multiplier: float, law: str = "poisson") -> Release:
    """Return the release of rounds that have not happened yet, as the planner of a run sees it."""
    return Release("full" if sampling_rate == 1 else law, 0, 0, sampling_rate, noise_multiplier)


# How whoever plans may say that clients get into a round, -> how far apart neighbours then are.
PLANNED = {"poisson": "C", "fixed": "2C"}


def planned_sensitivity(sampling_law: str) -> str:
    """Return how far apart the neighbours of a plan are; BadInput where it has another law."""
    require_known("sampling_law", [sampling_law], PLANNED)
    return PLANNED[sampling_law]
