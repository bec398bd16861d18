"""Tests of who came: how many, who with whom, who again, held against the law by which cohorts are drawn.

`came` `[R, T, N]` says how often each of N clients was drawn in each of T rounds of R runs. Counts are
binomial; of cohorts of fixed size they vary less, so that tests of them are wrong less often than they say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from scipy.special import bdtr, bdtrc, ndtr, ndtri
from scipy.stats import chi2, gamma

from fedpriv.audit.dry.normals import NOTHING, Numbers, Suspicion, law, spread_pvalue
from fedpriv.mechanisms.sampling import CohortLaw

LAGS = 50  # from a round to a later one
MET = 20  # pairs that are expected where the spread of all pairs is looked at


def normal_scores(counts: np.ndarray, trials: int, chance: float, rng: np.random.Generator) -> np.ndarray:
    """Return counts as standard normals: exactly that, if they are independent and binomial.

    Dunn and Smyth 1996, "Randomized quantile residuals".
    """
    counts = np.minimum(counts, trials).astype(np.float64)
    below = np.where(counts > 0, bdtr(counts - 1, trials, chance), 0.0)
    return ndtri(rng.uniform(below, bdtr(counts, trials, chance)))


def suspicions(
    cohort_law: CohortLaw, came: np.ndarray, again: np.ndarray
) -> Iterator[tuple[str, Suspicion]]:
    """Yield each fault that there may be, by its name; `again` `[1, T, N]` is one more run."""
    runs, rounds, population = came.shape
    size, fixed = cohort_law.expected(population), cohort_law.law != "poisson"
    twice = np.argwhere(came.max(axis=2) > 1)
    if len(twice):
        yield "twice", Suspicion(0.0, f"a client is drawn more than once in round {twice[0][1] + 1}")
    if fixed and (came.sum(axis=2) != size).any():
        yield "sizes", Suspicion(0.0, f"a cohort is not of the {size:g} clients that it shall be")
    if cohort_law.law == "full":
        return
    came = np.minimum(came, 1).astype(np.float32)
    rows, chance = came.reshape(-1, population), size / population
    second = (size - 1) / (population - 1) if fixed else chance  # for one more, once the first is drawn
    third = (size - 2) / (population - 2) if fixed else chance
    if not fixed:
        halves = {" in the first half": slice(population // 2), " of odd number": slice(0, None, 2)}
        yield "sizes", sizes(rows, chance, {"": slice(None)})
        yield "halves", sizes(rows, chance, halves)
        yield "size_law", size_law(rows, chance)
    yield "clients", clients(rows, chance, fixed)
    together = rows.T @ rows
    yield "pairs", rarest_pair(together, len(rows), chance * second, "clients {} and {} come together")
    rows_of_rounds = came.transpose(1, 0, 2).reshape(rounds, -1)
    overlap = rows_of_rounds @ rows_of_rounds.T
    yield "again", rarest_pair(overlap, runs * population, chance**2, "clients come in rounds {} and {}")
    if not fixed:
        yield "groups", spread_of_pairs(together, len(rows), chance, "clients come together")
        yield "turns", spread_of_pairs(overlap, runs * population, chance, "clients come again")
        yield "lags", lags(overlap, runs * population, chance)
    yield "threes", threes(rows, chance * second * third)
    yield "cohort_runs", attendance(np.concatenate([came, np.minimum(again, 1)]), chance, fixed)


def two_sided(counts: np.ndarray, trials: int, chance: float) -> tuple[int, float]:
    """Return the place of the rarest of binomial counts, and its p-value among all of them."""
    places = [int(counts.argmin()), int(counts.argmax())]
    least, most = (float(counts.flat[place]) for place in places)
    rare = [bdtr(least, trials, chance), bdtrc(most - 1, trials, chance)]
    side = int(np.argmin(rare))
    return places[side], 2 * float(rare[side]) * counts.size


def sizes(rows: np.ndarray, chance: float, parts: Mapping[str, slice]) -> Suspicion:
    """Fault: cohorts, or their parts among some clients, are not as large as the law says."""
    rng = np.random.default_rng(0)
    found = [
        differ(rows[:, part].sum(axis=1), rows[:, part].shape[1], chance, f"cohorts{name}", rng)
        for name, part in parts.items()
    ]
    return Suspicion(min(found).pvalue * len(found), min(found).fault)


def differ(
    counts: np.ndarray, trials: int, chance: float, name: str, rng: np.random.Generator
) -> Suspicion:
    """Suspicion that binomial counts differ more from each other, or less, than by chance."""
    squares = normal_scores(counts, trials, chance, rng).clip(-40, 40) ** 2
    return Suspicion(
        float(spread_pvalue(squares.sum(), squares.size)),
        f"a client comes with probability {counts.mean() / trials:.4g}, and {name} differ "
        f"{float(squares.mean()) ** 0.5:.3g} times as far as by chance",
    )


def size_law(rows: np.ndarray, chance: float) -> Suspicion:
    """Fault: sizes of cohorts are not binomial."""
    scores = normal_scores(rows.sum(axis=1), rows.shape[1], chance, np.random.default_rng(0))
    found = law(Numbers(scores[None, :, None], 1e-9))
    return Suspicion(found.pvalue, "the sizes of cohorts are not distributed as the law says")


def clients(rows: np.ndarray, chance: float, fixed: bool) -> Suspicion:
    """Fault: some clients come more often than others, or all come as often as each other."""
    counts, (rounds, population) = rows.sum(axis=0), rows.shape
    if not fixed:
        return differ(counts, rounds, chance, "clients", np.random.default_rng(0))
    # Of fixed size: counts are less free by one, and each varies as a binomial does.
    squares = float(np.square(counts - rounds * chance).sum() / (rounds * chance * (1 - chance)))
    squares *= (population - 1) / population
    return Suspicion(
        float(spread_pvalue(np.array(squares), population - 1)),
        f"clients differ {math.sqrt(squares / population):.3g} times as far as by chance",
    )


def rarest_pair(counts: np.ndarray, trials: int, chance: float, what: str) -> Suspicion:
    """Suspicion that two of them come together more often, or less, than by chance; `counts` `[k, k]`."""
    if len(counts) < 2:
        return NOTHING
    upper = np.triu_indices(len(counts), 1)
    pairs = counts[upper].astype(np.float64)
    place, rare = two_sided(pairs, trials, chance)
    names = what.format(upper[0][place] + 1, upper[1][place] + 1)
    return Suspicion(rare, f"{names} {pairs[place]:.0f} times and not about {trials * chance:.0f}")


def spread_of_pairs(counts: np.ndarray, trials: int, chance: float, what: str) -> Suspicion:
    """Suspicion that all pairs together differ more, or less, than by chance: of Poisson samples `[k, k]`.

    With mean 0 and variance 1 the coins of different clients and rounds are uncorrelated, and so are products
    of two of them. What is left is the covariance of squares of sums with one coin in common.
    """
    items = len(counts)
    if items < 3 or trials * chance**2 < MET:
        return NOTHING
    one = np.diag(counts).astype(np.float64)
    centred = counts - chance * (one[:, None] + one) + trials * chance**2
    squares = np.square(centred[np.triu_indices(items, 1)] / (chance * (1 - chance))).sum() / trials
    fourth = (1 - 3 * chance * (1 - chance)) / (chance * (1 - chance))  # moment of a coin
    pairs = math.comb(items, 2)
    spread = pairs * (2 + (fourth**2 - 3) / trials + 2 * (items - 2) * (fourth - 1) / trials)
    shape, scale = pairs**2 / spread, spread / pairs
    rare = 2 * min(gamma.cdf(squares, shape, scale=scale), gamma.sf(squares, shape, scale=scale))
    return Suspicion(float(rare), f"{what} {math.sqrt(squares / pairs):.3g} times as unevenly as by chance")


def lags(overlap: np.ndarray, trials: int, chance: float) -> Suspicion:
    """Fault: who has come, comes sooner or later again than by chance; of Poisson samples."""
    one = np.diag(overlap).astype(np.float64)
    centred = (overlap - chance * (one[:, None] + one) + trials * chance**2) / (chance * (1 - chance))
    later = [
        (lag, float(np.trace(centred, lag)) / math.sqrt(trials * (len(overlap) - lag)))
        for lag in range(1, min(LAGS, len(overlap) - 1) + 1)
        if trials * (len(overlap) - lag) * chance**2 >= MET
    ]
    if not later:
        return NOTHING
    lag, score = max(later, key=lambda pair: abs(pair[1]))
    often = "often" if score > 0 else "seldom"
    return Suspicion(
        2 * float(ndtr(-abs(score))) * len(later), f"who comes, comes too {often} again {lag} rounds later"
    )


def threes(rows: np.ndarray, chance: float) -> Suspicion:
    """Fault: three clients, of adjacent numbers or a third of all apart, come together by another chance."""
    population, found = rows.shape[1], []
    for apart in {1, population // 3}:
        count = population - 2 * apart
        if apart and count > 0:
            first, second, third = (rows[:, start * apart : start * apart + count] for start in range(3))
            place, rare = two_sided((first * second * third).sum(axis=0), len(rows), chance)
            numbers = [place + 1 + step * apart for step in range(3)]
            found.append(Suspicion(rare, "clients {}, {} and {} do not come by chance".format(*numbers)))
    return Suspicion(min(found).pvalue * len(found), min(found).fault) if found else NOTHING


def attendance(came: np.ndarray, chance: float, fixed: bool) -> Suspicion:
    """Fault: cohorts of a round come again in other runs."""
    runs = len(came)
    counts = came.sum(axis=0)
    _, rare = two_sided(counts, runs, chance)
    squares = normal_scores(counts, runs, chance, np.random.default_rng(0)).clip(-40, 40) ** 2
    spread = chi2.sf(squares.sum(), squares.size) if fixed else spread_pvalue(squares.sum(), squares.size)
    return Suspicion(2 * min(rare, float(spread)), "the cohort of a round comes again in another run")
