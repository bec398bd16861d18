"""Two Gaussians whose means are apart: the curve (ε, δ) that an attacker of a sum faces, and its inverse.

Dong, Roth, Su 2022, "Gaussian differential privacy", corollary 2.13: N(0, 1) against N(μ, 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import log_ndtr


def log_delta(epsilon: float, mu: float) -> float:
    """Return ln δ(ε) = ln(Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)), without cancellation; −∞ at μ = 0."""
    if mu <= 0:
        return -math.inf
    upper, lower = float(log_ndtr(mu / 2 - epsilon / mu)), epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return upper + math.log(-math.expm1(lower - upper)) if lower < upper else -math.inf


def epsilon(mu: float, delta: float) -> float:
    """Return the least ε ≥ 0 with δ(ε) at most `delta`; ∞ for an infinite μ."""
    if math.isinf(mu):
        return math.inf
    if log_delta(0.0, mu) <= math.log(delta):
        return 0.0
    # Beyond this ε the first term alone, Φ(−ε/μ + μ/2), is below exp(−s²/2) with s² = 2 ln(1/δ).
    most = mu * (mu / 2 + math.sqrt(-2 * math.log(delta)) + 1)
    found = root_scalar(
        lambda one: log_delta(one, mu) - math.log(delta), bracket=(0.0, most), method="brentq", xtol=1e-9
    )
    return float(found.root)


def witness(
    distances: Sequence[float] | np.ndarray, stds: Sequence[float] | np.ndarray, delta: float
) -> float:
    """Return ε of one pair of neighbours, exactly: releases of known Gaussian noise, so far apart in each.

    Nothing is sampled: whoever has the pair can tell it apart so well, and no smaller ε holds for it. A
    release without noise whose outcomes are apart is ∞.
    """
    apart, std = np.asarray(distances, dtype=np.float64), np.asarray(stds, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(apart > 0, apart / std, 0.0)
    return epsilon(float(np.linalg.norm(ratio)), delta)
