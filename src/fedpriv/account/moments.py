"""The moments accountant: log-moments of the subsampled Gaussian at integer λ, classical conversion.

Abadi et al. 2016, "Deep Learning with Differential Privacy", Theorem 2. All arithmetic is in log space. The
log-moment at λ equals λ times the Rényi divergence of order λ + 1 (Mironov, Talwar, Zhang 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlog1py, xlogy

from fedpriv.account.statement import FIXED, Curve

if TYPE_CHECKING:
    from fedpriv.account.views import View

# ε is at least log(1/δ)/λ_max: the published ε = .1 at δ = 1e-5 needs λ ≥ 116, far above the customary 32.
LAMBDAS = np.array([*range(1, 65), 80, 96, 128, 192, 256, 384, 512])

# Terms worked on at once: a chunk stays in a core's cache.
LAMBDA_CHUNK = 1 << 18

# Exponents up to this, at rates from this on, are summed as they are: nothing overflows, and what underflows
# is far below the rest. All else is summed in log space.
DIRECT, RATE = 600.0, 1e-20


def log_moment(
    sampling_rate: float,
    noise_multiplier: float | np.ndarray,
    lambdas: Sequence[int] | np.ndarray = LAMBDAS,
) -> np.ndarray:
    """Return the log-moments at `lambdas` of Gaussians sampled with rate q, `[*noise_multiplier.shape, Λ]`.

    Each is log E_{k~Bin(λ+1,q)} exp((k²−k)/(2z²)), the log-moment of the loss between the mixture and the
    Gaussian, which bounds both directions.

    An infinite multiplier (nothing moves) costs 0, a zero multiplier (no noise) costs infinity.
    """
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        scale = 0.5 / np.square(noise_multiplier, dtype=np.float64)
    return log_moments_at(sampling_rate, scale, lambdas)


def log_moments_at(
    sampling_rate: float, scale: np.ndarray, lambdas: Sequence[int] | np.ndarray
) -> np.ndarray:
    """Return the log-moments at `lambdas` for each s = Δ²/(2σ²) in `scale`, `[*scale.shape, Λ]`.

    As a function of s each is zero at zero, rises, and is convex: the log of a sum of exponentials of s. An
    infinite s costs infinity, NaN stays NaN. What is returned is never below the exact value, and above it by
    less than 1e-10 of it (1e-9 at rates below 1e-20), however small it is: no rounding is left to rounds by
    the million. Below the smallest float it is zero.
    """
    scale = np.asarray(scale, dtype=np.float64)
    orders = [int(order) for order in lambdas]
    moments = np.repeat(np.where(scale > 0, np.inf, np.minimum(scale, 0.0))[..., None], len(orders), axis=-1)
    proper = (scale > 0) & (scale < np.inf)
    moments[proper] = _log_sums(sampling_rate, scale[proper], orders)
    return moments


def _log_sums(rate: float, scale: np.ndarray, orders: Sequence[int]) -> np.ndarray:
    """Return log E exp(s·(k²−k)) = log(1 + E[exp(s·(k²−k)) − 1]) of positive s `[n]`, `[n, Λ]`.

    Every term of that expectation is positive, so none of its digits are lost, where the log of a sum near 1
    has lost them all.
    """
    trials = [order + 1 for order in orders]
    least = 2  # fewer in the sample gain nothing
    k = np.arange(max(trials) + 1.0)[least:]
    power = k * k - k
    weights = [_weights(rate, n) for n in trials]
    sums = np.empty((len(scale), len(orders)))
    ascending = np.argsort(scale)
    rows = max(1, LAMBDA_CHUNK // len(k))
    for start in range(0, len(scale), rows):
        some = ascending[start : start + rows]
        exponents = np.multiply.outer(scale[some], power)
        # How many of them, the first ones, are summed as they are.
        direct = (exponents <= DIRECT).sum(axis=0) if rate >= RATE else np.zeros(len(k), dtype=np.int64)
        gains = np.expm1(exponents[: direct[0]].clip(max=DIRECT))
        first = direct[-1]
        log_gains = np.log(-np.expm1(-exponents[first:])) + exponents[first:]
        block = np.empty((len(some), len(orders)))
        for index, (n, (log_weight, weight)) in enumerate(zip(trials, weights, strict=True)):
            terms_of = slice(0, n + 1 - least)
            cut = direct[n - least]
            block[:cut, index] = np.log1p(np.einsum("rk,k->r", gains[:cut, terms_of], weight[least:]))
            if cut < len(some):
                terms = log_gains[cut - first :, terms_of] + log_weight[least:]
                largest = terms.max(axis=1)
                terms -= largest[:, None]
                np.exp(terms, out=terms)
                block[cut:, index] = np.logaddexp(0.0, largest + np.log(terms.sum(axis=1)))
        # Weights, powers and sums are each off by a few units in the last place.
        sums[some] = block * (1 + 1e-15 * (30 + np.array(trials) * (1 - np.log(rate))))
    return sums


@lru_cache(maxsize=4096)
def _weights(rate: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return log P[k] and P[k] of a binomial of `n` trials, `[n + 1]`; what underflows is zero."""
    k = np.arange(n + 1.0)
    binomial, log_binomial = _binomials(n)
    log_rest = xlog1py(n - k, -rate)
    with np.errstate(under="ignore"):
        return log_binomial + xlogy(k, rate) + log_rest, binomial * (rate**k * np.exp(log_rest))


@cache
def _binomials(n: int) -> tuple[np.ndarray, np.ndarray]:
    exact = [math.comb(n, k) for k in range(n + 1)]
    return np.array(exact, dtype=np.float64), np.array([math.log(binomial) for binomial in exact])


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
) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours."""
    cost = rounds * log_moment(sampling_rate, noise_multiplier, lambdas)
    return float(best(cost, delta, lambdas)[0])


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round for sensitivities C and 2C.

    The formula assumes Poisson sampling (full participation is its case q = 1); for `fixed` cohorts it is
    computed with q = m/N all the same and marked as not meeting its assumptions.
    """
    by_sensitivity: list[Curve] = []
    if view.accounting == "sized":  # nobody has counted so, and it would not hold
        return []
    for sensitivity in view.relations:
        costs = []
        for release in view.releases:
            rate, noise = release.sampling_rate, release.multiplier(sensitivity)
            seen = release.law == "seen"
            costs.append(seen_moment(rate, log_moment(1.0, noise)) if seen else log_moment(rate, noise))
        curve = view.curve(*best(view.running(np.array(costs)), delta), "moments", sensitivity)
        by_sensitivity.append(replace(curve, violation=FIXED) if view.law == "fixed" else curve)
    return by_sensitivity


def seen_moment(rate: float, whole: np.ndarray) -> np.ndarray:
    """Return log E exp(λ·loss) of a release in which a unit is with probability `rate`, and seen to be.

    `whole` are those of the release that has it for certain. The coin says nothing about the unit's data, and
    the loss is zero where it is not drawn: log(1 − q + q e^whole), exactly and at every λ; rounded up.
    """
    with np.errstate(over="ignore", divide="ignore"):
        small = np.log1p(rate * np.expm1(np.minimum(whole, 1.0)))
        moment = np.where(whole < 1, small, np.logaddexp(np.log1p(-rate), np.log(rate) + whole))
    return moment * (1 + 1e-14)
