from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from fedpriv.account import randomized_response
from fedpriv.account.rdp import gaussian_epsilon
from fedpriv.errors import BadInput

mpmath = pytest.importorskip("mpmath")  # comes with torch

# The readings, and how many digits of each are published.
READINGS = {"bit_rdp": 5e-4, "bit_exact": 5e-4, "bit_theorem": 5e-4, "vector_rdp": 2e-3}
READINGS |= {"central_bit_rdp": 4e-3, "central_vector_rdp": 2e-2}
# γ, δ, then ε over 100 rounds: best order, exact, Theorem 1; all 81,958 bits; the sum
# over 100 clients, one bit and all bits.
TABLE = [
    (0.1, 1e-3, 22.32, 19.35, 24.71, 6.69e5, 1.61, 7.3e3),
    (0.1, 1e-5, 26.15, 23.65, 28.31, 6.70e5, 2.06, 7.4e3),
    (0.2, 1e-3, 60.78, 55.81, 78.02, 2.79e6, 3.69, 3.2e4),
    (0.2, 1e-5, 67.63, 63.93, 83.34, 2.79e6, 4.66, 3.3e4),
    (0.3, 1e-3, 119.8, 113.5, 175.6, 6.83e6, 6.93, 9.6e4),
    (0.3, 1e-5, 128.2, 124.2, 180.9, 6.83e6, 8.66, 9.6e4),
    (0.4, 1e-3, 214.9, 210.4, 358.0, 1.44e7, 14.8, 3.1e5),
    (0.4, 1e-5, 219.7, 219.3, 361.8, 1.44e7, 18.1, 3.2e5),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_reading_has_its_published_epsilon(row: tuple[float, ...]) -> None:
    gamma, delta, *published = row
    found = randomized_response.epsilons(gamma, 100, delta, 81_958)
    for (name, tolerance), epsilon in zip(READINGS.items(), published, strict=True):
        assert found[name].epsilon == pytest.approx(epsilon, rel=tolerance), name


@settings(max_examples=25)
@given(st.floats(0.01, 0.45), st.integers(1, 200), st.floats(1e-8, 1e-2))
def test_the_exact_epsilon_solves_the_hockey_stick_divergence(gamma: float, bits: int, delta: float) -> None:
    epsilon = randomized_response.exact_epsilon(gamma, bits, delta)
    k = np.arange(bits + 1)
    gains = binom.pmf(k, bits, 0.5 + gamma) - np.exp(epsilon) * binom.pmf(k, bits, 0.5 - gamma)
    assert np.maximum(gains, 0).sum() == pytest.approx(
        delta if epsilon > 0 else gains.clip(0).sum(), rel=1e-4
    )


@settings(max_examples=25)
@given(st.floats(0.001, 0.45), st.integers(1, 200), st.floats(1e-8, 1e-2))
def test_the_readings_of_one_bit_are_ordered_from_exact_to_the_theorem(
    gamma: float, rounds: int, delta: float
) -> None:
    found = {
        name: statement.epsilon
        for name, statement in randomized_response.epsilons(gamma, rounds, delta).items()
    }
    ordered = [found[name] for name in ("bit_exact", "bit_rdp", "bit_theorem")]
    assert all(low <= high * (1 + 1e-6) + 1e-9 for low, high in pairwise(ordered))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((0.5, 10, 1e-5, None), "gamma: found 0.5"),
        ((-0.1, 10, 1e-5, None), "gamma: found -0.1"),
        ((0.1, 0, 1e-5, None), "rounds: found 0"),
        ((0.1, 10, 1.0, None), "delta: found 1"),
        ((0.1, 10, 1e-5, 0), "dimension: found 0"),
        ((1e-300, 10, 1e-5, None), "gamma: found 1e-300"),
        ((0.1, 10**9, 1e-5, 10**9), r"rounds x dimension: found 1e\+18"),
    ],
)
def test_a_value_out_of_range_is_named(values: tuple, named: str) -> None:
    with pytest.raises(BadInput, match=f"^{named}, allowed: "):
        randomized_response.epsilons(*values)


@settings(max_examples=40)
@given(st.floats(-30, -0.31), st.floats(-6, 2))
def test_a_divergence_has_all_its_digits_however_fair_the_coin(exponent: float, offset: float) -> None:
    gamma, order = 10.0**exponent, 1 + 10.0**offset
    with mpmath.workdps(120):
        keep, flip, alpha = 0.5 + mpmath.mpf(gamma), 0.5 - mpmath.mpf(gamma), mpmath.mpf(order)
        moment = keep**alpha * flip ** (1 - alpha) + flip**alpha * keep ** (1 - alpha)
        exact = mpmath.log(moment) / (alpha - 1)
        assert exact <= mpmath.mpf(float(randomized_response.divergence(gamma, order))) <= exact * (1 + 1e-11)


@settings(max_examples=25)
@given(st.floats(-12, -0.31), st.floats(-6, 2), st.integers(2, 40))
def test_the_divergence_of_a_sum_lies_above_the_exact_one(
    exponent: float, offset: float, clients: int
) -> None:
    gamma, order = 10.0**exponent, 1 + 10.0**offset
    with mpmath.workdps(80):
        keep, flip = 0.5 + mpmath.mpf(gamma), 0.5 - mpmath.mpf(gamma)
        others = [
            mpmath.binomial(clients - 1, k) * keep**k * flip ** (clients - 1 - k) for k in range(clients)
        ]
        padded = [mpmath.mpf(0), *others, mpmath.mpf(0)]
        same = [padded[k] * keep + padded[k + 1] * flip for k in range(clients + 1)]
        other = [padded[k] * flip + padded[k + 1] * keep for k in range(clients + 1)]
        alpha = mpmath.mpf(order)
        exact = max(
            mpmath.log(mpmath.fsum(p**alpha * q ** (1 - alpha) for p, q in zip(*pair, strict=True)))
            for pair in ((same, other), (other, same))
        ) / (alpha - 1)
        found = mpmath.mpf(float(randomized_response.divergence(gamma, order, clients)))
        alone = mpmath.mpf(float(randomized_response.divergence(gamma, order)))
        assert exact <= found <= min(alone, exact * (1 + 1e-9) + 1e-13 / (alpha - 1))


def test_what_lies_far_from_the_mean_of_a_sum_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = np.array([1.01, 2.0, 30.0, 1000.0])
    whole = randomized_response.divergence(0.1, orders, 800)
    monkeypatch.setattr(randomized_response, "REACH", 12.0)
    randomized_response._outcomes.cache_clear()
    near = randomized_response.divergence(0.1, orders, 800)
    randomized_response._outcomes.cache_clear()
    assert (near >= whole * (1 - 1e-12)).all()
    np.testing.assert_allclose(near[:3], whole[:3], rtol=1e-9)


def test_a_sum_over_a_million_clients_costs_little_more_than_its_normal_approximation() -> None:
    found = randomized_response.epsilons(0.1, 100, 1e-5, clients=1_000_000)["central_bit_rdp"].epsilon
    # A sum of N(., N p (1−p)), moved by 2γ, and what the conversion loses.
    mu = 0.2 * np.sqrt(100 / (1_000_000 * 0.6 * 0.4))
    exact = gaussian_epsilon(mu, 1e-5)
    assert exact < found < 2.5 * exact
