"""The moments accountant: log-moments of the subsampled Gaussian at integer λ, classical conversion.

Abadi et al. 2016, "Deep Learning with Differential Privacy", Theorem 2. All arithmetic is in log space. The
log-moment at λ equals λ times the Rényi divergence of order λ + 1 (Mironov, Talwar, Zhang 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    from fedpriv.account.views import View

# ε is at least log(1/δ)/λ_max: the published ε = .1 at δ = 1e-5 needs λ ≥ 116, far above the customary 32.
LAMBDAS = np.array([*range(1, 65), 80, 96, 128, 192, 256, 384, 512])

# Terms summed at once: a chunk stays in a core's cache.
CHUNK = 1 << 14

Term = Literal["both_left", "as_printed"]


def log_moment(
    sampling_rate: float,
    noise_multiplier: float | np.ndarray,
    lambdas: Sequence[int] | np.ndarray = LAMBDAS,
    term: Term = "both_left",
) -> np.ndarray:
    """Return the log-moments at `lambdas` of Gaussians sampled with rate q, `[*noise_multiplier.shape, Λ]`.

    `both_left` is log E_{k~Bin(λ+1,q)} exp((k²−k)/(2z²)), the log-moment of the loss between the mixture
    and the Gaussian, which bounds both directions. `as_printed` is the right-hand term of Theorem 3 of
    Federated Learning with Bayesian Differential Privacy, log E_{k~Bin(λ,q)} exp((k²+k)/(2z²)): the moment
    given that the client *is* in the cohort. It is never the smaller of the two: it is also their maximum.

    An infinite multiplier (nothing moves) costs 0, a zero multiplier (no noise) costs infinity.
    """
    with np.errstate(divide="ignore", over="ignore"):
        scale = 0.5 / np.square(noise_multiplier, dtype=np.float64)
    return np.stack([log_moment_at(sampling_rate, scale, int(order), term) for order in lambdas], axis=-1)


def log_moment_at(sampling_rate: float, scale: np.ndarray, order: int, term: Term) -> np.ndarray:
    """Return the log-moments at λ = `order` for each s = Δ²/(2σ²) in `scale`, of its shape.

    As a function of s it is zero at zero, rises, and is convex: the log of a sum of exponentials of s. An
    infinite s costs infinity, NaN stays NaN.
    """
    scale = np.asarray(scale, dtype=np.float64)
    found = np.where(scale > 0, np.inf, np.minimum(scale, 0.0))
    proper = (scale > 0) & (scale < np.inf)
    # Rounding may leave the sum of the binomial weights a hair below one.
    found[proper] = _log_sum(sampling_rate, scale[proper], order, term).clip(min=0.0)
    return found


def _log_sum(sampling_rate: float, scale: np.ndarray, order: int, term: Term) -> np.ndarray:
    """Return the log-sum-exp over k for each of `scale`, a flat array of positive numbers."""
    trials = order + 1 if term == "both_left" else order
    k = np.arange(trials + 1.0)
    log_binomial = gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1)
    log_weight = log_binomial + xlogy(k, sampling_rate) + xlog1py(trials - k, -sampling_rate)
    power = k * k - k if term == "both_left" else k * k + k
    found = np.empty_like(scale)
    rows = max(1, CHUNK // len(k))
    for start in range(0, len(scale), rows):
        terms = np.multiply.outer(scale[start : start + rows], power)
        terms += log_weight
        largest = terms.max(axis=1)
        terms -= largest[:, None]
        found[start : start + rows] = largest + np.log(np.exp(terms, out=terms).sum(axis=1))
    return found


def best(
    cost: np.ndarray, delta: float, lambdas: Sequence[int] | np.ndarray = LAMBDAS
) -> tuple[np.ndarray, np.ndarray]:
    """Return ε = min over λ of (cost − ln δ)/λ and the λ that gives it (NaN where ε is infinite).

    `cost` is `[..., Λ]`; both results are `[...]`.
    """
    orders = np.asarray(lambdas, dtype=np.float64)
    candidates = (cost - np.log(delta)) / orders
    epsilon = candidates.min(axis=-1)
    order = np.where(np.isfinite(epsilon), orders[candidates.argmin(axis=-1)], np.nan)
    return epsilon, order


def epsilon(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    lambdas: Sequence[int] | np.ndarray = LAMBDAS,
    term: Term = "both_left",
) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours."""
    cost = rounds * log_moment(sampling_rate, noise_multiplier, lambdas, term)
    return float(best(cost, delta, lambdas)[0])


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C.

    The formula assumes Poisson sampling (full participation is its case q = 1); for `fixed` cohorts it is
    computed with q = m/N all the same and marked as not meeting its assumptions.
    """
    found: list[Curve] = []
    for sensitivity in view.relations:
        costs = [log_moment(one.sampling_rate, one.multiplier(sensitivity)) for one in view.mechanisms]
        curve = view.curve(*best(view.running(np.array(costs)), delta), "moments", sensitivity)
        found.append(replace(curve, assumptions_met=view.law != "fixed" and curve.assumptions_met))
    return found
