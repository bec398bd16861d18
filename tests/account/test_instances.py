"""Instance-level accounting: what sequential and parallel mean, against other ways to the same number."""

import dp_accounting as dp
import numpy as np
import pytest
from scipy.stats import norm
from support.library import pld_accountant, rdp_accountant

from fedpriv.account import ACCOUNTANTS, bayesian, moments, pld, rdp
from fedpriv.account.check import checked
from fedpriv.account.moments import LAMBDAS, best, log_moment
from fedpriv.account.spend import Curve
from fedpriv.account.views import View, views
from fedpriv.trace import DISTANCES

DELTA = 1e-5


def both(trace, distances=None) -> tuple[View, View]:
    """Return the sequential and the parallel view of instances."""
    sequential, parallel = (
        view for view in views(checked(trace), distances or {}) if view.unit == "instance"
    )
    return sequential, parallel


def end(curves: list[Curve], **labels: str) -> float:
    """Return ε after the last round of the one curve with these labels."""
    (found,) = (one for one in curves if all(getattr(one, name) == value for name, value in labels.items()))
    return float(found.epsilon[-1])


def everywhere(value: float, *shape: int) -> dict[str, np.ndarray]:
    """Return distances of instances that are all the same."""
    return {f"instance_{name}": np.full(shape, value, dtype=np.float32) for name in DISTANCES}


def drawn(shape: tuple[int, ...], largest: float, seed: int = 0) -> dict[str, np.ndarray]:
    """Return distances of instances, each drawn from up to `largest`."""
    rng = np.random.default_rng(seed)
    return {f"instance_{name}": rng.uniform(0, largest, shape) for name in DISTANCES}


# --- guarantees --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accountant", [moments, rdp])
def test_of_one_client_sequential_and_parallel_are_centralised_dp_sgd(make_instances, accountant) -> None:
    trace = make_instances(rounds=20, clients=1, steps=3, multiplier=1.5)
    found = [end(accountant.curves(view, DELTA), sensitivity="C") for view in both(trace)]
    central = accountant.epsilon(sampling_rate=0.1, noise_multiplier=1.5, rounds=60, delta=DELTA)
    np.testing.assert_allclose(found, central, rtol=1e-9)


def test_with_clipped_examples_epsilon_is_that_of_the_library_for_all_steps_composed(make_instances) -> None:
    trace = make_instances(rounds=25, clients=8, steps=2, multiplier=1.2)
    sequential, parallel = both(trace)
    for view, rate, times in ((sequential, 60 / 4800, 25 * 8 * 2), (parallel, 0.1, 25 * 2)):
        composed = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(1.2)), times)
        library = rdp_accountant().compose(composed).get_epsilon(DELTA)
        assert end(rdp.curves(view, DELTA), sensitivity="C") == pytest.approx(library, rel=1e-9)
        library = pld_accountant().compose(composed).get_epsilon(DELTA)
        assert end(pld.curves(view, DELTA), sensitivity="C") == pytest.approx(library, rel=1e-3)


@pytest.mark.parametrize(
    ("clients", "multiplier", "rounds", "sequential", "parallel"),
    [
        (100, 1, 100, 1.08, 8.93),
        (100, 1, 300, 1.33, 15.27),
        (100, 2, 100, 0.295, 3.02),
        (100, 2, 300, 0.451, 5.18),
        (100, 4, 100, 0.123, 1.32),
        (100, 4, 300, 0.213, 2.28),
        (1000, 1, 100, 0.709, 8.93),
        (1000, 4, 100, 0.053, 1.32),
        (1000, 4, 300, 0.070, 2.28),
    ],
)
def test_the_gap_between_sequential_and_parallel_grows_with_the_clients(
    make_instances, clients: int, multiplier: float, rounds: int, sequential: float, parallel: float
) -> None:
    trace = make_instances(rounds, clients, multiplier)
    found = [end(moments.curves(view, DELTA), sensitivity="C") for view in both(trace)]
    assert found == pytest.approx([sequential, parallel], rel=8e-3)


def test_only_twice_the_bound_is_certified_where_the_mean_is_clipped(make_instances) -> None:
    sequential, parallel = both(make_instances(rounds=5, per_example=False))
    for accountant in (moments, rdp, pld):
        met = {curve.sensitivity: not curve.unmet for curve in accountant.curves(parallel, DELTA)}
        assert met == {"C": False, "2C": True}
        assert not any(not curve.unmet for curve in accountant.curves(sequential, DELTA))


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("multiplier", [1.0, 3.0])
@pytest.mark.parametrize("order", [1, 4, 16])
@pytest.mark.parametrize("degrees", [5, 13, 30, 45])
def test_an_example_replaced_in_a_clipped_mean_costs_no_more_than_twice_the_bound(
    rate: float, multiplier: float, order: int, degrees: float
) -> None:
    # Three means on the unit circle: without the example at (−1, 0), with one or the other of two examples at
    # the points that are seen from there at ± `degrees`.
    half = np.deg2rad(degrees)
    far = 2 * np.cos(half) * np.array([np.cos(half), np.sin(half)]) - [1, 0]
    x = np.arange(-9 * multiplier - 2 * order - 3, 9 * multiplier + 2 * order + 3, multiplier / 4)
    along, across = x[:, None], x[None, :]
    absent = norm.logpdf(along, -1, multiplier) + norm.logpdf(across, 0, multiplier)
    with_one, with_other = (
        norm.logpdf(along, far[0], multiplier) + norm.logpdf(across, side * far[1], multiplier)
        for side in (1, -1)
    )
    one, other = (
        np.logaddexp(np.log1p(-rate) + absent, np.log(rate) + present) for present in (with_one, with_other)
    )
    log_integrand = (order + 1) * one - order * other
    top = log_integrand.max()
    moment = top + np.log(np.exp(log_integrand - top).sum() * (x[1] - x[0]) ** 2)
    assert moment <= log_moment(rate, multiplier / 2, [order])[0] + 1e-9


# --- estimates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_example", [True, False])
def test_with_every_example_at_the_bound_the_estimate_is_the_moments_accountant(
    make_instances, per_example: bool
) -> None:
    trace = make_instances(rounds=12, clients=6, steps=2, cohorts=[6, 0, 3] * 4, per_example=per_example)
    bound = trace["instance_clip_l2"].iloc[0]
    for view in both(trace, {"instance_remove_sum": np.full((12, 2, 6, 5), bound)}):
        (mechanism,) = view.mechanisms
        cost = view.counts.sum() * log_moment(mechanism.sampling_rate, mechanism.noise_multiplier)
        expected, _ = best(cost, 0.99 * DELTA)
        for composition in ("product", "hoelder"):
            labels = {"composition": composition}
            assert end(bayesian.curves(view, DELTA), **labels) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize(("per_example", "largest"), [(True, 1), (False, 2)])
def test_a_client_of_fewer_than_three_samples_costs_the_largest_distance_there_can_be(
    make_instances, per_example: bool, largest: float
) -> None:
    trace = make_instances(rounds=3, clients=4, per_example=per_example)
    distances = everywhere(0.0, 3, 1, 4, 8)["instance_remove_sum"]
    distances[:, :, 1, 2:] = np.nan  # one client had batches of two
    sequential, parallel = both(trace, {"instance_remove_sum": distances})
    for view in (sequential, parallel):
        (mechanism,) = view.mechanisms
        worst = 3 * log_moment(mechanism.sampling_rate, mechanism.noise_multiplier / largest)
        found = end(bayesian.curves(view, DELTA), composition="product")
        assert found == pytest.approx(float(best(worst, 0.99 * DELTA)[0]), rel=1e-12)


def test_who_was_not_there_costs_nothing(make_instances) -> None:
    trace = make_instances(rounds=4, clients=9, cohorts=[3, 2, 0, 3])
    distances = drawn((4, 1, 3, 8), 1 / 60)
    wider = {
        name: np.concatenate([array, np.full((4, 1, 6, array.shape[3]), np.nan)], axis=2)
        for name, array in distances.items()
    }
    for narrow, wide in zip(both(trace, distances), both(trace, wider), strict=True):
        for one, other in zip(bayesian.curves(narrow, DELTA), bayesian.curves(wide, DELTA), strict=True):
            np.testing.assert_array_equal(one.epsilon, other.epsilon)


def test_delta_pays_for_every_bound_of_every_client_and_step(make_instances) -> None:
    trace = make_instances(rounds=3, clients=4, steps=2)
    distances = drawn((3, 2, 4, 8), 1 / 60)
    sequential, parallel = both(trace, distances)
    failure = 0.01 * DELTA / (3 * 4 * 2 * len(LAMBDAS))
    assert bayesian.failure_probability(DELTA, sequential.samples.bounds) == pytest.approx(failure)
    (mechanism,) = parallel.mechanisms
    scaled = mechanism.noise_multiplier / 60 / distances["instance_remove_sum"]
    bounds = bayesian.log_upper_bound(log_moment(mechanism.sampling_rate, scaled), failure)
    bounds = np.minimum(bounds, log_moment(mechanism.sampling_rate, mechanism.noise_multiplier))
    expected, _ = best(bounds.max(axis=2).sum(axis=(0, 1)), 0.99 * DELTA)
    labels = {"distance": "remove_sum", "composition": "product"}
    assert end(bayesian.curves(parallel, DELTA), **labels) == pytest.approx(float(expected), rel=1e-12)


def test_hoelders_exponent_is_the_number_of_steps_that_are_composed(make_instances) -> None:
    distances = drawn((3, 2, 4, 8), 1 / 60)["instance_remove_sum"]
    trace = make_instances(rounds=3, clients=4, steps=2)
    for view, exponent in zip(both(trace, {"instance_remove_sum": distances}), (24, 6), strict=True):
        (mechanism,) = view.mechanisms
        logs = log_moment(mechanism.sampling_rate, mechanism.noise_multiplier / 60 / distances)
        failure = bayesian.failure_probability(DELTA, 24)
        costs = bayesian.log_upper_bound(exponent * logs, failure) / exponent
        costs = np.minimum(costs, log_moment(mechanism.sampling_rate, mechanism.noise_multiplier))
        steps = costs.sum(axis=2) if view.accounting == "sequential" else costs.max(axis=2)
        expected, _ = best(steps.sum(axis=(0, 1)), 0.99 * DELTA)
        labels = {"composition": "hoelder"}
        assert end(bayesian.curves(view, DELTA), **labels) == pytest.approx(float(expected), rel=1e-12)


def test_many_distances_give_what_few_do_but_for_the_height_of_a_chord(
    make_instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = make_instances(rounds=10, clients=5)
    for view in both(trace, drawn((10, 1, 5, 8), 1 / 60)):
        exact = bayesian.curves(view, DELTA)
        with monkeypatch.context() as patched:
            patched.setattr("fedpriv.account.bayesian.EXACT", 0)
            read = bayesian.curves(view, DELTA)
        for one, other in zip(exact, read, strict=True):
            assert (other.epsilon >= one.epsilon * (1 - 1e-12)).all()
            assert (other.epsilon <= one.epsilon * 1.001).all()


def test_the_chunk_of_rounds_that_is_worked_on_changes_nothing(
    make_instances, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = make_instances(rounds=7, clients=4, cohorts=[4, 0, 2, 3, 4, 1, 4])
    view, _ = both(trace, drawn((7, 1, 4, 8), 1 / 60))
    whole = bayesian.curves(view, DELTA)
    monkeypatch.setattr(bayesian, "CHUNK", 1)
    for one, other in zip(whole, bayesian.curves(view, DELTA), strict=True):
        np.testing.assert_allclose(one.epsilon, other.epsilon, rtol=1e-13)


def test_without_distances_of_instances_there_are_no_estimates(make_instances) -> None:
    trace = make_instances(rounds=3)
    for distances in ({}, everywhere(0.1, 3, 1, 10, 0)):
        for view in both(trace, distances):
            assert bayesian.curves(view, DELTA) == []


def test_nobody_at_all_costs_nothing_by_any_accountant(make_instances) -> None:
    trace = make_instances(rounds=3, cohorts=[0, 0, 0])
    for view in both(trace, everywhere(0.1, 3, 1, 0, 8)):
        for name, accountant in ACCOUNTANTS.items():
            for curve in accountant.curves(view, DELTA):
                floor = -np.log((0.99 if name == "bayesian" else 1.0) * DELTA) / 512
                assert (curve.epsilon <= floor + 1e-12).all()
