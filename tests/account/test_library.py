"""The two accountants that the library computes: curves against its one-shot values."""

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as distributions
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import compute_epsilon
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.library import event, pld_accountant, rdp_accountant

from fedpriv.account import moments, pld, rdp
from fedpriv.account.check import checked
from fedpriv.account.spend import Curve
from fedpriv.account.views import Mechanism, View, server_views

DELTA = 1e-5


def find(curves: list[Curve], sensitivity: str) -> Curve:
    (found,) = (curve for curve in curves if curve.sensitivity == sensitivity)
    return found


def composed_by_the_library(view: View, rounds: int, sensitivity: str, accountant):
    """Return a library accountant after the first `rounds` of a view."""
    for mechanism, times in zip(view.mechanisms, view.counts[:rounds].sum(axis=0).tolist(), strict=True):
        if times:
            accountant.compose(event(mechanism, times, sensitivity))
    return accountant


@pytest.mark.parametrize("sensitivity", ["C", "2C"])
def test_every_round_of_an_rdp_curve_is_what_the_library_says_of_the_rounds_so_far(
    make_trace, sensitivity: str
) -> None:
    trace = make_trace(rounds=6)
    trace.loc[3:, "noise_multiplier"] = 1.5
    view = server_views(checked(trace), {})[0]
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
    divergences = np.sort(rates)[:, None] * np.linspace(0.5, 2, len(rdp.orders()))
    for epsilon, order, row in zip(*rdp.least_epsilon(divergences, delta), divergences, strict=True):
        library, its_order = compute_epsilon(rdp.orders(), row, delta)
        assert epsilon == pytest.approx(library, rel=1e-12, abs=1e-15)
        assert np.isnan(order) if np.isinf(library) else order == its_order


def test_fixed_cohorts_are_accounted_for_replaced_clients_only(make_trace) -> None:
    (curve,) = rdp.curves(server_views(checked(make_trace(law="fixed", rounds=3)), {})[0], DELTA)
    assert (curve.relation, curve.sensitivity, curve.unmet) == ("replace_one", "2C", "")


@pytest.mark.parametrize("rounds", [1, 2, 19, 20, 21, 22, 300, 1000])
def test_the_evaluated_rounds_ascend_to_the_last(rounds: int) -> None:
    grid = pld.evaluated(rounds)
    assert grid == sorted(set(grid))
    assert grid[0] == 1
    assert grid[-1] == rounds


@pytest.mark.parametrize("sensitivity", ["C", "2C"])
def test_a_pld_curve_bounds_every_round_and_is_exact_at_the_last(make_trace, sensitivity: str) -> None:
    trace = make_trace(rounds=40, rate=0.02, multiplier=2.0)
    view = server_views(checked(trace), {})[0]
    curve = find(pld.curves(view, DELTA), sensitivity)
    for rounds in (1, 10, 25, 40):
        exact = composed_by_the_library(view, rounds, sensitivity, pld_accountant()).get_epsilon(DELTA)
        assert curve.epsilon[rounds - 1] >= exact - 1e-9
        if rounds != 25:  # between two evaluated rounds
            assert curve.epsilon[rounds - 1] == pytest.approx(exact, rel=3e-3)
    assert curve.epsilon[-1] == pytest.approx(exact, rel=1e-6)


def test_a_pld_curve_composes_rounds_of_different_noise(make_trace) -> None:
    trace = make_trace(rounds=24, rate=0.05)
    trace.loc[8:, "noise_multiplier"] = 4.0
    view = server_views(checked(trace), {})[0]
    curve = find(pld.curves(view, DELTA), "C")
    composed = composed_by_the_library(view, 24, "C", pld_accountant())
    assert curve.epsilon[-1] == pytest.approx(composed.get_epsilon(DELTA), rel=1e-4)
    assert (np.diff(curve.epsilon) >= 0).all()


def test_a_pld_curve_is_infinite_from_the_first_round_without_noise(make_trace) -> None:
    trace = make_trace(rounds=30, rate=0.02)
    trace.loc[12, "noise_multiplier"] = 0.0
    curve = find(pld.curves(server_views(checked(trace), {})[0], DELTA), "C")
    assert np.isfinite(curve.epsilon[:12]).all()
    assert np.isinf(curve.epsilon[12:]).all()


@pytest.mark.parametrize(("distinct", "curves"), [(8, 2), (9, 0)])
def test_more_than_eight_mechanisms_have_no_loss_distribution(make_trace, distinct: int, curves: int) -> None:
    trace = make_trace(rounds=9, rate=0.05)
    trace.loc[: distinct - 1, "noise_multiplier"] = np.linspace(5.0, 9.0, distinct)
    trace.loc[distinct:, "noise_multiplier"] = 9.0
    assert len(pld.curves(server_views(checked(trace), {})[0], DELTA)) == curves


def test_fixed_cohorts_have_no_loss_distribution(make_trace) -> None:
    assert pld.curves(server_views(checked(make_trace(law="fixed")), {})[0], DELTA) == []


@pytest.mark.parametrize(("rate", "multiplier", "rounds"), [(0.02, 1.0, 10), (0.1, 3.0, 50), (1.0, 5.0, 4)])
def test_twice_the_sensitivity_under_add_remove_bounds_replaced_clients(
    rate: float, multiplier: float, rounds: int
) -> None:
    replaced = distributions.from_gaussian_mechanism(
        multiplier,
        value_discretization_interval=1e-3,
        sampling_prob=rate,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    ).self_compose(rounds)
    law = "full" if rate == 1 else "poisson"
    twice = pld_accountant().compose(event(Mechanism(law, 0, 0, rate, multiplier), rounds, "2C"))
    assert replaced.get_epsilon_for_delta(DELTA) <= twice.get_epsilon(DELTA) + 1e-3


def test_the_three_accountants_agree_on_the_order_of_tightness(make_trace) -> None:
    view = server_views(checked(make_trace(rounds=25, rate=0.05)), {})[0]
    for sensitivity in ("C", "2C"):
        tight, middle, loose = (
            find(accountant.curves(view, DELTA), sensitivity).epsilon[-1]
            for accountant in (pld, rdp, moments)
        )
        assert tight < middle < loose


@pytest.mark.parametrize(
    ("rate", "delta", "renyi", "loss"),
    [(0.3, 1e-3, 7.35, 6.55), (0.1, 1e-5, 2.72, 2.50), (0.03, 1e-6, 0.834, 0.768)],
)
def test_better_accounting_lowers_the_three_published_budgets(
    rate: float, delta: float, renyi: float, loss: float
) -> None:
    plan = {"sampling_rate": rate, "noise_multiplier": 3.0, "rounds": 300, "delta": delta}
    assert rdp.epsilon(**plan) == pytest.approx(renyi, rel=2e-3)
    assert pld.epsilon(**plan) == pytest.approx(loss, rel=3e-3)


@pytest.mark.parametrize(("multiplier", "curves"), [(0.03, 2), (0.001, 0)])
def test_an_epsilon_beyond_all_use_has_no_loss_distribution(
    make_trace, multiplier: float, curves: int
) -> None:
    trace = make_trace(rounds=3).assign(noise_multiplier=multiplier)
    assert len(pld.curves(server_views(checked(trace), {})[0], DELTA)) == curves
    assert np.isfinite(find(rdp.curves(server_views(checked(trace), {})[0], DELTA), "C").epsilon).all()


def test_where_loss_distributions_certify_nothing_epsilon_is_that_of_rdp() -> None:
    plan = {"sampling_rate": 0.3, "rounds": 300, "delta": DELTA}
    assert pld.epsilon(noise_multiplier=0.001, **plan) == rdp.epsilon(noise_multiplier=0.001, **plan)
    assert pld.epsilon(noise_multiplier=0.3, **plan) < rdp.epsilon(noise_multiplier=0.3, **plan)
