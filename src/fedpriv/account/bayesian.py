"""The Bayesian accountant: ε for clients *like those sampled*. An estimate, never a guarantee.

Federated Learning with Bayesian Differential Privacy (below: BDP), Theorems 1-3 and eq. (5). The cost of a
round at λ is the log of E_x[exp(λ D_{λ+1})] over clients x, bounded from m sampled distances by a Student-t
upper confidence bound. Why the result is no guarantee is told in docs/accounting.md.

DEVIATION: BDP Theorem 3 prints a right-hand term that is the moment given the client is in the cohort; it is
always the larger one and undoes the amplification by sampling. By default the left term stands for both
directions, which it bounds; the printed term is `as_printed`.
DEVIATION: BDP Theorem 1 (`product`) multiplies expectations over the same client across rounds, which is no
bound. `hoelder` (the exponent T of the authors' later code) and `panel` (the joint moment of clients followed
through all rounds) stand beside it.
DEVIATION: the authors' code takes the least ε over λ at no charge. Here δ pays for every bound looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

import numpy as np
from scipy.special import stdtrit

from fedpriv.account.moments import LAMBDAS, Term, best, log_moment
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    import pandas as pd

# Distance -> the relation it belongs to and the most it can be, in units of the clip bound C.
DISTANCES = {
    "remove_sum": ("add_remove", 1.0),
    "remove_mean": ("add_remove", 2.0),
    "pairwise": ("replace_one", 2.0),
}

# The share of δ that pays for the estimator; the rest goes to the Chernoff bound.
ESTIMATOR_SHARE = 0.01


def failure_probability(delta: float, rounds: int) -> float:
    """Return δ' = 0.01 δ/(T·#Λ): what one upper bound may fail with, by a union over rounds and λ."""
    return ESTIMATOR_SHARE * delta / (rounds * len(LAMBDAS))


def log_upper_bound(log_samples: np.ndarray, failure: float) -> np.ndarray:
    """Return log(M + t·S/√(m−1)), the upper confidence bound on a mean of exponentials (BDP eq. 5).

    `log_samples` is `[..., m, Λ]` with the logs of the samples, NaN where a sample is missing; the result is
    `[..., Λ]`. M is the mean, S the population standard deviation, t the Student-t quantile with m − 1
    degrees of freedom that is exceeded with probability `failure`. Both moments are taken about the largest
    sample, the variance in a second pass: nearly equal samples give their common value, never NaN.

    With fewer than 3 samples there is no bound: the result is infinite and the caller must have another.
    """
    present = ~np.isnan(log_samples)
    size = present.sum(axis=-2)
    largest = np.where(present, log_samples, -np.inf).max(axis=-2)
    usable = (size >= 3) & np.isfinite(largest)
    shift = np.where(usable, largest, 0.0)
    # e^(x − max) − 1: keeps the differences of samples that are all close to 1.
    below = np.expm1(np.where(present & usable[..., None, :], log_samples - shift[..., None, :], 0.0))
    count = np.maximum(size, 3)
    mean = below.sum(axis=-2) / count
    spread = np.where(present, below - mean[..., None, :], 0.0)
    deviation = np.sqrt((spread**2).sum(axis=-2) / count)
    quantile = -stdtrit(count - 1, failure)
    bound = shift + np.log1p(mean + quantile * deviation / np.sqrt(count - 1))
    return np.where(usable, bound, np.inf)


def round_costs(log_samples: np.ndarray, worst: np.ndarray, failure: float, exponent: int = 1) -> np.ndarray:
    """Return each round's privacy cost `[T, Λ]` from its samples `[T, m, Λ]`.

    `exponent` is the Hölder exponent: (1/exponent) log E exp(exponent · λ D). A round with fewer than 3
    samples, an empty one among them, costs `worst` `[T, Λ]`: the DP cost of a client at the largest
    distance that clipping allows. Nothing smaller is justified, for the cost is an expectation over clients
    that the round says (almost) nothing about; the emptiness of a cohort is chance, not knowledge.
    """
    bound = log_upper_bound(exponent * log_samples, failure) / exponent
    few = (~np.isnan(log_samples)).sum(axis=-2) < 3
    return np.where(few, worst, bound)


def panel_costs(log_samples: np.ndarray, worst: np.ndarray, failure: float) -> np.ndarray:
    """Return the total cost after each round `[T, Λ]` from one panel's samples `[T, p, Λ]`.

    One bound on the mean over the panel of exp(Σ λ D): a client that is hard in every round stays hard, with
    no assumption of independence over rounds. The moment cannot fall from round to round, so a bound that
    does is held at its earlier value. A panel of fewer than 3 costs the sum of `worst` `[T, Λ]`.
    """
    bound = log_upper_bound(log_samples.cumsum(axis=0), failure)
    few = log_samples.shape[1] < 3
    return worst.cumsum(axis=0) if few else np.maximum.accumulate(bound, axis=0)


def curves(trace: pd.DataFrame, distances: Mapping[str, np.ndarray], delta: float) -> list[Curve]:
    """Return ε after every round for every distance, composition and right term that was sampled.

    `distances` holds arrays `[T, m]` in the units of the noise std, NaN where a sample is missing.
    """
    chernoff = (1 - ESTIMATOR_SHARE) * delta
    met = bool((trace["sampling_law"] != "fixed").all())
    found = []
    for distance, (relation, _) in DISTANCES.items():
        for term in get_args(Term):
            for composition, cost in _total_costs(trace, distances, distance, term, delta).items():
                value, order = best(cost, chernoff)
                found.append(
                    Curve(
                        value,
                        order,
                        accountant="bayesian",
                        relation=relation,
                        composition=composition,
                        distance=distance,
                        right_term=term,
                        kind="estimate",
                        assumptions_met=met,
                    )
                )
    return found


def _total_costs(
    trace: pd.DataFrame, distances: Mapping[str, np.ndarray], distance: str, term: Term, delta: float
) -> dict[str, np.ndarray]:
    """Return composition -> total cost after each round `[T, Λ]`, of the compositions that were sampled."""
    planned = len(trace)
    failure = failure_probability(delta, planned)
    _, largest = DISTANCES[distance]
    clip = trace["clip_l2"].to_numpy()
    worst = _log_moments(trace, (largest * clip)[:, None], term)[:, 0]
    found = {}
    sampled, panel = distances.get(distance), distances.get(f"panel_{distance}")
    if sampled is not None and sampled.shape[1]:
        samples = _log_moments(trace, sampled, term)
        found["product"] = round_costs(samples, worst, failure).cumsum(axis=0)
        found["hoelder"] = round_costs(samples, worst, failure, exponent=planned).cumsum(axis=0)
    if panel is not None and panel.shape[1]:
        found["panel"] = panel_costs(_log_moments(trace, panel, term), worst, failure)
    return found


def _log_moments(trace: pd.DataFrame, distances: np.ndarray, term: Term) -> np.ndarray:
    """Return λ D_{λ+1} of each distance `[T, m]` under its round's sampling rate and noise, `[T, m, Λ]`."""
    noise = trace["noise_std"].to_numpy()[:, None]
    rates = trace["sampling_rate"].to_numpy()
    # Without noise everything is revealed, even by an update that happens to be zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        multipliers = np.where(noise > 0, noise / distances, np.where(np.isnan(distances), np.nan, 0.0))
    found = np.full((*distances.shape, len(LAMBDAS)), np.nan)
    for rate in np.unique(rates):
        chosen = (rates == rate)[:, None] & ~np.isnan(multipliers)
        found[chosen] = log_moment(rate, multipliers[chosen], term=term)
    return found
