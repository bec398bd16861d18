"""The two accountants that the library computes: curves against its one-shot values."""

import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant, compute_epsilon
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.fft import next_fast_len
from support.library import event, pld_accountant, rdp_accountant

from fedpriv.account import plans, pld, rdp
from fedpriv.account.check import checked_trace
from fedpriv.account.statement import Curve
from fedpriv.account.views import View, server_views
from fedpriv.errors import BadInput

DELTA = 1e-5


def find(curves: list[Curve], sensitivity: str) -> Curve:
    (found,) = (curve for curve in curves if curve.sensitivity == sensitivity)
    return found


def composed_by_the_library(view: View, rounds: int, sensitivity: str, accountant):
    """Return a library accountant after the first `rounds` of a view."""
    for mechanism, times in zip(view.releases, view.counts[:rounds].sum(axis=0).tolist(), strict=True):
        if times:
            accountant.compose(event(mechanism, times, sensitivity))
    return accountant


def test_the_orders_are_those_of_the_library() -> None:
    assert rdp.ORDERS.tolist() == RdpAccountant().orders.tolist()


@pytest.mark.parametrize("sensitivity", ["C", "2C"])
def test_every_round_of_an_rdp_curve_is_what_the_library_says_of_the_rounds_so_far(
    make_trace, sensitivity: str
) -> None:
    trace = make_trace(rounds=6)
    trace.loc[3:, ["noise_multiplier", "noise_std"]] = 1.5
    view = server_views(checked_trace(trace), {})[0]
    curve = find(rdp.curves(view, DELTA), sensitivity)
    for rounds in (1, 3, 4, 6):
        composed = composed_by_the_library(view, rounds, sensitivity, rdp_accountant())
        epsilon, order = composed.get_epsilon_and_optimal_order(DELTA)
        assert curve.epsilon[rounds - 1] == pytest.approx(epsilon, rel=1e-9)
        assert curve.order[rounds - 1] == order


@given(
    arrays(np.float64, 5, elements=st.floats(0, 1e6) | st.floats(0, 1e-9) | st.just(np.inf)),
    st.floats(1e-12, 0.5),
)
def test_divergences_of_many_rounds_become_what_the_library_makes_of_each(rates, delta: float) -> None:
    divergences = np.sort(rates)[:, None] * np.linspace(0.5, 2, len(rdp.ORDERS))
    for epsilon, order, row in zip(*rdp.least_epsilon(divergences, delta), divergences, strict=True):
        library, its_order = compute_epsilon(rdp.ORDERS, row, delta)
        assert epsilon == pytest.approx(library, rel=1e-12, abs=1e-15)
        assert np.isnan(order) if np.isinf(library) else order == its_order


@pytest.mark.parametrize("sensitivity", ["C", "2C"])
def test_a_pld_curve_bounds_every_round_and_is_exact_at_the_last(make_trace, sensitivity: str) -> None:
    trace = make_trace(rounds=40, rate=0.02, multiplier=2.0)
    view = server_views(checked_trace(trace), {})[0]
    curve = find(pld.curves(view, DELTA), sensitivity)
    for rounds in (1, 10, 25, 40):
        exact = composed_by_the_library(view, rounds, sensitivity, pld_accountant()).get_epsilon(DELTA)
        assert curve.epsilon[rounds - 1] >= exact - 1e-9
        if rounds != 25:  # between two evaluated rounds
            assert curve.epsilon[rounds - 1] == pytest.approx(exact, rel=3e-3)
    assert curve.epsilon[-1] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("distinct", "curves"), [(8, 2), (9, 0)])
def test_more_than_eight_mechanisms_have_no_loss_distribution(make_trace, distinct: int, curves: int) -> None:
    trace = make_trace(rounds=9, rate=0.05)
    trace.loc[: distinct - 1, "noise_multiplier"] = np.linspace(5.0, 9.0, distinct)
    trace.loc[distinct:, "noise_multiplier"] = 9.0
    trace["noise_std"] = trace["noise_multiplier"]
    assert len(pld.curves(server_views(checked_trace(trace), {})[0], DELTA)) == curves


@pytest.mark.parametrize(("multiplier", "curves"), [(0.03, 2), (0.001, 0)])
def test_an_epsilon_beyond_all_use_has_no_loss_distribution(
    make_trace, multiplier: float, curves: int
) -> None:
    trace = make_trace(rounds=3).assign(noise_multiplier=multiplier, noise_std=multiplier)
    assert len(pld.curves(server_views(checked_trace(trace), {})[0], DELTA)) == curves
    assert np.isfinite(find(rdp.curves(server_views(checked_trace(trace), {})[0], DELTA), "C").epsilon).all()


def test_where_loss_distributions_certify_nothing_no_number_of_rdp_has_their_name() -> None:
    plan = {"sampling_rate": 0.3, "rounds": 300, "delta": DELTA}
    assert pld.epsilon(noise_multiplier=0.001, **plan) == np.inf
    assert plans.epsilon(noise_multiplier=0.001, **plan, accountant="rdp").epsilon < np.inf
    with pytest.raises(BadInput, match=r"pld: found a plan of which it certifies no ε .*, allowed: another"):
        plans.epsilon(noise_multiplier=0.001, **plan, accountant="pld")
    assert pld.epsilon(noise_multiplier=0.3, **plan) < rdp.epsilon(noise_multiplier=0.3, **plan)


@given(st.integers(1, 10_000_000))
def test_a_transform_is_as_long_as_scipy_would_have_it(least):
    assert pld.fast_length(least) == next_fast_len(least, real=True)
