"""A noisy count beside a noisy sum is counted in the same ledger, as dp-accounting counts both together."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from support.made_run import BY_SCHEME, RUN, go

from fedpriv.account import Deltas
from fedpriv.account.client_views import count_released
from fedpriv.account.ledgers import ledger
from fedpriv.account.runs import account
from fedpriv.account.view import DISTANCES
from fedpriv.files import parquet

DELTAS = Deltas(delta=1e-3, instance_delta=1e-3)
SUM, COUNT, BOUND = 2.0, 5.0, 0.7


@pytest.fixture
def counted(make_trace):
    """A trace with a count in every round."""
    return make_trace(multiplier=SUM, clip=BOUND, rate=0.3, rounds=20).assign(count_noise_multiplier=COUNT)


def last(frame, accountant, sensitivity="C"):
    of = frame[(frame["accountant"] == accountant) & (frame["sensitivity"] == sensitivity)]
    return float(of.sort_values("round")["epsilon"].iloc[-1])


def by_the_library(accountant, rate, rounds, multipliers):
    gaussians = [dp_event.GaussianDpEvent(one) for one in multipliers]
    both = dp_event.ComposedDpEvent(gaussians) if len(gaussians) > 1 else gaussians[0]
    return accountant.compose(dp_event.PoissonSampledDpEvent(rate, both), rounds).get_epsilon(DELTAS.delta)


@pytest.mark.parametrize("scale", [1, 2])
def test_the_ledger_of_a_count_and_a_sum_is_the_librarys_of_both(counted, scale):
    found = ledger(counted, DELTAS)
    expected = by_the_library(RdpAccountant(), 0.3, 20, (SUM / scale, COUNT / scale))
    assert last(found, "rdp", "C" if scale == 1 else "2C") == pytest.approx(expected, rel=1e-9)


def test_pld_agrees_with_the_librarys_of_the_gaussian_that_both_are(counted):
    expected = by_the_library(PLDAccountant(), 0.3, 20, ((SUM**-2 + COUNT**-2) ** -0.5,))
    assert last(ledger(counted, DELTAS), "pld") == pytest.approx(expected, rel=2e-3)


def test_a_run_with_adaptive_clipping_costs_what_one_with_a_fixed_bound_does_and_the_library_says_so(
    files, tmp_path
):
    frames = {}
    for name in ("adaptive_dp", "client_dp"):
        out = go(RUN | BY_SCHEME[name], files, tmp_path / name)
        frames[name] = parquet.load(account(out, DELTAS))
    trace = parquet.load(tmp_path / "adaptive_dp/trace.parquet")
    split = float(trace["noise_multiplier"].iloc[0]), float(trace["count_noise_multiplier"].iloc[0])
    assert split == pytest.approx((1 / math.sqrt(0.9), 1 / math.sqrt(0.1)))
    expected = by_the_library(RdpAccountant(), 0.5, 6, split)
    assert last(frames["adaptive_dp"], "rdp") == pytest.approx(expected, rel=1e-9)
    for accountant in ("moments", "rdp", "pld"):
        fixed = last(frames["client_dp"], accountant)
        assert last(frames["adaptive_dp"], accountant) == pytest.approx(fixed, rel=1e-6)
    met = frames["adaptive_dp"].query("accountant in ('moments', 'rdp', 'pld')")["assumptions_met"]
    assert met.all()


def test_a_count_without_noise_reveals_everything(counted):
    found = ledger(counted.assign(count_noise_multiplier=0.0), DELTAS)
    assert np.isinf([last(found, "moments"), last(found, "rdp")]).all()


def test_a_trace_without_a_count_is_read_as_it_is(make_trace):
    trace, distances = make_trace(), {}
    assert count_released(trace, distances) == (trace, distances)


def test_distances_have_the_count_as_a_coordinate(counted):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 6, 4))
    rows *= np.minimum(1, BOUND / np.linalg.norm(rows, axis=2, keepdims=True))
    # A client's part of the centred count is ±1/2; its noise, of std COUNT/2, is scaled to the sum's.
    part = rng.choice([-0.5, 0.5], (20, 6, 1)) * SUM * BOUND / (COUNT / 2)
    whole = np.concatenate([rows, part], axis=2)

    def distances(of):
        return {
            "remove_sum": np.linalg.norm(of, axis=2),
            "pairwise": np.linalg.norm(of[:, ::2] - of[:, 1::2], axis=2),
        }

    trace, found = count_released(counted, distances(rows))
    exact = distances(whole)
    np.testing.assert_allclose(found["remove_sum"], exact["remove_sum"])
    assert (found["pairwise"] >= exact["pairwise"] - 1e-12).all()
    for name, most in (("remove_sum", 1), ("pairwise", 2)):
        assert (found[name] <= most * trace["clip_l2"].to_numpy()[:, None] * (1 + 1e-12)).all()
    np.testing.assert_allclose(trace["clip_l2"] * trace["noise_multiplier"], counted["noise_std"])


def test_clients_at_the_bound_cost_by_the_estimate_what_they_cost_by_moments(counted):
    furthest = {name: np.full((20, 30), most * BOUND) for name, (_, most) in DISTANCES.items()}
    found = ledger(counted, DELTAS, furthest)
    estimate = found.query(
        "accountant == 'bayesian' and composition == 'product' and right_term == 'both_left'"
    )
    worst = estimate[(estimate["distance"] == "remove_sum") & (estimate["round"] == 20)]["epsilon"].iloc[0]
    guarantee = ledger(counted, Deltas(delta=0.99e-3, instance_delta=1e-3))
    assert worst == pytest.approx(last(guarantee, "moments"), rel=1e-6)
