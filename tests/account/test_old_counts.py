"""Counts that are no guarantees: neighbours who cost more than they say, and what is counted instead."""

import numpy as np
import pytest
from support.one_number import trace_of
from support.small_federation import Federation, Outcomes, delta_of_rounds

from fedpriv.account import Deltas, bayesian, moments, pld
from fedpriv.account.ledgers import ledger
from fedpriv.account.moments import LAMBDAS, log_moment
from fedpriv.account.runs import counted
from fedpriv.account.views import secure_sum_views
from fedpriv.files import npz, parquet, summary
from fedpriv.local.work import FedSGD
from fedpriv.mechanisms.sampling import Full, Poisson
from fedpriv.schemes.hooks import Hooks
from fedpriv.schemes.joint import Joint

DELTAS = Deltas()


def gaussian(mean: float, std: float) -> Outcomes:
    return Outcomes(np.ones(1), np.zeros(1), np.array([mean]), np.array([std]))


def met(frame, **labels) -> float:
    """Return the least ε of the last round that is a guarantee and said to hold."""
    last = frame[(frame["round"] == frame["round"].max()) & (frame["kind"] == "guarantee")]
    some = last[last["assumptions_met"]]
    for name, value in labels.items():
        some = some[some[name] == value]
    return float(some["epsilon"].min())


def composed_delta(one: Outcomes, other: Outcomes, rounds: int, epsilon: float) -> float:
    """Return the δ of so many equal rounds; losses are rounded down, so that it is too small if anything."""
    width, cells = 2e-4, 1 << 20
    x = np.linspace(-12, 12, 400_001) * one.std.max() + one.mean.mean()

    def density(side: Outcomes) -> np.ndarray:
        scaled = (x[:, None] - side.mean) / side.std
        return (np.exp(-(scaled**2) / 2) / side.std) @ side.probability

    p, q = density(one), density(other)
    loss = np.floor((np.log(p) - np.log(q)) / width).astype(int)
    mass = np.bincount(loss % cells, p / p.sum(), cells)
    total = np.fft.irfft(np.fft.rfft(mass) ** rounds, cells)
    losses = (np.arange(cells) + cells // 2) % cells - cells // 2
    return float(np.sum(total * np.maximum(0, -np.expm1(epsilon - losses * width))))


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


def test_a_sum_whose_noise_tells_how_many_came_costs_more_than_poisson_sampling(make_trace) -> None:
    share, clients, came, rounds = 0.353, 1000, 30, 100
    trace = joint_trace(make_trace, share, clients, came, rounds)
    stated = pld.epsilon(
        sampling_rate=came / clients, noise_multiplier=np.sqrt(came - 1) * share, rounds=rounds, delta=1e-5
    )
    # Everybody else sends -C: who is not there has somebody else in its place.
    rate, std = came / clients, np.sqrt(came) * share
    mixed = [
        Outcomes(np.array([1 - rate, rate]), np.zeros(2), np.array([0.0, shift]), np.array([std, std]))
        for shift in (2.0, 1.0)
    ]
    assert composed_delta(*mixed, rounds, stated) > 10 * 1e-5
    assert composed_delta(*mixed, rounds, 1.5) > 1e-5  # the exact ε is above
    frame = ledger(trace, DELTAS)
    assert not frame.loc[frame["accounting"] == "sum", "assumptions_met"].any()
    certified = met(frame, accounting="sized")
    assert composed_delta(*mixed, rounds, certified) <= 1e-5
    topped_up = met(ledger(trace.assign(topped_up=True, noise_shares=80), DELTAS), accounting="sum")
    assert topped_up < certified / 3


def test_a_hook_that_clips_noisy_uploads_does_not_make_the_gradient_beneath_smaller() -> None:
    old = pld.epsilon(sampling_rate=1.0, noise_multiplier=1.0 / 0.01, rounds=3, delta=1e-5)
    # Three uploads, each clipped at 0.01: their signs alone tell a gradient of norm 1 from its opposite.
    three = delta_of_rounds(
        [(gaussian(1.0, 1.0 / np.sqrt(3)), gaussian(0.0, 1.0 / np.sqrt(3)))], np.array([old])
    )
    assert old < 0.06 and three[0] > 0.3
    scheme = Joint(clip_l2=1.0, noise_multiplier=1.0)
    hooks = Hooks.model_validate({"clip_upload": {"bound": 0.01}})
    local, rng = FedSGD(batch_size=3), np.random.default_rng(0)
    traces = [trace_of(scheme, hook, Full(), 4, 3, rng, local) for hook in (hooks, Hooks())]
    clipped, whole = (ledger(trace, DELTAS) for trace in traces)
    assert met(clipped, accounting="upload") == met(whole, accounting="upload") > 3
    assert np.isnan(met(clipped, accounting="sum")) and met(whole, accounting="sum") > 1


def test_a_mean_over_those_present_costs_more_than_a_sum_over_a_public_number() -> None:
    run = Federation(8, "poisson", 0.5, 0, server_std=2.0, divided_by_those_present=True)
    stated = pld.epsilon(sampling_rate=0.5, noise_multiplier=2.0, rounds=1, delta=1e-3)
    others = np.full(7, -1.0)
    one, other = run.round(np.append(1.0, others)), run.round(np.append(0.0, others))
    assert delta_of_rounds([(one, other)], np.array([stated]))[0] > 2e-3


def test_an_example_at_several_clients_costs_what_all_of_them_release(make_instances) -> None:
    trace = make_instances(rounds=1, clients=10, multiplier=2.0)
    once, twice, unknown = (ledger(trace.assign(holders=r), DELTAS) for r in (1, 2, 0))
    again = ledger(make_instances(rounds=2, clients=10, multiplier=2.0), DELTAS)
    assert met(once, accounting="parallel") < met(twice, accounting="parallel")
    assert met(twice, accounting="parallel") == pytest.approx(met(again, accounting="parallel"))
    assert np.isnan(met(unknown, accounting="parallel"))
    batches = Federation(4, "poisson", 0.5, 0, server_std=2.0)
    pair = [batches.round(np.array([mine, 0, 0, 0])) for mine in (1.0, np.nan)]
    stated = pld.epsilon(sampling_rate=0.5, noise_multiplier=2.0, rounds=1, delta=1e-3)
    assert delta_of_rounds([tuple(pair)] * 2, np.array([stated]))[0] > 2e-3


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
    summary.save(tmp_path / "summary.json", {"data": data, "config": config})
    found = met(counted(tmp_path, Deltas(delta=1e-5, instance_delta=1e-5)), accounting="parallel")
    assert np.isfinite(found) == holds


def test_noise_that_leaves_with_a_client_is_no_add_or_remove() -> None:
    run = Federation(8, "poisson", 0.5, 0, server_std=2.0, client_std=3.0)
    stated = pld.epsilon(sampling_rate=0.5, noise_multiplier=2.0, rounds=1, delta=1e-3)
    others = np.zeros(7)
    one, other = run.round(np.append(1.0, others)), run.round(np.append(np.nan, others))
    assert delta_of_rounds([(one, other)], np.array([stated]))[0] > 1e-2


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
    (view,) = secure_sum_views(trace, {})
    assert 0 < view.residual <= failure
    frame = ledger(trace, Deltas())
    rows = frame[(frame["accounting"] == "sum") & (frame["accountant"] == "moments")]
    if failure > 1e-5:
        assert not rows["assumptions_met"].any()
    else:
        (mechanism,) = view.mechanisms
        cost = 100 * log_moment(0.03, mechanism.noise_multiplier)
        assert rows["epsilon"].iloc[99] == pytest.approx(float(moments.best(cost, 1e-5 - view.residual)[0]))


def test_the_coins_of_who_is_seen_to_take_part_are_counted_exactly(make_trace) -> None:
    trace = make_trace(2, 0.3, 0.0).assign(
        unit="none", clip_l2=np.inf, upload_l2=1.0, upload_noise_std=2.0, noise_in_sum=True
    )
    frame = ledger(trace, Deltas(delta=1e-3, instance_delta=1e-3))
    drawn, always = (
        met(frame, accounting="drawn", sensitivity="C"),
        met(frame, accounting="upload", sensitivity="C"),
    )
    sent = [
        Outcomes(np.array([0.3, 0.7]), np.array([1, 0]), np.array([u, 0.0]), np.array([2.0, 0.0]))
        for u in (1, 0)
    ]
    assert drawn < always
    assert delta_of_rounds([tuple(sent)] * 2, np.array([drawn]))[0] <= 1e-3
    whole = np.array(LAMBDAS) * (np.array(LAMBDAS) + 1) / 8
    expected = 2 * np.logaddexp(np.log(0.7), np.log(0.3) + whole)
    rows = frame[
        (frame["accounting"] == "drawn") & (frame["accountant"] == "moments") & (frame["sensitivity"] == "C")
    ]
    assert rows["epsilon"].iloc[-1] == pytest.approx(float(moments.best(expected, 1e-3)[0]))
