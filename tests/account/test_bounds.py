"""Guarantees are upper bounds in every setting, however extreme: they lie above what an attacker reaches."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, ndtr

from fedpriv.account import loss, moments, pld, rdp, releases
from fedpriv.account.accountants import ACCOUNTANTS
from fedpriv.account.plans import planners
from fedpriv.audit import clients

mpmath = pytest.importorskip("mpmath")  # comes with torch


def powers_of_ten(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


PLANS = st.fixed_dictionaries(
    {
        "sampling_rate": st.one_of(powers_of_ten(-12, 0), st.just(1.0)),
        "noise_multiplier": powers_of_ten(math.log10(0.05), 4),
        "rounds": st.one_of(st.integers(1, 20), powers_of_ten(0, 18).map(int)),
        "delta": powers_of_ten(-12, -0.5),
    }
)


def reached(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return an ε that the mechanism exceeds, or 0: that of the attacker who adds up all outputs.

    Without the client the sum is N(0, T z²). With it, it is N(k, T z²), and k is at least some number with a
    probability that Chernoff's inequality bounds from below.
    """
    expected, std = rounds * sampling_rate, noise_multiplier * math.sqrt(rounds)
    some = -math.expm1(rounds * math.log1p(-sampling_rate)) if sampling_rate < 1 else 1.0
    parts = [(1.0, some)] if sampling_rate < 1 else [(float(rounds), 1.0)]
    for spread in (0.5, 1.0, 2.0, 4.0, 6.0):
        at_least = expected - spread * math.sqrt(expected)
        parts.append((at_least, -math.expm1(-(spread**2) / 2)))
    best = 0.0
    thresholds = np.linspace(-5, 38, 2000)
    for taking_part, probability in parts:
        if taking_part > 0:
            gained = probability * ndtr(taking_part / std - thresholds) - delta
            with np.errstate(divide="ignore", invalid="ignore"):
                best = max(best, np.nanmax(np.log(gained) - log_ndtr(-thresholds), initial=0.0))
    return float(best)


def gaussian(mu: float, delta: float) -> float:
    """Return ε of one Gaussian whose mean moves by μ standard deviations."""

    def excess(epsilon: float) -> float:
        upper, lower = (log_ndtr(one * mu / 2 - epsilon / mu) for one in (1, -1))
        return float(-np.exp(upper) * np.expm1(min(0.0, epsilon + lower - upper))) - delta

    return brentq(excess, 0, mu**2 + 50 * mu, xtol=1e-14) if excess(0) > 0 else 0.0


@settings(max_examples=25)
@given(plan=PLANS)
@example(plan={"sampling_rate": 1e-9, "noise_multiplier": 1.0, "rounds": 10**18, "delta": 1e-5})
def test_no_guarantee_lies_below_what_an_attacker_reaches(plan: dict[str, Any]) -> None:
    for name in planners("gaussian"):
        epsilon = ACCOUNTANTS[name].planned(**plan)
        assert reached(**plan) <= epsilon
        assert epsilon < math.inf or name == "pld"  # of losses that rounding hides


@settings(max_examples=25)
@given(
    noise=powers_of_ten(math.log10(0.05), 4),
    rounds=powers_of_ten(0, 18).map(int),
    delta=powers_of_ten(-12, -0.5),
)
def test_whole_gaussians_cost_no_less_than_the_closed_form(noise: float, rounds: int, delta: float) -> None:
    exact = gaussian(math.sqrt(rounds) / noise, delta)
    for epsilon in (ACCOUNTANTS[one].planned for one in planners("gaussian")):
        found = epsilon(sampling_rate=1.0, noise_multiplier=noise, rounds=rounds, delta=delta)
        assert found >= exact * (1 - 1e-9)


@settings(max_examples=15)
@given(plan=PLANS, factor=st.floats(1.05, 5))
def test_more_rounds_or_clients_and_less_noise_never_cost_less(plan: dict[str, Any], factor: float) -> None:
    more = {
        "rounds": min(10**18, math.ceil(plan["rounds"] * factor)),
        "sampling_rate": min(1.0, plan["sampling_rate"] * factor),
        "noise_multiplier": plan["noise_multiplier"] / factor,
    }
    for name, epsilon in ((one, ACCOUNTANTS[one].planned) for one in planners("gaussian")):
        # PLD rounds losses upwards to a grid, and not where everybody takes part: that ε is exact.
        rounding = 1e-6 if name == "pld" else 1e-9
        for changed in more.items():
            assert epsilon(**plan) <= epsilon(**plan | dict([changed])) * (1 + rounding), (name, changed)


# --- what they are made of ---------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    rate=st.one_of(powers_of_ten(-150, 0), powers_of_ten(-15, -1).map(lambda rest: 1 - rest)),
    multiplier=powers_of_ten(-1.3, 4),
    order=st.sampled_from([1, 2, 5, 17, 64, 128]),
)
def test_log_moments_have_all_their_digits_and_are_rounded_up(
    rate: float, multiplier: float, order: int
) -> None:
    with mpmath.workdps(60):
        q, scale, n = mpmath.mpf(rate), 1 / (2 * mpmath.mpf(multiplier) ** 2), order + 1
        terms = (
            mpmath.binomial(n, k) * q**k * (1 - q) ** (n - k) * mpmath.expm1((k * k - k) * scale)
            for k in range(2, n + 1)
        )
        exact = mpmath.log1p(mpmath.fsum(terms))
        found = mpmath.mpf(float(moments.log_moment(rate, multiplier, [order])[0]))
        assert exact <= found <= exact * (1 + 1e-9) or found == exact == 0 or exact < 1e-300


@settings(max_examples=15)
@given(share=st.floats(1e-6, 0.999), multiplier=powers_of_ten(-1, 4.5), order=st.integers(2, 24))
def test_divergences_without_replacement_have_all_their_digits_and_are_rounded_up(
    share: float, multiplier: float, order: int
) -> None:
    with mpmath.workdps(200):
        scale = mpmath.mpf(0.5 / multiplier**2)
        powers = [mpmath.exp(j * (j - 1) * scale) for j in range(order + 2)]

        def difference(of: int) -> Any:
            return mpmath.fsum((-1) ** (of - j) * mpmath.binomial(of, j) * powers[j] for j in range(of + 1))

        total = mpmath.mpf(0)
        for i in range(2, order + 1):
            means = mpmath.sqrt(difference(2 * (i // 2)) * difference(2 * ((i + 1) // 2)))
            total += mpmath.binomial(order, i) * mpmath.mpf(share) ** i * min(4 * means, 2 * powers[i])
        exact = mpmath.log1p(total)
        found = rdp.log_moments(share, 0.5 / multiplier**2, [order])[0]
        assert exact <= mpmath.mpf(float(found)) <= exact * (1 + 1e-10)


@settings(max_examples=15)
@given(rate=powers_of_ten(-4, -0.05), multiplier=st.floats(0.7, 20), order=st.floats(1.1, 10.9))
@example(rate=1e-4, multiplier=11.0, order=1.125)
def test_divergences_of_fractional_orders_lie_above_the_integral_and_below_the_next(
    rate: float, multiplier: float, order: float
) -> None:
    orders = rdp.ORDERS
    index = int(np.argmin(abs(orders - order)))
    alpha = orders[index]
    x = np.linspace(-15 * multiplier, 15 * multiplier + 2 * alpha, 200_001)
    ratio = np.log1p(rate * np.expm1((x - 0.5) / multiplier**2))
    density = np.exp(-((x / multiplier) ** 2) / 2) / multiplier / math.sqrt(2 * math.pi)
    exact = math.log1p(np.trapezoid(density * np.expm1(alpha * ratio), x)) / (alpha - 1)
    found = rdp.divergences(releases.planned_release(rate, multiplier), "C")[index]
    assert found >= exact - 1e-10
    # The log-moment at α is (α − 1) times the divergence: what its slack allows grows towards α = 1.
    following = rdp.divergences(releases.planned_release(rate, multiplier), "C")[index + 1]
    assert found <= following * (1 + 2 * rdp.SLACK) + 2 * rdp.SLACK / (alpha - 1)


@pytest.mark.parametrize("added", [False, True])
@settings(max_examples=25)
@given(rate=powers_of_ten(-12, 0), multiplier=powers_of_ten(-0.5, 3), share=st.floats(0.01, 0.9))
def test_the_divergence_of_one_release_is_that_of_its_densities(
    added: bool, rate: float, multiplier: float, share: float
) -> None:
    low, high = sorted(-one if added else one for one in loss.loss_range(rate, multiplier))
    epsilon = low + share * (high - low)
    x = np.linspace(-12 * multiplier - 1, 12 * multiplier + 1, 400_001)
    log_ratio = (
        np.log1p(rate * np.expm1((x - 0.5) / multiplier**2)) if rate < 1 else (x - 0.5) / multiplier**2
    )
    absent = np.exp(-((x / multiplier) ** 2) / 2) / multiplier / math.sqrt(2 * math.pi)
    present = absent * np.exp(log_ratio)
    gap = -np.expm1(epsilon + log_ratio) * absent if added else -np.expm1(epsilon - log_ratio) * present
    exact = np.trapezoid(gap.clip(min=0), x)
    found = loss.hockey_stick(rate, multiplier, np.array([epsilon]), added)[0]
    assert found == pytest.approx(exact, rel=1e-4, abs=1e-12 * rate)


@pytest.mark.parametrize("added", [False, True])
@settings(max_examples=25)
@given(rate=powers_of_ten(-6, 0), multiplier=powers_of_ten(-0.5, 2), cells=st.integers(10, 5_000))
def test_the_log_moments_that_bound_tails_are_rounded_up(
    added: bool, rate: float, multiplier: float, cells: int
) -> None:
    low, high = loss.loss_range(rate, multiplier)
    release = loss.loss_from_above(rate, multiplier, (high - low) / cells, added)
    some = release.mass > loss.LEAST_MASS
    for sign, found in zip((-1, 1), release.log_moments, strict=True):
        powers = sign * np.multiply.outer(release.tilts, release.losses[some])
        exact = logsumexp(powers, b=release.mass[some], axis=1)
        assert (exact <= found).all()
        assert (found <= exact + 1e-9 + 1e-10 * release.tilts * (1 + np.abs(release.losses).max())).all()


@pytest.mark.parametrize(
    ("rate", "multiplier", "rounds", "delta", "known"),
    [  # by the pessimistic distributions of dp-accounting, on finer grids
        (0.01, 1.0, 1000, 1e-11, 3.600),
        (0.01, 100.0, 10_000, 1e-8, 0.0444),
        (0.3, 3.0, 300, 1e-11, 13.55),
        (0.3, 3.0, 300, 1e-12, 14.20),
        (1e-4, 1.0, 1000, 1e-10, 0.0482),
        (0.01, 1400.0, 1000, 1e-9, 0.00093),
    ],
)
def test_loss_distributions_certify_a_tiny_delta_and_a_small_epsilon_within_a_hundredth(
    rate: float, multiplier: float, rounds: int, delta: float, known: float
) -> None:
    plan = {"sampling_rate": rate, "noise_multiplier": multiplier, "rounds": rounds, "delta": delta}
    upper, lower = pld.epsilon(**plan), clients.removal_epsilon(rate, np.full(rounds, 1 / multiplier), delta)
    assert 0.99 * known <= upper <= 1.01 * known
    assert 0.99 * upper <= lower <= upper
