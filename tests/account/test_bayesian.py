from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from fedpriv.account import bayesian, ledger, moments
from fedpriv.account.bayesian import log_upper_bound, panel_costs, round_costs
from fedpriv.account.check import checked_trace
from fedpriv.account.moments import LAMBDAS, best, log_moment
from fedpriv.account.statement import Curve
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


# --- one upper bound --------------------------------------------------------------------------------------


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


@given(st.lists(st.floats(0, 50), min_size=3, max_size=10), st.integers(0, 5))
def test_missing_samples_are_as_if_never_asked_for(logs: list[float], missing: int) -> None:
    padded = column(logs + [np.nan] * missing)
    np.testing.assert_allclose(log_upper_bound(padded, 1e-6), log_upper_bound(column(logs), 1e-6), rtol=1e-14)


def test_one_dominating_sample_lies_above_its_own_upper_bound() -> None:
    # Of 28 samples, with the confidence of the authors' code: the bound is 0.667 of the largest.
    bound = log_upper_bound(column([100.0] + [0.0] * 27), 2.0**-53)[0]
    assert np.exp(bound - 100.0) == pytest.approx(0.667, abs=1e-3)


# --- one round --------------------------------------------------------------------------------------------


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
    curves = bayesian.curves(server_views(checked_trace(trace), constant(10, 5, np.nan))[0], DELTA)
    found = find(curves, distance=distance, composition="product")
    expected, _ = best(10 * log_moment(0.1, 3.0 / largest), 0.99 * DELTA)
    assert found.epsilon[-1] == pytest.approx(float(expected), rel=1e-12)


# --- composition ------------------------------------------------------------------------------------------

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
def test_of_clients_that_stay_the_joint_moment_is_a_bound_and_the_product_of_expectations_is_none(
    present, delta, product, tail, hockey, joint, joint_tail
) -> None:
    cost = 100 * np.logaddexp(np.log1p(-present), np.log(present) + log_moment(1.0, 10.0))
    epsilon = float(best(cost, delta)[0])
    assert epsilon == pytest.approx(product, abs=5e-4)
    assert loss_exceeds(epsilon, present) == pytest.approx(tail, rel=0.02)
    divergence = loss_exceeds(epsilon, present) - np.exp(epsilon) * present * norm.sf(epsilon + 0.5)
    assert divergence == pytest.approx(hockey, rel=0.03) and divergence > delta
    # Hölder's cost of a round is the joint moment shared out over the rounds: the sum is the same.
    cost = np.logaddexp(np.log1p(-present), np.log(present) + 100 * log_moment(1.0, 10.0))
    epsilon = float(best(cost, delta)[0])
    assert epsilon == pytest.approx(joint, abs=5e-4)
    assert loss_exceeds(epsilon, present) == pytest.approx(joint_tail, rel=0.02) and joint_tail < delta


def test_an_estimate_costs_at_most_what_the_dearest_client_there_can_be_does() -> None:
    far = np.where(np.arange(10) < 1, 1.0, 0.5)
    samples, worst = log_moment(0.3, 3.0 / far)[None], log_moment(0.3, 3.0)[None]
    assert (log_upper_bound(samples, 1e-9) > worst).any()
    assert (round_costs(samples, worst, 1e-9) <= worst).all()
    assert (panel_costs(samples, worst, 1e-9) <= worst).all()
    beyond = log_moment(0.3, 3.0 / np.full((1, 10), 2.0))  # which no run writes
    assert (round_costs(beyond, worst, 1e-9) > worst).all()


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


# --- whole curves -----------------------------------------------------------------------------------------


@settings(max_examples=20)
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
    certain = moments.curves(server_views(checked_trace(trace), {})[0], delta)[0].epsilon
    everybody = np.full((rounds, 20), 2.5)
    distances = {"remove_sum": everybody, "panel_remove_sum": everybody}
    for curve in bayesian.curves(server_views(checked_trace(trace), distances)[0], delta):
        assert (curve.epsilon >= certain).all()
        np.testing.assert_allclose(curve.epsilon, certain, rtol=0.02)


def test_clients_that_move_nothing_leave_the_floor_of_the_orders(make_trace) -> None:
    for curve in bayesian.curves(
        server_views(checked_trace(make_trace()), constant(30, 10, 0.0, panel=6))[0], DELTA
    ):
        np.testing.assert_allclose(curve.epsilon, -np.log(0.99 * DELTA) / 512)


# --- many distances are read off chords ---------------------------------------------------------------------


def many_scales(multiplier: float, spread: float, seed: int = 0) -> np.ndarray:
    """Return Δ²/(2σ²) of more distances than are evaluated one by one, up to twice the bound."""
    logs = np.random.default_rng(seed).normal(-1.5, spread, bayesian.EXACT + 1)
    return (np.minimum(2.0, np.exp(logs)) / multiplier) ** 2 / 2


@settings(max_examples=10)
@given(st.floats(1e-4, 1), st.floats(0.5, 20), st.floats(0.01, 3), st.integers(0, 100))
def test_chords_bound_whatever_the_rate_the_noise_and_the_spread(
    rate: float, multiplier: float, spread: float, seed: int
) -> None:
    scale = many_scales(multiplier, spread, seed)
    some = np.concatenate([scale[:100], [0.0, np.inf, np.nan]])
    read, true = bayesian.log_moments(rate, scale)(some), log_moment(rate, np.sqrt(0.5 / scale[:100]))
    assert (read[:-3] >= true * (1 - 1e-12) - 1e-13).all()
    assert (read[:-3] <= true * (1 + 2 * bayesian.TOLERANCE + 1e-12) + bayesian.NEGLIGIBLE).all()
    assert (read[-3] == 0).all() and np.isinf(read[-2]).all() and np.isnan(read[-1]).all()


@pytest.mark.parametrize("high", [1e-300, 1e30, 1e300])
def test_chords_bound_scales_of_any_size(high: float) -> None:
    scale = np.concatenate([np.geomspace(5e-324, high, bayesian.EXACT + 1), [np.inf]])
    with np.errstate(over="ignore"):
        read, true = bayesian.log_moments(0.1, scale)(scale), log_moment(0.1, np.sqrt(0.5 / scale))
    assert (read >= true * (1 - 1e-12) - 1e-13).all()


FAR = 2.0


@pytest.mark.parametrize(
    ("distances", "fails"),
    [
        (np.full((6, 3), 0.5), True),
        (np.zeros((6, 9)), True),
        (np.full((6, 10), 0.5), False),  # so many that are equal say something
        (np.full((6, 3), FAR), False),  # there is nothing to be added
        (np.full((6, 2), 0.5), False),  # charged as the dearest client
        (np.linspace(0.1, 1, 18).reshape(6, 3), False),
    ],
)
def test_few_distances_that_are_all_equal_are_said_to_have_no_confidence_term(make_trace, distances, fails):
    trace = make_trace(6, 0.3, 1.5, clip=FAR)
    frame = ledger(trace, 1e-3, {"remove_sum": distances, "panel_remove_sum": distances})
    rows = frame[frame["accountant"] == "bayesian"]
    assert set(rows["violation"]) == {"so few equal distances have no confidence term" if fails else ""}
    assert set(rows["assumptions_met"]) == {not fails} and set(rows["kind"]) == {"estimate"}


def test_they_are_said_to_from_the_first_such_round_on_and_of_a_panel_while_it_is_alike(make_trace):
    distances = np.linspace(0.1, 1, 18).reshape(6, 3)
    distances[2] = 0.5
    panel = np.linspace(0.1, 1, 18).reshape(6, 3)
    panel[:2] = [[0.5] * 3, [0.7] * 3]
    trace = make_trace(6, 0.3, 1.5, clip=FAR)
    frame = ledger(trace, 1e-3, {"remove_sum": distances, "panel_remove_sum": panel})
    fails = {name: rows["violation"].ne("").tolist() for name, rows in frame.groupby("composition")}
    assert fails["product"] == fails["hoelder"] == [False] * 2 + [True] * 4
    assert fails["panel"] == [True] * 2 + [False] * 4
