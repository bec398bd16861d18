"""Federations so small that all an attacker sees can be written out: an oracle that knows no accountant.

Numbers are one-dimensional. Every cohort that can be drawn is a Gaussian of its own, so what comes out of a
round is a finite mixture, and the δ of two of them is integrated on a grid.
"""

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np

# Cells of a grid to a standard deviation, for a round that is looked at alone, and for one of two.
FINE = {1: 200, 2: 30}


class Outcomes(NamedTuple):
    """What may come out: with which probability, a public fact beside it (how many came), a Gaussian."""

    probability: np.ndarray
    seen: np.ndarray
    mean: np.ndarray
    std: np.ndarray


class Federation(NamedTuple):
    """N clients, what they send at most, and whose noise is on it."""

    clients: int
    law: str
    rate: float  # of poisson
    size: int  # of fixed
    server_std: float = 0.0  # of noise that the server adds to every sum
    client_std: float = 0.0  # of noise that every client adds to what it sends
    topped_up_to: int = 0  # shares of a client's noise that the server adds where fewer came
    divided_by_those_present: bool = False
    sum_clipped_at: float = np.inf

    @property
    def size_is_seen(self) -> bool:
        """Whether noise or denominator tell how many came, as they do to whoever has many coordinates."""
        varies = self.client_std > 0 and not self.topped_up_to
        return varies or self.divided_by_those_present

    def round(self, sent: np.ndarray) -> Outcomes:
        """Return what a round may give where client i would send `sent[i]`; a NaN is not there at all."""
        here = sent[~np.isnan(sent)]
        members = subsets(len(here))
        count = members.sum(axis=1)
        if self.law == "poisson":
            probability = self.rate**count * (1 - self.rate) ** (len(here) - count)
        else:
            size = self.size if self.law == "fixed" else len(here)
            probability = (count == size) / comb(len(here), size)
        shares = np.maximum(count, self.topped_up_to) if self.topped_up_to else count
        std = np.sqrt(self.server_std**2 + shares * self.client_std**2)
        total = np.clip(members @ here, -self.sum_clipped_at, self.sum_clipped_at)
        if self.divided_by_those_present:
            divisor = np.maximum(count, 1)
            total, std = total / divisor, std / divisor
        seen = count if self.size_is_seen else np.zeros_like(count)
        return merged(Outcomes(probability, seen, total, std))


@cache
def subsets(n: int) -> np.ndarray:
    """Return all subsets of n, bool `[2^n, n]`."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1


def merged(outcomes: Outcomes) -> Outcomes:
    """Return the same outcomes, equal ones together, impossible ones left out."""
    possible = outcomes.probability > 0
    probability = outcomes.probability[possible]
    rows = np.stack([part[possible] for part in outcomes[1:]], axis=1).astype(float).round(12)
    distinct, index = np.unique(rows, axis=0, return_inverse=True)
    return Outcomes(np.bincount(index.ravel(), probability), *distinct.T)


def given(outcomes: Outcomes, seen: int) -> Outcomes:
    """Return the outcomes where that was seen."""
    some = outcomes.seen == seen
    probability = outcomes.probability[some]
    return Outcomes(probability / probability.sum(), *(part[some] for part in outcomes[1:]))


def cells(one: Outcomes, other: Outcomes, fine: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of both on a common grid, for everything that may be seen, end to end."""
    masses: tuple[list[np.ndarray], list[np.ndarray]] = [], []
    for seen in np.union1d(one.seen, other.seen):
        some = [np.flatnonzero(side.seen == seen) for side in (one, other)]
        mean = np.concatenate([side.mean[index] for side, index in zip((one, other), some, strict=True)])
        std = np.concatenate([side.std[index] for side, index in zip((one, other), some, strict=True)])
        if not std.any():  # nothing but a number comes out: an atom
            points = np.unique(mean)
            for index, side, found in zip(some, (one, other), masses, strict=True):
                found.append((side.probability[index] * (side.mean[index] == points[:, None])).sum(axis=1))
            continue
        low, high = (mean - 9 * std).min(), (mean + 9 * std).max()
        number = int(np.ceil((high - low) / std.min() * fine))
        width = (high - low) / number
        grid = (low + width * (np.arange(number) + 0.5))[:, None]
        for index, side, found in zip(some, (one, other), masses, strict=True):
            scaled = (grid - side.mean[index]) / side.std[index]
            density = np.exp(-(scaled**2) / 2) / (side.std[index] * np.sqrt(2 * np.pi))
            found.append(density @ side.probability[index] * width)
    return np.concatenate(masses[0]), np.concatenate(masses[1])


def product(releases: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of all that independent releases give together."""
    together = np.ones(1), np.ones(1)
    for release in releases:
        together = tuple(np.outer(a, b).ravel() for a, b in zip(together, release, strict=True))
    return together


def delta(together: tuple[np.ndarray, np.ndarray], epsilon: float) -> float:
    """Return how much likelier than e^ε times the one's any event is under the other, at most."""
    one, other = together
    return max(float((a - np.exp(epsilon) * b).clip(min=0).sum()) for a, b in ((one, other), (other, one)))


def delta_of_rounds(pairs: list[tuple[Outcomes, Outcomes]], epsilons: np.ndarray) -> np.ndarray:
    """Return the δ of rounds, each with its two outcomes, at every ε."""
    together = product([cells(*pair, FINE[len(pairs)]) for pair in pairs])
    return np.array([delta(together, epsilon) for epsilon in epsilons])
