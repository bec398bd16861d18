"""Rényi accounting, and the exact curve of one Gaussian.

- Poisson-subsampled Gaussians: divergences of our own, orders and conversion to (ε, δ) as dp-accounting
  has them. The library's divergences lose their digits where they are tiny, and then its ε is too small.
- Fixed samples, drawn without replacement; clients are replaced: Wang, Balle, Kasiviswanathan 2019,
  "Subsampled Rényi differential privacy and analytical moments accountant", Theorem 27, as dp-accounting
  has it. Its differences of exponentials lose all their digits in floats; here they are taken in 200
  digits.
- Two Gaussians whose means are μ standard deviations apart, their curve (ε, δ) and its inverse: Dong,
  Roth, Su 2022, "Gaussian differential privacy", corollary 2.13.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, log_ndtr

from fedpriv.account import moments, randomized_response
from fedpriv.account.releases import Release, planned_release, planned_sensitivity
from fedpriv.account.statement import Curve

if TYPE_CHECKING:
    from fedpriv.account.views import View

NEAR = 1e-9  # what the search for a root may be off

# Rényi orders α: those of dp-accounting, which takes a second to import.
ORDERS = np.array(
    [*(1 + tenths / 10 for tenths in range(1, 100)), *range(11, 64), 128, 256, 512, 1024], dtype=np.float64
)


def log_delta(epsilon: float, mu: float) -> float:
    """Return ln δ(ε) = ln(Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)), without cancellation; −∞ at μ = 0."""
    if mu <= 0:
        return -math.inf
    upper, lower = float(log_ndtr(mu / 2 - epsilon / mu)), epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return upper + math.log(-math.expm1(lower - upper)) if lower < upper else -math.inf


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least ε ≥ 0 with δ(ε) at most `delta`; ∞ for an infinite μ."""
    if math.isinf(mu):
        return math.inf
    if log_delta(0.0, mu) <= math.log(delta):
        return 0.0
    from scipy.optimize import root_scalar

    # Beyond this ε the first term alone, Φ(−ε/μ + μ/2), is below exp(−s²/2) with s² = 2 ln(1/δ).
    most = mu * (mu / 2 + math.sqrt(-2 * math.log(delta)) + 1)

    def excess(epsilon: float) -> float:
        return log_delta(epsilon, mu) - math.log(delta)

    return float(root_scalar(excess, bracket=(0.0, most), method="brentq", xtol=NEAR).root)


def guaranteed_epsilon(mu: float, delta: float) -> float:
    """Return an upper bound of that ε, for whoever promises it."""
    epsilon = gaussian_epsilon(mu * (1 + 1e-12), delta)
    return epsilon + 2 * NEAR * max(1.0, epsilon) if epsilon else 0.0


# Orders up to this one use the differences; those beyond, and more noise than this leaves, a coarser bound.
FIXED_MOST, LARGEST = 256, 10.0

DIGITS, NOISE = 200, Decimal("1e-100")  # 2^256 times the last of the digits is below that

# What rounding may take from a divergence, relative.
FIXED_SLACK = 1e-11


def log_moments(share: float, scale: float, orders: list[int]) -> np.ndarray:
    """Return (α − 1) times the divergence at whole `orders` α ≥ 1, for s = Δ²/(2σ²) and a share m/n below 1.

    Never below the exact value of the theorem's bound.
    """
    scale, top = max(scale, 1e-300), max(orders)
    i = np.arange(2.0, top + 1)
    coarse = np.log(2) + i * (i - 1) * scale
    fine = coarse.copy()
    if scale <= LARGEST:
        log_differences = _log_differences(scale, min(top, FIXED_MOST) + 1)
        low, high = (2 * np.floor(i / 2)).astype(int), (2 * np.ceil(i / 2)).astype(int)
        known = high < len(log_differences)
        means = (log_differences[low[known]] + log_differences[high[known]]) / 2
        fine[known] = np.minimum(coarse[known], np.log(4) + means)
    else:
        fine[0] = min(coarse[0], np.log(4) + 2 * scale)
    coarse[0] = fine[0]
    logs: list[float] = []
    for order in orders:
        k = i[: order - 1]
        log_choices = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        terms = (fine if order <= FIXED_MOST else coarse)[: order - 1] + log_choices + k * np.log(share)
        logs.append(float(np.logaddexp(0.0, np.logaddexp.reduce(terms, initial=-np.inf))))
    return np.array(logs) * (1 + FIXED_SLACK)


@lru_cache(maxsize=64)
def _log_differences(scale: float, last: int) -> np.ndarray:
    """Return the logs of the finite differences at 0 of j -> exp(j(j−1)s), to the order `last` or the next.

    They are moments of e^loss − 1 and so positive; of odd ones, which nobody asks for, it is that of NOISE.
    """
    with localcontext() as context:
        context.prec = DIGITS
        size = last + last % 2 + 1
        # e^(j(j−1)s) is e^(2(j−1)s) times the one before, and that factor e^2s times its own.
        factor = grown = (2 * Decimal(scale)).exp()
        row = [Decimal(1), Decimal(1)]
        for _ in range(size - 2):
            row.append(row[-1] * grown)
            grown *= factor
        logs: list[float] = []
        for _ in range(size):
            number = max(row[0], Decimal(0)) + NOISE
            digits = number.adjusted()  # a float may be too small for it, but not for its logarithm
            logs.append(math.log(number.scaleb(-digits)) + digits * math.log(10))
            row = [after - before for before, after in pairwise(row)]
    return np.array(logs)


# Terms of the series at fractional orders. An order whose last terms are not this far below their sum is left
# to its neighbours, the integers.
TERMS, FAR = 1000, 30.0

# What rounding and the terms left out may take from such a series, of its sum near 1.
SLACK = 1e-12

# The multipliers at which the squares in the series are floats.
LEAST, MOST = 1e-6, 1e100


def epsilon(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    sampling_law: str = "poisson",
) -> float:
    """Return ε of `rounds` Poisson-subsampled Gaussian rounds, add/remove neighbours.

    With sampling law `fixed` that of samples of a fixed size, one unit replaced.
    """
    sensitivity = planned_sensitivity(sampling_law)
    once = divergences(planned_release(sampling_rate, noise_multiplier, sampling_law), sensitivity)
    return float(least_epsilon(rounds * once, delta)[0])


def curves(view: View, delta: float) -> list[Curve]:
    """Return ε after every round: for sensitivities C and 2C, for `fixed` samples 2C alone, or of bits.

    Divergences add up, so each release is evaluated once.
    """
    # See docs/accounting.md for why twice the sensitivity under add/remove bounds replaced clients.
    return [
        view.curve(*epsilons(view, delta, sensitivity), "rdp", sensitivity)
        for sensitivity in view.sensitivities
    ]


def epsilons(view: View, delta: float, sensitivity: str) -> tuple[np.ndarray, np.ndarray]:
    """Return ε after every round and the order that gave it, NaN where ε is infinite; both `[T]`."""
    if view.mechanism == "randomized_response":
        return randomized_response.rdp_curve(view, delta)
    once = [divergences(release, sensitivity) for release in view.releases]
    return least_epsilon(view.running(np.array(once)), delta)


def least_epsilon(divergences: np.ndarray, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least ε that divergences at `ORDERS` allow at δ, and the order that gives it.

    `divergences` are `[..., α]`, both results `[...]`; the order is NaN where ε is infinite. Canonne, Kamath,
    Steinke 2020, "The discrete Gaussian for differential privacy", Proposition 12. The library has the same,
    for one round at a time and so a hundred times slower.
    """
    candidates = divergences + np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)
    # δ ≤ √(1 − e^−KL): so little is hidden by δ alone.
    candidates = np.where(delta**2 + np.expm1(-divergences) > 0, 0.0, candidates)
    best = candidates.argmin(axis=-1)
    epsilon = np.take_along_axis(candidates, best[..., None], axis=-1)[..., 0].clip(min=0.0)
    return epsilon, np.where(np.isfinite(epsilon), ORDERS[best], np.nan)


@lru_cache(maxsize=1024)  # runs of one paper differ in their data more often than in their noise
def divergences(release: Release, sensitivity: str) -> np.ndarray:
    """Return the divergence of one release at each of `ORDERS`, never below the exact bound.

    Poisson, seen and full samples are for add/remove neighbours, fixed ones for replaced ones. Log-moments
    are convex in λ = α − 1: a chord between whole λ lies above those between.
    """
    rate, multiplier = release.share, release.multiplier(sensitivity)
    fixed = release.law == "fixed"
    if rate == 1 or release.law == "seen":
        whole = ORDERS * moments.log_moment(1.0, multiplier, [1])[0] / 2
        return whole if rate == 1 else moments.seen_moment(rate, (ORDERS - 1) * whole) / (ORDERS - 1)
    lambdas = ORDERS - 1
    whole = np.unique(np.concatenate([np.floor(lambdas), np.ceil(lambdas)]))[1:]
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        scale = 0.5 / np.square(multiplier)
    if not np.isfinite(scale):
        return np.full(len(ORDERS), np.inf)
    if fixed:
        known = log_moments(rate, float(scale), (whole.astype(int) + 1).tolist())
    else:
        known = moments.log_moments_at(rate, scale, whole)
    bounds = np.interp(lambdas, [0.0, *whole], [0.0, *known])
    between = np.ceil(lambdas) != lambdas
    if multiplier >= LEAST and not fixed:
        series = _series(rate, min(multiplier, MOST), tuple(ORDERS[between].tolist()))
        bounds[between] = np.fmin(bounds[between], series)
    return bounds / lambdas


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
