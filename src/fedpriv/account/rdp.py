"""Rényi accounting: divergences of our own, orders and conversion to (ε, δ) as dp-accounting has them.

The library's divergences lose their digits where they are tiny, and then its ε is too small.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, log_ndtr

from fedpriv.account import moments, without_replacement
from fedpriv.account.events import Mechanism, planned
from fedpriv.account.spend import Curve

if TYPE_CHECKING:
    from fedpriv.account.view import View

# Terms of the series at fractional orders. An order whose last terms are not this far below their sum is left
# to its neighbours, the integers.
TERMS, FAR = 1000, 30.0

# What rounding and the terms left out may take from such a series, of its sum near 1.
SLACK = 1e-12

# The multipliers at which the squares in the series are floats.
LEAST, MOST = 1e-6, 1e100


def epsilon(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours."""
    once = divergences(planned(sampling_rate, noise_multiplier), "C")
    return float(least_epsilon(rounds * once, delta)[0])


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round: for sensitivities C and 2C, or for `fixed` samples 2C alone.

    Divergences add up, so each mechanism is evaluated once.
    """
    if view.law == "fixed":
        return [view.curve(*epsilons(view, delta, "2C"), "rdp", "2C")]
    # See docs/accounting.md for why twice the sensitivity under add/remove bounds replaced clients.
    return [view.curve(*epsilons(view, delta, one), "rdp", one) for one in view.relations]


def epsilons(view: View, delta: float, sensitivity: str) -> tuple[np.ndarray, np.ndarray]:
    """Return ε after every round and the order that gave it, NaN where ε is infinite; both `[T]`."""
    once = [divergences(one, sensitivity) for one in view.mechanisms]
    return least_epsilon(view.running(np.array(once)), delta)


def least_epsilon(divergences: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least ε that divergences at the library's orders allow at δ, and the order that gives it.

    `divergences` are `[..., α]`, both results `[...]`; the order is NaN where ε is infinite. Canonne, Kamath,
    Steinke 2020, "The discrete Gaussian for differential privacy", Proposition 12. The library has the same,
    for one round at a time and so a hundred times slower.
    """
    alphas = np.array(orders())
    candidates = divergences + np.log1p(-1 / alphas) - np.log(delta * alphas) / (alphas - 1)
    # δ ≤ √(1 − e^−KL): so little is hidden by δ alone.
    candidates = np.where(delta**2 + np.expm1(-divergences) > 0, 0.0, candidates)
    best = candidates.argmin(axis=-1)
    epsilon = np.take_along_axis(candidates, best[..., None], axis=-1)[..., 0].clip(min=0.0)
    return epsilon, np.where(np.isfinite(epsilon), alphas[best], np.nan)


@cache
def orders() -> list[float]:
    """Return the orders of the library."""
    from dp_accounting.rdp import RdpAccountant

    return RdpAccountant().orders.tolist()


@lru_cache(maxsize=1024)  # runs of one paper differ in their data more often than in their noise
def divergences(mechanism: Mechanism, sensitivity: str) -> np.ndarray:
    """Return the divergence of one release at every order of the library, never below the exact bound.

    Poisson, seen and full samples are for add/remove neighbours, fixed ones for replaced ones. Log-moments
    are convex in λ = α − 1: a chord between whole λ lies above those between.
    """
    alphas = np.array(orders())
    rate, multiplier = mechanism.sampling_rate, mechanism.multiplier(sensitivity)
    fixed = mechanism.law == "fixed"
    if fixed:
        rate = mechanism.sample / mechanism.population
    if rate == 1 or mechanism.law == "seen":
        whole = alphas * moments.log_moment(1.0, multiplier, [1])[0] / 2
        return whole if rate == 1 else moments.seen_moment(rate, (alphas - 1) * whole) / (alphas - 1)
    lambdas = alphas - 1
    whole = np.unique(np.concatenate([np.floor(lambdas), np.ceil(lambdas)]))[1:]
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        scale = 0.5 / np.square(multiplier)
    if not np.isfinite(scale):
        return np.full(len(alphas), np.inf)
    if fixed:
        known = without_replacement.log_moments(rate, float(scale), [int(one) + 1 for one in whole])
    else:
        known = moments.log_moments_at(rate, scale, whole)
    found = np.interp(lambdas, [0.0, *whole], [0.0, *known])
    between = np.ceil(lambdas) != lambdas
    if multiplier >= LEAST and not fixed:
        series = _series(rate, min(multiplier, MOST), tuple(alphas[between].tolist()))
        found[between] = np.fmin(found[between], series)
    return found / lambdas


def _series(rate: float, multiplier: float, orders: tuple[float, ...]) -> np.ndarray:
    """Return log-moments at λ = α − 1 for fractional `orders` α, infinite where the series has not converged.

    Mironov, Talwar, Zhang 2019, "Rényi differential privacy of the sampled Gaussian mechanism", section 3.3,
    with every term of the alternating series counted as positive, as the library does.
    """
    i, j, log_coefficient = _coefficients(orders)
    keep, drop, scale = np.log(rate), np.log1p(-rate), 0.5 / multiplier**2
    border = multiplier**2 * (drop - keep) + 0.5
    low = i * keep + j * drop + (i * i - i) * scale + log_ndtr((border - i) / multiplier)
    high = j * keep + i * drop + (j * j - j) * scale + log_ndtr((j - border) / multiplier)
    terms = log_coefficient + np.logaddexp(low, high)
    largest = terms.max(axis=0)
    total = largest + np.log(np.exp(terms - largest).sum(axis=0))
    converged = log_coefficient[-1] + np.maximum(low[-1], high[-1]) < total - FAR
    return np.where(converged, total.clip(min=0.0) * (1 + SLACK) + SLACK, np.inf)


@cache
def _coefficients(orders: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return i, α − i and the log of the binomial coefficient of α and i, `[TERMS, 1]` and `[TERMS, α]`."""
    i, alpha = np.arange(float(TERMS))[:, None], np.array(orders)
    j = alpha - i
    return i, j, gammaln(alpha + 1) - gammaln(i + 1) - gammaln(j + 1)
