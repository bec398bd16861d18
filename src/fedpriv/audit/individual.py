"""Individual accounting: what one client costs whose updates had known norms, by loss distributions.

Feldman, Zrnic 2021, "Individual privacy accounting via a Rényi filter", for norms that are what they were in
this run. In a round a client moves a noisy sum by u standard deviations of its noise if it is drawn, which it
is with probability q; every round's u is rounded down, so that what is composed is never more than the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from fedpriv.account import composition, gaussian, loss, pld
from fedpriv.account.events import Mechanism, planned
from fedpriv.account.view import View

STEP = 0.98  # between levels of u that are told apart
LEVELS = 150  # below the last one a client moves nothing
CELLS, RESOLVED = 5_000, 5.0  # per ε, and per loss of most releases
FINER, GAIN = 4, 1.005  # grids are finer by so much, as long as each raises the bound by as much
FARTHEST, WIDEST = 40.0, 5.0  # losses are as large as lower bounds count them, and widest apart
SOLVED = 1e-8  # more than an ε in closed form is off
LARGE = 500.0  # a loss beyond which sampling at any rate takes a constant from it

# (releases, how many of each, width of a grid, δ) -> a lower bound on ε.
Bound = Callable[[Sequence[Mechanism], Sequence[int], float, float], float]


def standardised(view: View, distances: np.ndarray) -> np.ndarray:
    """Return how many standard deviations of a round's noise the distances `[T, p]` are; ∞ without noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = distances / view.samples.noise_std[:, None]
    return np.where(distances > 0, moved, 0.0)


def epsilon(rate: float, moved: np.ndarray, delta: float) -> float:
    """Return a lower bound on ε of a client that moves the sum of each round by `moved` `[T]`.

    It is that of the worse of both directions, to add the client and to remove it. It is infinite without
    noise, and 0 where nothing can be certified.
    """
    if not len(moved) or not moved.max() > 0:
        return 0.0
    if np.isinf(moved).any():
        return math.inf
    if rate == 1:  # all rounds are one release, whose ε is known but for what its solver is off
        found = gaussian.epsilon(min(float(np.linalg.norm(moved.clip(max=1e6))), 1e6), delta)
        return max(0.0, found - SOLVED * (1 + found))
    moved = np.where(moved * pld.MOST_NOISE < 1, 0.0, moved.clip(max=FARTHEST))
    largest = float(moved.max())
    if not largest > 0:
        return 0.0
    with np.errstate(divide="ignore"):
        level = np.ceil(np.log(moved / largest) / math.log(STEP) - 1e-9)
    levels, rounds = np.unique(level[level < LEVELS].astype(np.int64), return_counts=True)
    releases = [planned(rate, float(one)) for one in 1 / (largest * STEP**levels)]
    return refined(releases, rounds.tolist(), delta, finest(rate, largest), lower)


def refined(
    releases: Sequence[Mechanism], times: Sequence[int], delta: float, narrow: float, bound: Bound
) -> float:
    """Return the best `bound` on ε, on grids that are finer and finer down to `narrow`, while that pays."""
    wanted = pld.interval(releases, times, delta, "C", CELLS)
    width, best = min(wanted * FINER, WIDEST), 0.0
    while True:
        found = bound(releases, times, width, delta)
        if width <= narrow or 0 < found < GAIN * best:
            return max(best, found)
        width, best = max(width / FINER, narrow), max(best, found)


def finest(rate: float, largest: float) -> float:
    """Return the finest interval that is of use: wider ones lose up to so much of ε in every release.

    It is a share of most losses, if the cells of all losses fit.
    """
    usual = rate * min(1.0, largest) * math.exp(-(largest**2) / 2)
    low, high = loss.reach(rate, 1 / largest)
    return max(usual / RESOLVED, 2 * (high - low) / composition.MOST_CELLS)


def lower(releases: Sequence[Mechanism], times: Sequence[int], width: float, delta: float) -> float:
    """Return a lower bound on ε of so many of each release, from losses on multiples of `width`."""
    return max(
        composition.lower(
            [
                (loss.below(one.sampling_rate, one.noise_multiplier, width, added), count)
                for one, count in zip(releases, times, strict=True)
            ],
            delta,
        )
        for added in (False, True)
    )


def losses(rate: float, moved: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return the losses `[draws]` of removing a client, each of a client and a transcript drawn together.

    `moved` is `[T, p]` of p clients, of whom each is as likely. By how much noise alone decides, coins and
    normals are drawn here.
    """
    chosen = rng.integers(0, moved.shape[1], draws)
    total = np.zeros(draws)
    for row in moved:
        u = row[chosen]
        seen = u * (rng.random(draws) < rate) + rng.standard_normal(draws)
        whole = u * (seen - u / 2)  # the loss if the client were always drawn
        with np.errstate(divide="ignore"):  # of one always drawn and far off: −∞ bounds nothing
            total += np.log(1 - rate + rate * np.exp(np.minimum(whole, LARGE)))
        total += np.maximum(whole - LARGE, 0)
    return total


def quantile_low(values: np.ndarray, delta: float, confidence: float) -> float:
    """Return the largest of `values` that is exceeded with probability above `delta`, at the confidence.

    0 where there are too few values to say so: it is a lower bound, in the sense of probability, on the ε for
    which P[loss > ε] is δ at most.
    """
    from scipy.stats import binom

    # So many of them lie above the quantile of δ, or fewer, at that confidence.
    above = int(binom.ppf(confidence, len(values), delta))
    return max(0.0, float(np.sort(values)[::-1][above])) if above < len(values) else 0.0
