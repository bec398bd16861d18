"""Counts that are no guarantees: neighbours who cost more than they say, and what is counted instead."""

import numpy as np
import pytest

from fedpriv.account import Deltas, bayesian, moments
from fedpriv.account.check import checked
from fedpriv.account.ledgers import ledger
from fedpriv.account.moments import log_moment
from fedpriv.account.runs import counted
from fedpriv.account.views import secure_sum_views
from fedpriv.mechanisms.sampling import Poisson
from fedpriv.store import npz, parquet, summary

DELTAS = Deltas()


def met(frame, **labels) -> float:
    """Return the least ε of the last round that is a guarantee and said to hold."""
    last = frame[(frame["round"] == frame["round"].max()) & (frame["kind"] == "guarantee")]
    some = last[last["assumptions_met"]]
    for name, value in labels.items():
        some = some[some[name] == value]
    return float(some["epsilon"].min())


def joint_trace(make_trace, share: float, clients: int, came: int, rounds: int):
    return make_trace(rounds, came / clients, 0.0, population=clients).assign(
        unit="both",
        cohort_size=came,
        noise_shares=came - 1,
        noise_in_sum=True,
        local_steps=1,
        rate_sequential=1e-3,
        rate_parallel=0.1,
        per_example_clip=True,
        instance_clip_l2=1.0,
        instance_noise_multiplier=share,
        instance_noise_std=share,
    )


@pytest.mark.parametrize(
    ("data", "dedup", "holds"),
    [
        ({"name": "mnist"}, "keep", True),
        ({"name": "aptos"}, "keep", False),  # some of its photographs are there twice
        ({"name": "aptos"}, "drop", True),
        ({"name": "aptos", "distinct": 100}, "keep", True),  # then `holders` is of equal examples
    ],
    ids=str,
)
def test_an_older_run_does_not_know_who_holds_an_example_that_is_there_twice(
    data, dedup, holds, make_instances, tmp_path
) -> None:
    parquet.save(make_instances(rounds=1, clients=10).assign(holders=1), tmp_path / "trace.parquet")
    npz.save(tmp_path / "distances.npz", {})
    config = {"photos": {"dedup": dedup}, "partition": {"repeat": False}}
    summary.save_summary(tmp_path / "summary.json", {"data": data, "config": config})
    found = met(counted(tmp_path, Deltas(delta=1e-5, instance_delta=1e-5)), accounting="parallel")
    assert np.isfinite(found) == holds


def test_an_estimate_costs_at_most_what_the_dearest_client_there_can_be_does() -> None:
    far = np.where(np.arange(10) < 1, 1.0, 0.5)
    samples, worst = log_moment(0.3, 3.0 / far)[None], log_moment(0.3, 3.0)[None]
    uncapped = bayesian.log_upper_bound(samples, 1e-9)
    assert (uncapped > worst).any()
    assert (bayesian.round_costs(samples, worst, 1e-9) <= worst).all()
    assert (bayesian.panel_costs(samples, worst, 1e-9) <= worst).all()
    beyond = log_moment(0.3, 3.0 / np.full((1, 10), 2.0))  # which no run writes
    assert (bayesian.round_costs(beyond, worst, 1e-9) > worst).all()


@pytest.mark.parametrize("failure", [1e-9, 1e-3])
def test_delta_pays_for_more_clients_than_noise_was_topped_up_for(make_trace, failure: float) -> None:
    shares = Poisson(rate=0.03).most(1000, 100, failure)
    trace = joint_trace(make_trace, 0.353, 1000, 30, 100).assign(topped_up=True, noise_shares=shares)
    (view,) = secure_sum_views(checked(trace), {})
    assert 0 < view.residual <= failure
    frame = ledger(trace, Deltas())
    rows = frame[(frame["accounting"] == "sum") & (frame["accountant"] == "moments")]
    if failure > 1e-5:
        assert not rows["assumptions_met"].any()
    else:
        (mechanism,) = view.mechanisms
        cost = 100 * log_moment(0.03, mechanism.noise_multiplier)
        assert rows["epsilon"].iloc[99] == pytest.approx(float(moments.best(cost, 1e-5 - view.residual)[0]))
