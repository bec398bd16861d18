"""Lower bounds on ε from an attacker's scores, each with its confidence: pure functions of numbers.

`inside` are scores of transcripts with the canary, `outside` of those without, `[n]`; more is more likely
inside. A threshold must be chosen before the scores are looked at, or on others. All return 0 where the
scores tell nothing, and exceed the truth with probability 1 − `confidence` at most.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta

from fedpriv.account.rdp import gaussian_epsilon


def witness(
    distances: Sequence[float] | np.ndarray, stds: Sequence[float] | np.ndarray, delta: float
) -> float:
    """Return ε of one pair of neighbours, exactly: releases of known Gaussian noise, so far apart in each.

    Nothing is sampled: whoever has the pair can tell it apart so well, and no smaller ε holds for it. A
    release without noise whose outcomes are apart is ∞.
    """
    distance, std = np.asarray(distances, dtype=np.float64), np.asarray(stds, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distance > 0, distance / std, 0.0)
    return gaussian_epsilon(float(np.linalg.norm(ratio)), delta)


def clopper_pearson(count: int, trials: int, alpha: float) -> float:
    """Return the upper limit of a probability of which `count` of `trials` came; wrong with probability α."""
    return float(beta.ppf(1 - alpha, count + 1, trials - count)) if count < trials else 1.0


def rates(inside: np.ndarray, outside: np.ndarray, threshold: float, alpha: float) -> tuple[float, float]:
    """Return upper limits of the rates of misses and of false alarms, together wrong with probability α."""
    # What is no number says nothing: it counts against the attacker on either side.
    missed, alarms = int((~(inside >= threshold)).sum()), int((~(outside < threshold)).sum())
    return clopper_pearson(missed, len(inside), alpha / 2), clopper_pearson(alarms, len(outside), alpha / 2)


def threshold_bound(
    inside: np.ndarray, outside: np.ndarray, threshold: float, delta: float, confidence: float = 0.95
) -> float:
    """Return ln((TPR − δ) / FPR) at the limits of both rates: no assumption, and at most about ln(n / 3.7).

    Jagielski, Ullman, Oprea 2020, "Auditing differentially private machine learning".
    """
    misses, alarms = rates(inside, outside, threshold, 1 - confidence)
    return max(0.0, math.log((1 - misses - delta) / alarms)) if 1 - misses > delta else 0.0


def gaussian_reading(
    inside: np.ndarray, outside: np.ndarray, threshold: float, delta: float, confidence: float = 0.95
) -> float:
    """Return ε of the Gaussian trade-off through both rates: sound only where the trade-off is near Gaussian.

    Nasr et al. 2023, "Tight auditing of differentially private machine learning".
    """
    misses, alarms = rates(inside, outside, threshold, 1 - confidence)
    return gaussian_epsilon(max(0.0, -float(ndtri(alarms)) - float(ndtri(misses))), delta)


def null_bound(hits: int, trials: int, log_null: float, delta: float, confidence: float = 0.95) -> float:
    """Return ln(TPR − δ) − ln P[hit | nobody] where that probability is known, and only hits are sampled."""
    least = 1 - clopper_pearson(trials - hits, trials, 1 - confidence)
    return max(0.0, math.log(least - delta) - log_null) if least > delta else 0.0


def expected_bound(hits: np.ndarray, log_null: np.ndarray, trials: int, delta: float) -> np.ndarray:
    """Return the expected bound of `null_bound` of so many trials; −∞ where nothing is to be expected.

    `hits` are the probabilities of a hit at each threshold that may be chosen, `log_null` those of nobody.
    """
    least = hits - 1.7 * np.sqrt(hits * (1 - hits) / trials) - 5 / trials
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(least > delta, np.log(least - delta) - log_null, -np.inf)


def one_shot_epsilon(cosines: np.ndarray, dimension: int, delta: float) -> tuple[float, float]:
    """Return an estimate of ε and the same at the lower end of its mean's 95 % interval: no bound.

    `cosines` `[n]` are those of random unit canaries with the change of a model of `dimension` numbers;
    without the canary one is N(0, 1/d). Andrew et al. 2024, "One-shot empirical privacy estimation for
    federated learning", in which all canaries are in one run and their cosines count as independent.
    """
    scaled = np.asarray(cosines) * math.sqrt(dimension)
    if len(scaled) < 2 or np.isnan(scaled).any():
        return 0.0, 0.0
    mean, slack = float(scaled.mean()), 1.96 * float(scaled.std(ddof=1)) / math.sqrt(len(scaled))
    return gaussian_epsilon(max(0.0, mean), delta), gaussian_epsilon(max(0.0, mean - slack), delta)
