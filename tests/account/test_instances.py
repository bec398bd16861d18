"""Instance-level accounting: what sequential and parallel mean, against other ways to the same number."""

import dp_accounting as dp
import numpy as np
import pytest
from support.library import pld_accountant, rdp_accountant

from fedpriv.account import bayesian, pld, rdp
from fedpriv.account.check import checked_trace
from fedpriv.account.moments import LAMBDAS, best, log_moment
from fedpriv.account.statement import Curve
from fedpriv.account.views import View, views
from fedpriv.trace import DISTANCES

DELTA = 1e-5


def both(trace, distances=None) -> tuple[View, View]:
    """Return the sequential and the parallel view of instances."""
    sequential, parallel = (
        view for view in views(checked_trace(trace), distances or {}) if view.unit == "instance"
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


def test_with_clipped_examples_epsilon_is_that_of_the_library_for_all_steps_composed(make_instances) -> None:
    trace = make_instances(rounds=25, clients=8, steps=2, multiplier=1.2)
    sequential, parallel = both(trace)
    for view, rate, times in ((sequential, 60 / 4800, 25 * 8 * 2), (parallel, 0.1, 25 * 2)):
        composed = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(1.2)), times)
        library = rdp_accountant().compose(composed).get_epsilon(DELTA)
        assert end(rdp.curves(view, DELTA), sensitivity="C") == pytest.approx(library, rel=1e-9)
        library = pld_accountant().compose(composed).get_epsilon(DELTA)
        assert end(pld.curves(view, DELTA), sensitivity="C") == pytest.approx(library, rel=1e-3)


# --- estimates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_example", [True, False])
def test_with_every_example_at_the_bound_the_estimate_is_the_moments_accountant(
    make_instances, per_example: bool
) -> None:
    trace = make_instances(rounds=12, clients=6, steps=2, cohorts=[6, 0, 3] * 4, per_example=per_example)
    bound = trace["instance_clip_l2"].iloc[0]
    for view in both(trace, {"instance_remove_sum": np.full((12, 2, 6, 5), bound)}):
        (release,) = view.releases
        cost = view.counts.sum() * log_moment(release.sampling_rate, release.noise_multiplier)
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
        (release,) = view.releases
        worst = 3 * log_moment(release.sampling_rate, release.noise_multiplier / largest)
        found = end(bayesian.curves(view, DELTA), composition="product")
        assert found == pytest.approx(float(best(worst, 0.99 * DELTA)[0]), rel=1e-12)


@pytest.mark.parametrize("composition", ["product", "hoelder"])
def test_delta_pays_for_every_bound_and_hoelders_exponent_is_the_number_of_steps(
    make_instances, composition: str
) -> None:
    distances = drawn((3, 2, 4, 8), 1 / 60)["instance_remove_sum"]
    trace, failure = make_instances(rounds=3, clients=4, steps=2), 0.01 * DELTA / (3 * 4 * 2 * len(LAMBDAS))
    for view, steps in zip(both(trace, {"instance_remove_sum": distances}), (24, 6), strict=True):
        (release,) = view.releases
        assert bayesian.failure_probability(DELTA, view.samples.bounds) == pytest.approx(failure)
        exponent = steps if composition == "hoelder" else 1
        logs = log_moment(release.sampling_rate, release.noise_multiplier / 60 / distances)
        costs = bayesian.log_upper_bound(exponent * logs, failure) / exponent
        costs = np.minimum(costs, log_moment(release.sampling_rate, release.noise_multiplier))
        costs = costs.sum(axis=2) if view.accounting == "sequential" else costs.max(axis=2)
        expected, _ = best(costs.sum(axis=(0, 1)), 0.99 * DELTA)
        found = end(bayesian.curves(view, DELTA), composition=composition)
        assert found == pytest.approx(float(expected), rel=1e-12)
