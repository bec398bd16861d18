"""What many rounds show of the noise and of the cohorts, by chance: tests that are seldom wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, chi2, norm, t

from fedpriv.audit.dry.rounds import Site

ALPHA = 1e-3  # how often one of all checks of a sound mechanism is wrong: confidence pays
RANDOM = 8  # directions


class Seen(NamedTuple):
    """What dry runs of one site have shown: transcripts, noise over σ, cohorts."""

    site: Site
    inside: np.ndarray  # scores with the canary
    outside: np.ndarray  # and without
    powers: np.ndarray  # [runs, T], sums of squares of the noise of a round
    sums: np.ndarray  # [runs], of all numbers of the noise
    gram: np.ndarray  # [d, d], sums over runs and rounds of products of two of its numbers
    together: np.ndarray  # [T, T], sums over runs and numbers of products of the noise of two rounds
    apart: np.ndarray  # [T], the same of a round and that of the run before; zero where there is one run
    sizes: np.ndarray  # [runs, T], of cohorts
    shared: np.ndarray  # [T, T], sums over runs of how many came in both of two rounds

    @property
    def rounds(self) -> int:
        """Return of how many rounds there is noise, of all runs."""
        return self.powers.size


def variance(seen: Seen, alpha: float) -> str:
    """Return by how much all of the noise is off."""
    total, numbers = float(seen.powers.sum()), seen.rounds * len(seen.gram)
    off = 2 * min(chi2.sf(total, numbers), chi2.cdf(total, numbers)) < alpha
    return f"the noise has {total / numbers:.4g} times the variance that is stated" if off else ""


def centre(seen: Seen, alpha: float) -> str:
    """Return whether the noise is not around zero: of bits, whether another share of them is flipped."""
    numbers = seen.rounds * len(seen.gram)
    off = float(seen.sums.sum()) / math.sqrt(numbers)
    return (
        f"the mean of the noise is {off / math.sqrt(numbers):.4g} σ" if 2 * norm.sf(abs(off)) < alpha else ""
    )


def level(seen: Seen, alpha: float) -> str:
    """Return whether some rounds have more noise than others."""
    dimension = len(seen.gram)
    with np.errstate(invalid="ignore"):
        # Of noise whose level is the same in all rounds these are standard normal.
        levels = norm.ppf(chi2.cdf(seen.powers, dimension))
    if not chi2.sf(float((levels**2).sum()), levels.size) < alpha:
        return ""
    return "the level of the noise changes from round to round, as if with the number of those who came"


def directions(seen: Seen, alpha: float) -> str:
    """Return along which direction the variance is another: of one number, of all, of layers' difference."""
    dimension = len(seen.gram)
    rows = np.concatenate([special(dimension), np.eye(dimension)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = np.einsum("ki,ij,kj->k", rows, seen.gram, rows, optimize=True)
    rare = 2 * np.minimum(chi2.sf(found, seen.rounds), chi2.cdf(found, seen.rounds))
    worst = int(rare.argmin())
    if rare[worst] >= alpha / len(rows):
        return ""
    names = ["the sum of all numbers", "their alternating sum", "the difference of two layers"]
    names += ["a random direction"] * RANDOM
    name = names[worst] if worst < len(names) else "one number"
    return f"the noise along {name} has {found[worst] / seen.rounds:.4g} times the variance that is stated"


def special(dimension: int) -> np.ndarray:
    """Return directions `[k, d]` along which faults are likely, and some at random."""
    ones, first = np.ones(dimension), np.arange(dimension) < dimension - dimension // 2
    alternating = np.where(np.arange(dimension) % 2, -1.0, 1.0)
    random = np.random.default_rng(0).standard_normal((RANDOM, dimension))
    return np.vstack([ones, alternating, np.where(first, 1.0, -1.0), random])


def any_direction(seen: Seen, alpha: float) -> str:
    """Return whether there is any direction along which the noise has another variance.

    Of n rounds of d independent standard normals no singular value is farther than √d + √(2 ln(2/α)) from
    √n: Davidson and Szarek 2001, "Local operator theory, random matrices and Banach spaces", theorem II.13.
    """
    dimension = len(seen.gram)
    far = math.sqrt(dimension) + math.sqrt(2 * math.log(2 / alpha))
    singular = np.sqrt(np.linalg.eigvalsh(seen.gram)[[0, -1]].clip(min=0))
    least, most = singular - math.sqrt(seen.rounds)
    if least >= -far and most <= far:
        return ""
    worst = float(singular[0 if least < -far else 1]) ** 2 / seen.rounds
    return f"along some direction the noise has {worst:.4g} times the variance that is stated"


def numbers(seen: Seen, alpha: float) -> str:
    """Return which two numbers of the noise are not independent."""
    first, second, rare = dependent(seen.gram, seen.rounds)
    return f"the noise of numbers {first} and {second} is not independent" if rare < alpha else ""


def rounds(seen: Seen, alpha: float) -> str:
    """Return which two rounds have noise that is not independent."""
    first, second, rare = dependent(seen.together, len(seen.powers) * len(seen.gram))
    return f"the noise of round {first} comes again in round {second}" if rare < alpha else ""


def runs(seen: Seen, alpha: float) -> str:
    """Return whether the noise of a round is that of another run."""
    before, after = seen.powers[:-1].sum(axis=0), seen.powers[1:].sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rare = chance(seen.apart / np.sqrt(before * after), (len(seen.powers) - 1) * len(seen.gram))
    one = int(rare.argmin())
    return f"the noise of round {one + 1} comes again in another run" if rare[one] < alpha / len(rare) else ""


def dependent(products: np.ndarray, samples: int) -> tuple[int, int, float]:
    """Return which two are the least independent, counted from 1, and how rare that is among all pairs."""
    size = np.sqrt(np.diag(products))
    with np.errstate(divide="ignore", invalid="ignore"):
        rare = np.where(
            np.triu(np.ones_like(products), 1) > 0, chance(products / np.outer(size, size), samples), 1.0
        )
    first, second = np.unravel_index(int(rare.argmin()), rare.shape)
    return int(first) + 1, int(second) + 1, float(rare.min()) * max(1, len(size) * (len(size) - 1) // 2)


def chance(correlation: np.ndarray, samples: int) -> np.ndarray:
    """Return how rare a correlation is of so many pairs of independent normals of mean 0; 1 of nothing."""
    if samples < 2:
        return np.ones_like(correlation)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.abs(correlation) * np.sqrt((samples - 1) / np.fmax(1 - correlation**2, 0.0))
    return np.where(np.isnan(odds), 1.0, 2 * t.sf(odds, samples - 1))


def rate(seen: Seen, alpha: float) -> str:
    """Return whether cohorts are not of the size that the law says."""
    law, population = seen.site.mechanism.law, seen.site.population
    expected, total = law.expected(population), float(seen.sizes.sum())
    if law.law != "poisson":
        return (
            ""
            if (seen.sizes == expected).all()
            else f"a cohort is not of the {expected:g} clients that it shall be"
        )
    rare = two_sided(total, population * seen.rounds, expected / population)
    found = total / (population * seen.rounds)
    return f"a client comes with probability {found:.4g}" if rare < alpha else ""


def cohorts(seen: Seen, alpha: float) -> str:
    """Return which two rounds have too many clients in common, or too few."""
    population, runs = seen.site.population, len(seen.powers)
    chance = (seen.site.mechanism.law.expected(population) / population) ** 2
    if chance == 1 or seen.site.mechanism.law.law == "spaced":
        return ""  # of those who come in turn every run is looked at by itself
    rare = np.where(
        np.triu(np.ones_like(seen.shared), 1) > 0, two_sided(seen.shared, runs * population, chance), 1.0
    )
    first, second = np.unravel_index(int(rare.argmin()), rare.shape)
    pairs = max(1, len(rare) * (len(rare) - 1) // 2)
    found = f"the cohort of round {int(second) + 1} depends on that of round {int(first) + 1}"
    return found if rare.min() * pairs < alpha else ""


def two_sided(count: float | np.ndarray, trials: int, chance: float) -> np.ndarray:
    """Return how rare a count is, in either direction."""
    return 2 * np.minimum(binom.sf(np.asarray(count) - 1, trials, chance), binom.cdf(count, trials, chance))


Check = Callable[[Seen, float], str]
# Of the noise: where one of these is wrong, nobody knows how scores are distributed without the canary.
NOISE: dict[str, Check] = {
    "variance": variance,
    "centre": centre,
    "level": level,
    "directions": directions,
    "any direction": any_direction,
    "numbers": numbers,
    "rounds": rounds,
    "runs": runs,
}
COHORTS: dict[str, Check] = {"rate": rate, "cohorts": cohorts}
EACH = ALPHA / (len(NOISE) + len(COHORTS) + 1)  # of one check; that of what is kept is in `probes`


def checked(seen: Seen) -> dict[str, str]:
    """Return what each check has found: empty where nothing."""
    return {name: look(seen, EACH) for name, look in (NOISE | COHORTS).items()}
