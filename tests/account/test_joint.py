"""Joint accounting: the clients' own noise counted towards clients, from two places."""

import numpy as np
import pytest
from scipy.stats import norm

from fedpriv.account import bayesian, moments, pld, rdp
from fedpriv.account.spend import Curve
from fedpriv.account.views import secure_sum_views, server_views, upload_views

DELTA = 1e-3


def same(found: list[Curve], expected: list[Curve]) -> bool:
    """Return whether two lists of curves have the same sensitivities and ε."""
    return [curve.sensitivity for curve in found] == [curve.sensitivity for curve in expected] and all(
        np.allclose(one.epsilon, other.epsilon, rtol=1e-12)
        for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("accountant", [moments, rdp, pld])
def test_equal_shares_are_client_dp_with_the_noise_of_all_others(
    make_trace, make_instances, accountant
) -> None:
    joint = make_instances(rounds=15, clients=30, multiplier=2.0, joint=True, per_example=False)
    server = make_trace(rounds=15, rate=1.0, multiplier=2.0 * np.sqrt(29), law="full", population=30)
    assert same(
        accountant.curves(secure_sum_views(joint, {})[0], DELTA),
        accountant.curves(server_views(server, {})[0], DELTA),
    )


@pytest.mark.parametrize("accountant", [moments, rdp, pld])
def test_a_single_upload_is_a_client_alone_with_its_noise_in_every_round(
    make_trace, make_instances, accountant
) -> None:
    cohorts = [4, 7, 5, 6] * 4
    joint = make_instances(16, 12, 2.0, joint=True, per_example=False, cohorts=cohorts)
    server = make_trace(rounds=16, rate=1.0, multiplier=2.0, law="full", population=12)
    found = accountant.curves(upload_views(joint, {})[0], DELTA)
    assert same(found, accountant.curves(server_views(server, {})[0], DELTA))


def test_single_uploads_reveal_far_more_than_their_sum(make_instances) -> None:
    joint = make_instances(50, 30, 2.0, joint=True, per_example=False)
    of_a_sum, of_an_upload = (
        moments.curves(view, DELTA)[0].epsilon
        for view in (secure_sum_views(joint, {})[0], upload_views(joint, {})[0])
    )
    assert (of_an_upload > 4 * of_a_sum).all()


@pytest.mark.parametrize("view", [secure_sum_views, upload_views])
def test_with_every_upload_at_the_bound_the_estimate_is_the_moments_accountant(make_instances, view) -> None:
    joint = make_instances(10, 8, 2.0, joint=True, per_example=False, clip=0.3)
    (seen, *_) = view(joint, {"remove_sum": np.full((10, 8), 0.3)})
    certain = moments.curves(seen, 0.99 * DELTA)[0].epsilon
    curves = bayesian.curves(seen, DELTA)
    assert [(curve.distance, curve.composition) for curve in curves] == [
        ("remove_sum", "product"),
        ("remove_sum", "hoelder"),
    ]
    for curve in curves:
        assert curve.relation == "zero_out"
        np.testing.assert_allclose(curve.epsilon, certain, rtol=1e-9)


def test_cohorts_of_many_sizes_have_no_loss_distribution_and_a_bound_for_each(make_instances) -> None:
    joint = make_instances(20, 30, 2.0, joint=True, cohorts=range(5, 25))
    view = secure_sum_views(joint, {})[0]
    assert len(view.mechanisms) == 20
    assert pld.curves(view, DELTA) == []
    one_by_one = np.cumsum([moments.log_moment(0.5, one.noise_multiplier) for one in view.mechanisms], axis=0)
    expected, _ = moments.best(one_by_one, DELTA)
    np.testing.assert_allclose(moments.curves(view, DELTA)[0].epsilon, expected, rtol=1e-12)


def test_in_many_dimensions_the_noise_that_a_client_takes_along_gives_it_away() -> None:
    # Why neighbours are not with and without the client: nobody moves anything, and yet the mere variance of
    # the sum, ‖x‖² of d coordinates, tells 30 shares of noise from 29 with near certainty.
    dimension, shares = 81_958, 30
    spread = np.sqrt(2 / dimension)  # of the mean square, relative
    threshold = 1 - 0.5 / shares
    missed = norm.cdf((threshold - 1) / spread) + norm.sf((threshold - (1 - 1 / shares)) / spread)
    assert missed < 1e-3
