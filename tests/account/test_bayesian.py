from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from fedpriv.account import bayesian, moments
from fedpriv.account.bayesian import log_upper_bound, panel_costs, round_costs
from fedpriv.account.check import checked
from fedpriv.account.moments import LAMBDAS, best, log_moment
from fedpriv.account.spend import Curve
from fedpriv.account.views import server_views
from fedpriv.trace import DISTANCES

DELTA = 1e-5


def column(values: Sequence[float]) -> np.ndarray:
    """Return log-samples `[m, 1]`."""
    return np.array(values, dtype=float)[:, None]


def constant(rounds: int, samples: int, distance: float, panel: int = 0) -> dict[str, np.ndarray]:
    """Return distances that are the same for everybody in every round."""
    return {
        prefix + name: np.full((rounds, size), distance)
        for prefix, size in (("", samples), ("panel_", panel))
        for name in DISTANCES
    }


def find(curves: list[Curve], **labels: str) -> Curve:
    (found,) = (
        curve for curve in curves if all(getattr(curve, name) == value for name, value in labels.items())
    )
    return found


# --- one upper bound ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=40), st.floats(1e-9, 0.2))
def test_the_bound_is_the_students_t_bound_on_the_mean_of_the_exponentials(
    logs: list[float], failure: float
) -> None:
    samples = np.exp(logs)
    textbook = samples.mean() + t.isf(failure, len(logs) - 1) * samples.std(ddof=1) / np.sqrt(len(logs))
    assert log_upper_bound(column(logs), failure)[0] == pytest.approx(np.log(textbook), rel=1e-8, abs=1e-8)


@given(st.lists(st.integers(-24, 24), min_size=3, max_size=40), st.integers(-500, 10**6))
def test_a_common_factor_of_the_samples_is_a_factor_of_the_bound(logs: list[int], shift: int) -> None:
    samples = column(logs) / 8
    np.testing.assert_allclose(
        log_upper_bound(samples + shift, 1e-6), log_upper_bound(samples, 1e-6) + shift, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-13, 1e-9])
@pytest.mark.parametrize("level", [1e-14, 1.0, 1e4, 1e8])
def test_nearly_equal_samples_give_their_common_value(level: float, gap: float) -> None:
    samples = column([level, level * (1 + gap), level * (1 - gap)])
    bound = log_upper_bound(samples, 1e-6)[0]
    assert bound == pytest.approx(level, rel=1e-5 if gap else 1e-15)


def test_samples_of_any_size_give_finite_bounds() -> None:
    assert np.isfinite(log_upper_bound(column([0.0, 1e-300, 700.0, 1e6]), 1e-12)).all()


@given(st.lists(st.floats(0, 50), min_size=3, max_size=10), st.integers(0, 5))
def test_missing_samples_are_as_if_never_asked_for(logs: list[float], missing: int) -> None:
    padded = column(logs + [np.nan] * missing)
    np.testing.assert_allclose(log_upper_bound(padded, 1e-6), log_upper_bound(column(logs), 1e-6), rtol=1e-14)


@pytest.mark.parametrize("present", [0, 1, 2])
def test_fewer_than_three_samples_give_no_bound(present: int) -> None:
    samples = column([1.0] * present + [np.nan] * (5 - present))
    assert np.isinf(log_upper_bound(samples, 0.1)).all()


def test_one_dominating_sample_lies_above_its_own_upper_bound() -> None:
    # Of 28 samples, with the confidence of the authors' code: the bound is 0.667 of the largest.
    bound = log_upper_bound(column([100.0] + [0.0] * 27), 2.0**-53)[0]
    assert np.exp(bound - 100.0) == pytest.approx(0.667, abs=1e-3)


# --- one round ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("present", [0, 1, 2])
def test_a_round_of_fewer_than_three_samples_costs_the_worst_case(present: int) -> None:
    samples = np.full((1, 4, 2), np.nan)
    samples[0, :present] = 0.1
    worst = np.array([[5.0, 7.0]])
    np.testing.assert_array_equal(round_costs(samples, worst, 1e-6), worst)
    np.testing.assert_array_equal(round_costs(samples, worst, 1e-6, exponent=9), worst)


@pytest.mark.parametrize(("distance", "largest"), [("remove_sum", 1), ("remove_mean", 2)])
def test_empty_rounds_cost_what_dp_pays_at_the_largest_possible_distance(
    make_trace, distance: str, largest: float
) -> None:
    trace = make_trace(rounds=10, rate=0.1, multiplier=3.0, clip=0.7)
    curves = bayesian.curves(server_views(checked(trace), constant(10, 5, np.nan))[0], DELTA)
    found = find(curves, distance=distance, composition="product")
    expected, _ = best(10 * log_moment(0.1, 3.0 / largest), 0.99 * DELTA)
    assert found.epsilon[-1] == pytest.approx(float(expected), rel=1e-12)


def test_delta_pays_for_every_round_and_every_order() -> None:
    assert bayesian.failure_probability(1e-5, 300) * 300 * len(LAMBDAS) == pytest.approx(0.01e-5)


# --- composition -------------------------------------------------------------------------------------------

# A client at distance 1 with probability p, else 0, the same in all rounds; q = 1, multiplier 10, 100 rounds.
# p, δ, ε by the product, true P[L ≥ ε], true hockey-stick, ε by the joint moment, true P there.
PERSISTENT = [
    (0.1, 1e-5, 1.859, 8.7e-3, 2.8e-3, 4.803, 8.4e-7),
    (0.01, 1e-3, 0.610, 4.6e-3, 2.1e-3, 2.841, 9.6e-5),
    (0.01, 1e-5, 0.886, 3.5e-3, 1.5e-3, 4.228, 9.7e-7),
    (0.001, 1e-5, 0.558, 4.8e-4, 2.2e-4, 3.662, 7.8e-7),
]


def loss_exceeds(epsilon: float, present: float) -> float:
    """Return P[L ≥ ε] where the loss of a client at distance 1 is N(1/2, 1)."""
    return present * float(norm.sf(epsilon - 0.5))


@pytest.mark.parametrize(("present", "delta", "product", "tail", "hockey", "joint", "joint_tail"), PERSISTENT)
def test_the_product_of_expectations_is_no_bound_for_clients_that_stay(
    present: float, delta: float, product: float, tail: float, hockey: float, joint: float, joint_tail: float
) -> None:
    cost = 100 * np.logaddexp(np.log1p(-present), np.log(present) + log_moment(1.0, 10.0))
    epsilon = float(best(cost, delta)[0])
    assert epsilon == pytest.approx(product, abs=5e-4)
    assert loss_exceeds(epsilon, present) == pytest.approx(tail, rel=0.02)
    assert loss_exceeds(epsilon, present) > 4 * delta
    divergence = loss_exceeds(epsilon, present) - np.exp(epsilon) * present * norm.sf(epsilon + 0.5)
    assert divergence == pytest.approx(hockey, rel=0.03)
    assert divergence > delta


@pytest.mark.parametrize(("present", "delta", "product", "tail", "hockey", "joint", "joint_tail"), PERSISTENT)
def test_the_joint_moment_is_a_bound_for_clients_that_stay(
    present: float, delta: float, product: float, tail: float, hockey: float, joint: float, joint_tail: float
) -> None:
    # Hölder's cost of a round is the joint moment shared out over the rounds: the sum is the same.
    cost = np.logaddexp(np.log1p(-present), np.log(present) + 100 * log_moment(1.0, 10.0))
    epsilon = float(best(cost, delta)[0])
    assert epsilon == pytest.approx(joint, abs=5e-4)
    assert loss_exceeds(epsilon, present) == pytest.approx(joint_tail, rel=0.02)
    assert loss_exceeds(epsilon, present) < delta


def test_a_panel_whose_distances_never_change_costs_what_hoelder_says() -> None:
    rng = np.random.default_rng(0)
    samples = np.repeat(log_moment(0.2, 3.0 / rng.uniform(0, 1, (1, 12))), 20, axis=0)
    worst = np.zeros((20, len(LAMBDAS)))
    hoelder = round_costs(samples, worst, 1e-6, exponent=20).sum(axis=0)
    np.testing.assert_allclose(panel_costs(samples, worst, 1e-6)[-1], hoelder, rtol=1e-12)


def test_a_panel_whose_clients_take_turns_costs_less_than_hoelder() -> None:
    samples = log_moment(0.2, 3.0 / np.where(np.eye(12), 1.0, 0.1))  # each is far in one round only
    worst = np.zeros((12, len(LAMBDAS)))
    hoelder = round_costs(samples, worst, 1e-6, exponent=12).sum(axis=0)
    assert (panel_costs(samples, worst, 1e-6)[-1] < hoelder).all()


def test_hoelder_is_the_moments_accountant_at_the_largest_distance_seen() -> None:
    distances = np.tile(np.append(np.linspace(0.2, 0.39, 27), 0.394), (100, 1))
    costs = round_costs(log_moment(0.1, 1.0 / distances), np.zeros((100, len(LAMBDAS))), 1e-6, exponent=100)
    lambdas = [2, 4, 8, 16, 32]
    chosen = np.isin(LAMBDAS, lambdas)
    epsilon = float(best(costs.sum(axis=0)[chosen], DELTA, lambdas)[0])
    at_the_largest = moments.epsilon(
        sampling_rate=0.1, noise_multiplier=1 / 0.394, rounds=100, delta=DELTA, lambdas=lambdas
    )
    assert at_the_largest == pytest.approx(2.29, abs=5e-3)
    assert epsilon == pytest.approx(at_the_largest, abs=0.1)


# --- whole curves ------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(
    rate=st.floats(0.01, 1),
    multiplier=st.floats(0.8, 20),
    rounds=st.integers(1, 20),
    delta=st.floats(1e-8, 1e-2),
)
def test_with_everybody_at_the_clip_bound_epsilon_is_that_of_moments_and_the_price_of_estimating(
    make_trace, rate: float, multiplier: float, rounds: int, delta: float
) -> None:
    trace = make_trace(rounds, rate, multiplier, clip=2.5)
    certain = moments.curves(server_views(checked(trace), {})[0], delta)[0].epsilon
    everybody = np.full((rounds, 20), 2.5)
    distances = {"remove_sum": everybody, "panel_remove_sum": everybody}
    for curve in bayesian.curves(server_views(checked(trace), distances)[0], delta):
        assert (curve.epsilon >= certain).all()
        np.testing.assert_allclose(curve.epsilon, certain, rtol=0.02)


def test_every_distance_and_composition_is_an_estimate_of_its_own(make_trace) -> None:
    curves = bayesian.curves(server_views(checked(make_trace()), constant(30, 10, 0.4, panel=6))[0], DELTA)
    keys = {(curve.distance, curve.composition) for curve in curves}
    assert len(curves) == len(keys) == 2 * 3
    assert {curve.kind for curve in curves} == {"estimate"}


def test_the_relation_follows_the_distance(make_trace) -> None:
    curves = bayesian.curves(server_views(checked(make_trace()), constant(30, 10, 0.4))[0], DELTA)
    assert {(curve.distance, curve.relation) for curve in curves} == {
        ("remove_sum", "add_remove"),
        ("remove_mean", "add_remove"),
    }


def test_without_distances_there_is_nothing_to_estimate(make_trace) -> None:
    assert bayesian.curves(server_views(checked(make_trace()), {})[0], DELTA) == []
    assert bayesian.curves(server_views(checked(make_trace()), constant(30, 0, 0.4))[0], DELTA) == []


def test_clients_that_move_nothing_leave_the_floor_of_the_orders(make_trace) -> None:
    for curve in bayesian.curves(
        server_views(checked(make_trace()), constant(30, 10, 0.0, panel=6))[0], DELTA
    ):
        np.testing.assert_allclose(curve.epsilon, -np.log(0.99 * DELTA) / 512)


def test_without_noise_even_clients_that_move_nothing_are_revealed(make_trace) -> None:
    for curve in bayesian.curves(
        server_views(checked(make_trace(multiplier=0.0)), constant(30, 10, 0.0, panel=6))[0], DELTA
    ):
        assert np.isinf(curve.epsilon).all()


def test_fixed_cohorts_do_not_meet_the_assumption_of_poisson_sampling(make_trace) -> None:
    curves = bayesian.curves(server_views(checked(make_trace(law="fixed")), constant(30, 10, 0.4))[0], DELTA)
    assert not any(not curve.unmet for curve in curves)
