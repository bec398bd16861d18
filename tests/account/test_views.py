import numpy as np
import pytest

from fedpriv.account import moments
from fedpriv.account.events import Mechanism
from fedpriv.account.views import DISTANCES, distinct, server_views, views


def seen(trace, distances=None) -> list[tuple[str, str]]:
    """Return unit and accounting of every view of a trace."""
    return [(view.unit, view.accounting) for view in views(trace, distances or {})]


def test_noise_on_the_server_has_one_view_of_clients(make_trace) -> None:
    assert seen(make_trace()) == [("client", "")]
    assert seen(make_trace(multiplier=0.0).assign(unit="none")) == [("none", "")]


def test_noise_on_clients_has_two_views_of_instances(make_instances) -> None:
    assert seen(make_instances()) == [("instance", "sequential"), ("instance", "parallel")]


def test_joint_noise_is_seen_in_the_sum_and_in_single_uploads(make_instances) -> None:
    assert seen(make_instances(joint=True))[:2] == [("client", "sum"), ("client", "upload")]
    assert seen(make_instances(joint=True))[2:] == seen(make_instances())


def test_split_noise_has_the_servers_view_of_clients(make_instances) -> None:
    trace = make_instances(unit="both", server_multiplier=3.0)
    assert seen(trace) == [("client", ""), ("instance", "sequential"), ("instance", "parallel")]
    assert views(trace, {})[0].mechanisms[0].noise_multiplier == 3.0


def test_rounds_alike_are_counted_together_wherever_they_are(make_trace) -> None:
    trace = make_trace(rounds=7)
    trace.loc[3:4, "noise_multiplier"] = 5.0
    view = server_views(trace, {})[0]
    assert [one.noise_multiplier for one in view.mechanisms] == [2.0, 5.0]
    assert view.counts.tolist() == [[1, 0]] * 3 + [[0, 1]] * 2 + [[1, 0]] * 2


def test_the_realised_size_of_a_poisson_cohort_makes_no_mechanism_of_its_own(make_trace) -> None:
    trace = make_trace(rounds=4)
    trace["cohort_size"] = [97, 103, 0, 110]
    assert len(server_views(trace, {})[0].mechanisms) == 1


def test_a_mechanism_that_was_not_run_costs_nothing_even_if_it_would_reveal_everything(make_trace) -> None:
    noisy, bare = (Mechanism("poisson", 10, 0, 0.5, z) for z in (1.0, 0.0))
    mechanisms, counts = distinct([noisy, bare, bare, noisy], np.array([2, 0, 1, 3]))
    view = server_views(make_trace(rounds=4), {})[0]._replace(mechanisms=mechanisms, counts=counts)
    assert view.running(np.array([[0.5], [np.inf]])).ravel().tolist() == [1.0, 1.0, np.inf, np.inf]


def test_sequential_accounting_counts_every_step_of_every_client(make_instances) -> None:
    sequential, parallel = views(make_instances(rounds=4, cohorts=[3, 0, 10, 1], steps=5), {})
    assert sequential.counts.ravel().tolist() == [15, 0, 50, 5]
    assert parallel.counts.ravel().tolist() == [5, 0, 5, 5]
    assert sequential.mechanisms == [Mechanism("poisson", 0, 0, 60 / 6000, 2.0)]
    assert parallel.mechanisms == [Mechanism("poisson", 0, 0, 60 / 600, 2.0)]


def test_rounds_without_anybody_cost_nothing(make_instances) -> None:
    for view in views(make_instances(rounds=5, cohorts=[0, 0, 4, 0, 4]), {}):
        for curve in moments.curves(view, 1e-5):
            np.testing.assert_allclose(curve.epsilon[:2], -np.log(1e-5) / 512)
            assert curve.epsilon[1] < curve.epsilon[2] == curve.epsilon[3] < curve.epsilon[4]


def test_the_shares_of_the_others_protect_the_sum(make_instances) -> None:
    trace = make_instances(rounds=4, cohorts=[5, 1, 0, 5], joint=True, multiplier=3.0, per_example=False)
    view = views(trace, {})[0]
    assert [one.noise_multiplier for one in view.mechanisms] == [6.0, 3.0]  # √4 · 3, and one share
    assert view.counts.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert {one.sampling_rate for one in view.mechanisms} == {0.5}


def test_a_single_upload_has_one_share_of_noise_and_no_sampling(make_instances) -> None:
    trace = make_instances(rounds=4, cohorts=[5, 1, 0, 5], joint=True, multiplier=3.0, per_example=False)
    (view,) = (one for one in views(trace, {}) if one.accounting == "upload")
    assert view.mechanisms == [Mechanism("full", 5 * 2, 0, 1.0, 3.0)]
    assert view.counts.ravel().tolist() == [1, 1, 0, 1]


def test_clipped_examples_leave_a_client_little_noise_of_its_own(make_instances) -> None:
    view = views(make_instances(joint=True, multiplier=3.0, batch=60, per_example=True), {})[1]
    assert view.mechanisms[0].noise_multiplier == pytest.approx(3.0 / 60)


def test_a_clients_own_noise_is_kept_when_its_update_is_zeroed(make_instances) -> None:
    trace = make_instances(joint=True)
    relations = [view.relations for view in views(trace, {})]
    assert [one["C"] for one in relations] == ["zero_out", "zero_out", "add_remove", "add_remove"]
    assert {one["2C"] for one in relations} == {"replace_one"}


def test_sequential_accounting_holds_of_a_single_client_only(make_instances) -> None:
    for clients, holds in ((1, True), (2, False)):
        sequential, parallel = views(make_instances(clients=clients), {})
        assert (not sequential.unmet) is holds
        assert not parallel.unmet


@pytest.mark.parametrize(("per_example", "certified"), [(True, {"C", "2C"}), (False, {"2C"})])
def test_clipping_the_mean_of_a_batch_certifies_twice_the_bound_only(
    make_instances, per_example: bool, certified: set[str]
) -> None:
    _, parallel = views(make_instances(per_example=per_example), {})
    assert {sensitivity for sensitivity in ("C", "2C") if not parallel.unmet_at(sensitivity)} == certified


def test_who_is_not_in_the_cohort_has_no_bounds(make_instances) -> None:
    trace = make_instances(rounds=3, cohorts=[2, 0, 4], steps=5)
    distances = {f"instance_{name}": np.zeros((3, 5, 6, 8)) for name in DISTANCES}
    for view in views(trace, distances):
        assert view.samples.taking_part.tolist() == [2, 0, 4]
        assert view.samples.bounds == 5 * (2 + 0 + 4)
