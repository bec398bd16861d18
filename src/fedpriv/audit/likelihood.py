"""The best attacker of a Poisson-subsampled Gaussian sum: its score, and how the score is distributed.

What a release shows of a canary is its part along the canary's direction, in units of the bound: N(0, σ²)
without the canary, N(1, σ²) with probability q with it. The sum of the log-likelihood ratios of all rounds is
the best score there is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from fedpriv.account.ranges import check
from fedpriv.audit import bounds

CELLS = 1 << 20  # of the grid on which scores are composed
LEAST = 1e-11  # tails below it are mostly what the transform is off
REACH = 12.0  # standard deviations of a score, and of the noise, that the grid covers


class Plan(NamedTuple):
    """Rounds that are alike: the rate at which a client joins, noise over bound, how many."""

    sampling_rate: float
    noise_multiplier: float
    rounds: int

    def checked(self) -> Plan:
        """Return the plan; raises BadInput naming the value that is out of range."""
        check(**self._asdict())
        return self


def score(plan: Plan, seen: np.ndarray) -> np.ndarray:
    """Return the log-likelihood ratio of what was `seen` along the canary, in units of the bound."""
    q, z = plan.sampling_rate, plan.noise_multiplier
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log1p(-q), np.log(q) + (seen - 0.5) / z**2)


def seen_at(plan: Plan, value: np.ndarray) -> np.ndarray:
    """Return what must be seen for that score; −∞ below the least score."""
    q, z = plan.sampling_rate, plan.noise_multiplier
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.expm1(value) > -q, 0.5 + z**2 * np.log1p(np.fmax(np.expm1(value), -q) / q), -np.inf
        )


class Scores(NamedTuple):
    """Probabilities that the score of all rounds is at least each of `values`: never below the exact ones."""

    values: np.ndarray  # ascending
    outside: np.ndarray  # without the canary
    inside: np.ndarray  # with it; of this one no more is asked than where to put a threshold

    def threshold(self, trials: int, delta: float) -> tuple[float, float]:
        """Return the threshold of which most is expected of so many trials, and its ln P[false alarm]."""
        with np.errstate(divide="ignore"):
            bound = bounds.foreseen(self.inside, np.log(self.outside), trials, delta)
        best = int(np.where(self.outside > LEAST, bound, -np.inf).argmax())
        return float(self.values[best]), float(np.log(self.outside[best]))


def scores(plan: Plan) -> Scores:
    """Return how the score of all rounds is distributed, by Fourier transform on a grid.

    A round's score is rounded up to the grid, so that no tail is below the exact one but by the 1e-14 that
    the transform is off.
    """
    q, z, rounds = plan
    low, high = (float(score(plan, np.asarray(side))) for side in (-REACH * z, 1 + REACH * z))
    x = np.linspace(-REACH * z, 1 + REACH * z, 20_001)
    parts = score(plan, x)
    spread = []
    for mean_at in (0.0, 1.0):
        density = np.exp(-((x - mean_at) ** 2) / (2 * z * z))
        density /= density.sum()
        spread.append((density @ parts, density @ parts**2))
    # Moments of one round without the canary, and with it.
    without, with_it = spread[0], tuple((1 - q) * a + q * b for a, b in zip(*spread, strict=True))
    means = [rounds * one[0] for one in (without, with_it)]
    stds = [(rounds * (one[1] - one[0] ** 2)) ** 0.5 for one in (without, with_it)]
    start = max(rounds * low, min(means) - REACH * max(stds))
    end = min(rounds * high, max(means) + REACH * max(stds))
    width = max((end - start) / (CELLS * 0.9), (high - low) / (CELLS * 0.9))
    first = int(np.floor(low / width))
    edges = np.arange(first, int(np.ceil(high / width)) + 1) * width
    at = seen_at(plan, edges) / z
    tails = []
    offset = int(np.floor(start / width))
    for shares in (((1.0, 0.0),), ((1 - q, 0.0), (q, 1.0))):
        below = np.sum([share * ndtr(at - mean / z) for share, mean in shares], axis=0)
        mass = np.diff(below, prepend=0.0)
        mass[-1] += 1 - below[-1]
        folded = np.pad(mass, (0, -len(mass) % CELLS)).reshape(-1, CELLS).sum(axis=0)
        summed = np.fft.irfft(np.fft.rfft(folded) ** rounds, CELLS)
        found = np.roll(summed, (rounds * first - offset) % CELLS).clip(0)
        tails.append(np.cumsum(found[::-1])[::-1])
    return Scores((offset + np.arange(CELLS)) * width, *tails)
