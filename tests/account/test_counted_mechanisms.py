"""What a trace says was released is what is counted: all that a view sees, and no mechanism unknown."""

from collections.abc import Callable

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest
from support.library import pld_accountant, rdp_accountant

from fedpriv.account import Deltas, bayesian, moments, pld, rdp, statements
from fedpriv.account.check import checked_trace
from fedpriv.account.ledgers import ledger
from fedpriv.account.releases import Release
from fedpriv.account.views import count_released, upload_views, views
from fedpriv.errors import BadInput
from fedpriv.schemes import SCHEMES
from fedpriv.trace import BEFORE_MECHANISM, MECHANISMS

DELTA = 1e-5


def test_what_does_not_say_what_it_released_has_no_epsilon_at_all(make_trace):
    assert ledger(make_trace().assign(mechanism="other"), DELTA).empty
    assert len(ledger(make_trace(), DELTA))
    assert ledger(make_trace().drop(columns="mechanism").assign(scheme="of_a_plug_in"), DELTA).empty


def test_every_scheme_declares_what_traces_of_before_are_taken_to_be():
    assert {name: SCHEMES[name].mechanism for name in BEFORE_MECHANISM} == BEFORE_MECHANISM
    assert {one.mechanism for one in SCHEMES.values()} <= {*MECHANISMS} - {"other"}


# --- a noisy count beside a noisy sum -----------------------------------------------------------------------

SUM, COUNT, BOUND = 2.0, 5.0, 0.7


@pytest.fixture
def counted(make_trace):
    """A trace with a count in every round."""
    return make_trace(multiplier=SUM, clip=BOUND, rate=0.3, rounds=20).assign(count_noise_multiplier=COUNT)


@pytest.mark.parametrize(("sensitivity", "scale"), [("C", 1), ("2C", 2)])
def test_the_ledger_of_a_count_and_a_sum_is_the_librarys_of_both(counted, sensitivity, scale):
    both = dp.ComposedDpEvent([dp.GaussianDpEvent(SUM / scale), dp.GaussianDpEvent(COUNT / scale)])
    theirs = rdp_accountant().compose(dp.PoissonSampledDpEvent(0.3, both), 20).get_epsilon(1e-3)
    found = ledger(counted, 1e-3).query(f"accountant == 'rdp' and sensitivity == '{sensitivity}'")
    assert found["epsilon"].iloc[-1] == pytest.approx(theirs, rel=1e-9)


def test_distances_have_the_count_as_a_coordinate(counted):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 6, 4))
    rows *= np.minimum(1, BOUND / np.linalg.norm(rows, axis=2, keepdims=True))
    # A client's part of the centred count is ±1/2; its noise, of std COUNT/2, is scaled to the sum's.
    part = rng.choice([-0.5, 0.5], (20, 6, 1)) * SUM * BOUND / (COUNT / 2)
    whole = np.concatenate([rows, part], axis=2)
    trace, found = count_released(checked_trace(counted), {"remove_sum": np.linalg.norm(rows, axis=2)})
    np.testing.assert_allclose(found["remove_sum"], np.linalg.norm(whole, axis=2))
    assert (found["remove_sum"] <= trace["clip_l2"][:, None] * (1 + 1e-12)).all()
    np.testing.assert_allclose(trace["clip_l2"] * trace["noise_multiplier"], counted["noise_std"])


# --- noise that clients add to what they send ---------------------------------------------------------------


def test_rounds_in_which_nobody_sent_anything_cost_nothing(make_trace):
    noisy = {"upload_l2": 0.5, "upload_noise_std": [1.0, 0.0, 1.0], "noise_in_sum": True}
    view = upload_views(checked_trace(make_trace(rounds=3).assign(**noisy, cohort_size=[4, 0, 4])), {})[0]
    assert view.releases[0] == Release("full", 1000, 0, 1.0, 2.0)
    assert view.counts.sum(axis=1).tolist() == [1, 0, 1]
    epsilon = moments.curves(view, DELTA)[0].epsilon
    assert epsilon[0] == epsilon[1] < epsilon[2] < np.inf


@pytest.mark.parametrize("accountant", [moments, rdp, pld, bayesian])
def test_what_is_sent_in_the_clear_is_hidden_by_no_noise_on_the_rest(make_instances, accountant):
    trace = make_instances(rounds=3, joint=True).assign(clear_values=[0, 568, 0])
    distances = {"remove_sum": np.full((3, 8), 0.1), "instance_remove_sum": np.full((3, 1, 10, 8), 0.01)}
    for view in views(checked_trace(trace), distances):
        for curve in accountant.curves(view, DELTA):
            assert np.isfinite(curve.epsilon).tolist() == [True, False, False]


# --- rows that stand for several releases -------------------------------------------------------------------

TIMES = [3, 1, 4]


@pytest.fixture
def kinds(make_trace, make_instances) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return builders of traces of three rounds."""
    bits = {"gamma": 0.1, "flips": "coordinate", "noisy_bits": 3}
    few = {"topped_up": True, "noise_shares": 9, "population": 30, "sampling_rate": 0.1}
    return {
        "poisson": lambda: make_trace(3).assign(noise_multiplier=[1.0, 2.0, 1.0], noise_std=[1.0, 2.0, 1.0]),
        "fixed": lambda: make_trace(3, law="fixed", multiplier=4.0),
        "present": lambda: make_trace(3, multiplier=4.0).assign(
            denominator="present", cohort_size=[90, 100, 110]
        ),
        "count": lambda: make_trace(3).assign(count_noise_multiplier=3.0),
        "instances": lambda: make_instances(3, steps=2, cohorts=[4, 5, 6]).assign(holders=1),
        "joint": lambda: make_instances(3, joint=True, multiplier=8.0),
        "topped up": lambda: make_instances(3, joint=True, multiplier=8.0, cohorts=[4, 5, 6]).assign(**few),
        "upload": lambda: make_trace(3).assign(upload_l2=1.0, upload_noise_std=5.0),
        "no noise in one": lambda: make_trace(3).assign(noise_multiplier=[1, 0, 1], noise_std=[1, 0, 1]),
        "bits": lambda: make_trace(3, 1.0, 0.0, law="full", clip=np.inf, population=10).assign(**bits),
    }


def last(trace: pd.DataFrame) -> pd.DataFrame:
    found = ledger(trace, Deltas(delta=1e-5, instance_delta=1e-6))
    return found[found["round"] == len(trace)].drop(columns="round").reset_index(drop=True)


def test_a_row_of_several_releases_costs_what_so_many_rows_cost(kinds):
    for made in kinds.values():
        trace = made().drop(columns=["round", "releases"], errors="ignore")
        rows = trace.loc[trace.index.repeat(TIMES)].reset_index(drop=True)
        pd.testing.assert_frame_equal(last(trace.assign(releases=TIMES)), last(rows), rtol=1e-9)


@pytest.mark.parametrize(
    "facts", [{"local_steps": 100}, {"gamma": 0.1, "flips": "tensor", "noisy_bits": 10**5}]
)
def test_no_more_releases_are_counted_than_numbers_can_say(make_trace, facts):
    with pytest.raises(BadInput, match=r"^trace: releases: found .* in all cohorts, allowed: at most 1e\+15"):
        ledger(make_trace(3).assign(releases=10**12, **facts), DELTA)


def test_distances_of_rows_that_stand_for_several_releases_are_refused(make_trace):
    distances = {"remove_sum": np.full((3, 5), 0.5)}
    assert "bayesian" in set(ledger(make_trace(3).assign(releases=1), DELTA, distances)["accountant"])
    with pytest.raises(BadInput, match=r"^trace: releases: found 2, allowed: 1 in every round that has dist"):
        ledger(make_trace(3).assign(releases=[1, 2, 1]), DELTA, distances)


# --- statistics of all examples, released before the first step ---------------------------------------------

RATE, NOISE, STEPS = 4096 / 60_000, 3.04, 560


def with_statistics(steps=STEPS, releases=2, of=8.0, rate=RATE, noise=NOISE) -> pd.DataFrame:
    """Return a trace of DP-SGD on one client's examples, with statistics released before its first step."""
    first = np.arange(steps) == 0
    server = {"unit": "instance", "sampling_law": "full", "population": 1, "cohort_size": 1, "holders": 1}
    server |= {"noise_multiplier": 0.0, "noise_std": 0.0, "clip_l2": 0.1}
    work = {"local_steps": 1, "rate_sequential": rate, "rate_parallel": rate, "per_example_clip": True}
    work |= {"instance_clip_l2": 1.0, "instance_noise_multiplier": noise, "instance_noise_std": noise}
    released = {"statistics_releases": releases * first, "statistics_noise_multiplier": of}
    return pd.DataFrame(server | work | released)


def spent(trace: pd.DataFrame, accountant: str) -> float:
    (found,) = (
        one.epsilon
        for one in statements(ledger(trace, DELTA))
        if (one.accountant, one.sensitivity, one.accounting) == (accountant, "C", "sequential")
    )
    return found


def test_epsilon_is_that_of_the_library_for_statistics_and_steps_composed():
    steps = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(RATE, dp.GaussianDpEvent(NOISE)), STEPS)
    event = dp.ComposedDpEvent([dp.SelfComposedDpEvent(dp.GaussianDpEvent(8.0), 2), steps])
    here = with_statistics()
    assert spent(here, "rdp") == pytest.approx(rdp_accountant().compose(event).get_epsilon(DELTA), rel=1e-9)
    assert spent(here, "pld") == pytest.approx(pld_accountant().compose(event).get_epsilon(DELTA), rel=1e-3)
    assert spent(with_statistics(3, of=0.0), "rdp") == np.inf


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "releases"),
    [(RATE, NOISE, STEPS, 2), (8192 / 60_000, 4.05, 280, 0), (2048 / 60_000, 2.15, 1160, 0)],
)
def test_the_noise_that_tramer_and_boneh_publish_for_three_costs_three_by_the_classical_conversion(
    rate, noise, steps, releases
):
    trace = with_statistics(steps, releases, rate=rate, noise=noise)
    assert spent(trace, "moments") == pytest.approx(3, abs=0.005)


def test_clients_release_no_statistics(make_trace):
    with pytest.raises(
        BadInput, match=r"^trace: statistics_releases: found some with unit client, allowed: "
    ):
        ledger(make_trace(1).assign(statistics_releases=1), DELTA)
