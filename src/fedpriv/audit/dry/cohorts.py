"""Tests of who came: how many, who with whom, who again, held against the law by which cohorts are drawn.

`came` `[R, T, N]` says how often each of N clients was drawn in each of T rounds of R runs. Counts are
binomial; of cohorts of fixed size most vary less, so that tests of them are wrong less often than they say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc, ndtr, ndtri
from scipy.stats import binom, chi2, hypergeom

from fedpriv.audit.dry.normals import NOTHING, Suspicion, rarest, spread_pvalue
from fedpriv.mechanisms.sampling import CohortLaw

LAGS = 50  # from a round to a later one
SUMMED = 200  # returns that are expected where their sum is near a normal


def suspicions(cohort_law: CohortLaw, came: np.ndarray, again: np.ndarray) -> Iterator[tuple[str, Suspicion]]:
    """Yield each fault that there may be, by its name; `again` `[1, T, N]` is one more run."""
    runs, rounds, population = came.shape
    size, fixed = cohort_law.expected(population), cohort_law.law != "poisson"
    if len(twice := np.argwhere(came.max(axis=2) > 1)):
        yield "twice", Suspicion(0.0, f"a client is drawn more than once in round {twice[0][1] + 1}")
    if fixed and (came.sum(axis=2) != size).any():
        yield "sizes", Suspicion(0.0, f"a cohort is not of the {size:g} clients that it shall be")
    if size >= population:
        return
    came, again = (np.minimum(part, 1).astype(np.float32) for part in (came, again))
    rows, chance = came.reshape(-1, population), size / population
    turns = came.transpose(0, 2, 1).reshape(-1, rounds)
    together, met = rows.T @ rows, turns.T @ turns
    # Of fixed size a second client, and a third, comes less often once the first is drawn.
    second, third = ((size - k) / (population - k) if fixed else chance for k in (1, 2))
    if not fixed:
        rate = f"a client comes with probability {rows.mean():.4g}, and cohorts"
        yield "sizes", differ(rows.sum(axis=1), binom(population, chance), rate)
        yield "returns", returns(met, runs * population, chance)
    yield "halves", halves(rows, chance, fixed)
    yield "clients", clients(rows, chance, fixed)
    pair_chance, turn_chance = (chance * second, chance**2) if fixed else (None, None)
    yield "pairs", rarest_pair(together, len(rows), pair_chance, "clients {} and {} come together")
    yield "turns", rarest_pair(met, runs * population, turn_chance, "clients come in rounds {} and {}")
    yield "threes", threes(rows, chance * second * third)
    yield "cohort_runs", other_runs(np.concatenate([came, again]), chance, fixed)


def normal_scores(counts: np.ndarray, trials: int, chance: float, rng: np.random.Generator) -> np.ndarray:
    """Return counts as standard normals: exactly that, if they are independent and binomial."""
    counts = np.minimum(counts, trials).astype(np.float64)
    below = np.where(counts > 0, bdtr(counts - 1, trials, chance), 0.0)
    return normals_between(below, bdtr(counts, trials, chance), rng)


def normals_between(below: np.ndarray, until: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one normal for each count of which `below` is the chance of fewer, `until` that of no more.

    Dunn and Smyth 1996, "Randomized quantile residuals".
    """
    return ndtri(rng.uniform(below, until)).clip(-40, 40)


def differ(counts: np.ndarray, by_chance: Any, name: str) -> Suspicion:
    """Suspicion that counts of this distribution differ more from each other, or less, than by chance."""
    counts = np.minimum(counts, by_chance.support()[1])
    squares = normals_between(by_chance.cdf(counts - 1), by_chance.cdf(counts), np.random.default_rng(0)) ** 2
    return Suspicion(
        float(spread_pvalue(squares.sum(), squares.size)),
        f"{name} differ {float(squares.mean()) ** 0.5:.3g} times as far as by chance",
    )


def halves(rows: np.ndarray, chance: float, fixed: bool) -> Suspicion:
    """Fault: of a half of the clients there come more or fewer than by chance, or always as many."""
    population = rows.shape[1]
    half = population // 2
    by_chance = hypergeom(population, round(chance * population), half) if fixed else binom(half, chance)
    each = [
        differ(rows[:, part].sum(axis=1), by_chance, f"sizes of cohorts within the {name} half of all")
        for name, part in (("first", slice(half)), ("even", slice(0, 2 * half, 2)))
    ]
    return Suspicion(min(each).pvalue * len(each), min(each).fault)


def clients(rows: np.ndarray, chance: float, fixed: bool) -> Suspicion:
    """Fault: a client comes more often than others, or all come as often as each other."""
    counts, (rounds, population) = rows.sum(axis=0), rows.shape
    if not fixed:
        rate = f"a client comes with probability {rows.mean():.4g}, and clients"
        return differ(counts, binom(rounds, chance), rate)
    # Of fixed size: counts are less free by one, and each varies as a binomial does.
    squares = float(np.square(counts - rounds * chance).sum() / (rounds * chance * (1 - chance)))
    squares *= (population - 1) / population
    return Suspicion(
        float(spread_pvalue(np.array(squares), population - 1)),
        f"clients differ {math.sqrt(squares / population):.3g} times as far as by chance",
    )


def two_sided(counts: np.ndarray, trials: int, chance: float) -> tuple[int, float]:
    """Return the index of the rarest of binomial counts, and its p-value among all of them."""
    ends = [int(counts.argmin()), int(counts.argmax())]
    least, most = counts[ends].astype(np.float64)
    rare = [bdtr(least, trials, chance), bdtrc(most - 1, trials, chance)]
    side = int(np.argmin(rare))
    return ends[side], 2 * float(rare[side]) * counts.size


def rarest_pair(counts: np.ndarray, trials: int, chance: float | None, what: str) -> Suspicion:
    """Suspicion that two of them come together more often, or less, than by chance; `counts` `[k, k]`.

    Without a chance it is that of those who come as often as these two did, independently.
    """
    if len(counts) < 2:
        return NOTHING
    rows, columns = np.triu_indices(len(counts), 1)
    pairs, one = counts[rows, columns].astype(np.float64), np.diag(counts).astype(np.float64)
    if chance is None:
        both, left = one[rows] * one[columns], (trials - one[rows]) * (trials - one[columns])
        with np.errstate(divide="ignore", invalid="ignore"):
            index = int(np.abs(np.nan_to_num((pairs * trials - both) / np.sqrt(both * left))).argmax())
        by_chance = hypergeom(trials, one[rows[index]], one[columns[index]])
        rare = 2 * min(by_chance.cdf(pairs[index]), by_chance.sf(pairs[index] - 1)) * pairs.size
        expected = both[index] / trials
    else:
        (index, rare), expected = two_sided(pairs, trials, chance), trials * chance
    names = what.format(rows[index] + 1, columns[index] + 1)
    return Suspicion(float(rare), f"{names} {pairs[index]:.0f} times and not about {expected:.0f}")


def returns(met: np.ndarray, trials: int, chance: float) -> Suspicion:
    """Fault: who has come, comes sooner or later again than by chance; of Poisson samples.

    With mean 0 and variance 1 coins of different rounds are uncorrelated, and so are products of two of them.
    """
    apart = np.arange(1, min(LAGS, len(met) - 1) + 1)
    apart = apart[trials * (len(met) - apart) * chance**2 >= SUMMED]
    if not len(apart):
        return NOTHING
    one = np.diag(met).astype(np.float64)
    centred = (met - chance * (one[:, None] + one) + trials * chance**2) / (chance * (1 - chance))
    scores = np.array([np.trace(centred, lag) for lag in apart]) / np.sqrt(trials * (len(met) - apart))
    often = ["seldom", "often"]
    text = "who comes, comes too {} again {} rounds later"
    pvalues = 2 * ndtr(-np.abs(scores))
    return rarest([(pvalues, lambda index: text.format(often[int(scores[index] > 0)], apart[index]))])


def threes(rows: np.ndarray, chance: float) -> Suspicion:
    """Fault: three clients, of adjacent numbers or a third of all apart, come together by another chance."""
    kinds = []
    for apart in (1, rows.shape[1] // 3):
        count = rows.shape[1] - 2 * apart
        first, second, third = (rows[:, part * apart : part * apart + count] for part in range(3))
        index, rare = two_sided((first * second * third).sum(axis=0), len(rows), chance)
        text = "clients {}, {} and {} do not come by chance".format(*(index + 1 + apart * np.arange(3)))
        kinds.append((np.array([rare]), lambda _, text=text: text))
    return rarest(kinds)


def other_runs(came: np.ndarray, chance: float, fixed: bool) -> Suspicion:
    """Fault: cohorts of a round come again in other runs."""
    counts = came.sum(axis=0).ravel()
    _, rare = two_sided(counts, len(came), chance)
    squares = (normal_scores(counts, len(came), chance, np.random.default_rng(0)) ** 2).sum()
    spread = chi2.sf(squares, counts.size) if fixed else spread_pvalue(squares, counts.size)
    return Suspicion(2 * min(rare, float(spread)), "the cohort of a round comes again in another run")
