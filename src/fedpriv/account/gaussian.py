"""Two Gaussians whose means are μ standard deviations apart: their curve (ε, δ) and its inverse, exactly.

Dong, Roth, Su 2022, "Gaussian differential privacy", corollary 2.13: N(0, 1) against N(μ, 1).
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

NEAR = 1e-9  # what the search for a root may be off


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
    from scipy.optimize import root_scalar

    # Beyond this ε the first term alone, Φ(−ε/μ + μ/2), is below exp(−s²/2) with s² = 2 ln(1/δ).
    most = mu * (mu / 2 + math.sqrt(-2 * math.log(delta)) + 1)
    found = root_scalar(
        lambda one: log_delta(one, mu) - math.log(delta), bracket=(0.0, most), method="brentq", xtol=NEAR
    )
    return float(found.root)


def guaranteed(mu: float, delta: float) -> float:
    """Return the same, never below it: for whoever promises ε."""
    found = epsilon(mu * (1 + 1e-12), delta)
    return found + 2 * NEAR * max(1.0, found) if found else 0.0
