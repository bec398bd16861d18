"""Individual accounting: what one client costs whose updates had known norms, by loss distributions.

Feldman, Zrnic 2021, "Individual privacy accounting via a Rényi filter", for norms that are what they were in
this run. In a round a client moves a noisy sum by u standard deviations of its noise if it is drawn, which it
is with probability q; every round's u is rounded down, so that what is composed is never more than the truth.
"""

from __future__ import annotations

import math

import numpy as np

from fedpriv.account import loss, moments
from fedpriv.account.view import View

STEP = 0.98  # between levels of u that are told apart
SHRUNK = 0.999  # more than a grid of losses rounds ε up
LEVELS = 150  # below the last one a client moves nothing
CELLS = 5_000  # per ε
LARGE = 500.0  # a loss beyond which sampling at any rate takes a constant from it


def in_stds(view: View, distances: np.ndarray) -> np.ndarray:
    """Return how many standard deviations of a round's noise the distances `[T, p]` are; ∞ without noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = distances / view.samples.noise_std[:, None]
    return np.where(distances > 0, moved, 0.0)


def epsilon(rate: float, moved: np.ndarray, delta: float) -> float:
    """Return ε of a client that moves the sum of each round by `moved` `[T]`, rounded down; ∞ without noise.

    That of the worse of both directions, to add the client and to remove it.
    """
    if not len(moved) or not moved.max() > 0:
        return 0.0
    if np.isinf(moved).any():
        return math.inf
    if rate == 1:  # all rounds are one release
        rounds, largest = np.ones(1, dtype=np.int64), float(np.linalg.norm(moved))
        levels = np.zeros(1, dtype=np.int64)
    else:
        largest = float(moved.max())
        with np.errstate(divide="ignore"):
            level = np.ceil(np.log(moved / largest) / math.log(STEP) - 1e-9)
        levels, rounds = np.unique(level[level < LEVELS].astype(np.int64), return_counts=True)
    multipliers = 1 / (SHRUNK * largest * STEP**levels)
    costs = moments.log_moment(rate, multipliers)
    rough = float(moments.best(rounds @ costs, delta)[0])
    reach = max(high - low for low, high in (loss.reach(rate, float(one)) for one in multipliers))
    width = max(rough / CELLS, 2 * reach / loss.MOST_CELLS)
    found = max(
        loss.epsilon(
            [
                (loss.Loss(rate, float(one), width, added), int(times))
                for one, times in zip(multipliers, rounds, strict=True)
            ],
            delta,
        )
        for added in (False, True)
    )
    return float(found)


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
    from scipy.stats import beta

    ordered = np.sort(values)[::-1]
    over = np.arange(1, len(values) + 1)
    least = beta.ppf(1 - confidence, over, len(values) - over + 1)
    enough = np.flatnonzero(least > delta)
    return max(0.0, float(ordered[enough[0]])) if len(enough) else 0.0
