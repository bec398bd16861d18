"""What converters make of other frameworks' settings costs what these frameworks' own accountants count."""

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from fedpriv.account import ledger, others, spends
from fedpriv.errors import BadInput

DELTA = 1e-5
HISTORIES = [
    [(1.1, 2 / 58, 58)],
    [(1.0, 0.01, 200), (2.0, 0.02, 100)],
    [(0.7, 0.004, 600)],
]
REPLACE = dp.NeighboringRelation.REPLACE_ONE


def cost(trace: pd.DataFrame, sensitivity: str = "C") -> dict[str, float]:
    counted = spends(ledger(trace, DELTA))
    return {one.accountant: one.epsilon for one in counted if one.sensitivity == sensitivity}


def sampled(rate: float, noise: float) -> dp.DpEvent:
    return dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise))


def theirs(event: dp.DpEvent, accountant: type = RdpAccountant, **words) -> float:
    found = accountant(**words)
    found.compose(event)
    return found.get_epsilon(DELTA)


@pytest.mark.parametrize("history", HISTORIES, ids=str)
@pytest.mark.parametrize(
    ("name", "ours", "words"),
    # Opacus adds its error to what it returns of the second.
    [("RDPAccountant", "rdp", {}), ("PRVAccountant", "pld", {"eps_error": 5e-4})],
)
def test_the_history_of_opacus_costs_what_opacus_says(history, name, ours, words):
    accountants = pytest.importorskip("opacus.accountants", reason="Opacus is not installed")
    accountant = getattr(accountants, name)()
    for noise, rate, steps in history:
        accountant.history.append((noise, rate, steps))
    found = cost(others.from_opacus(accountant.history))[ours]
    assert found == pytest.approx(accountant.get_epsilon(DELTA, **words), abs=1e-3)


EVENTS = {
    "gaussian": dp.SelfComposedDpEvent(dp.GaussianDpEvent(5.0), 7),
    "poisson": dp.SelfComposedDpEvent(sampled(0.02, 1.5), 300),
    "phases": dp.ComposedDpEvent(
        [dp.SelfComposedDpEvent(sampled(0.02, 1.5), 300), dp.NoOpDpEvent(), dp.GaussianDpEvent(6.0)]
    ),
    "nested": dp.SelfComposedDpEvent(dp.ComposedDpEvent([sampled(0.1, 3.0), sampled(0.2, 4.0)]), 20),
    "of one sample": dp.SelfComposedDpEvent(
        dp.PoissonSampledDpEvent(0.1, dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.GaussianDpEvent(4.0)])),
        20,
    ),
}


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize(("accountant", "ours"), [(RdpAccountant, "rdp"), (PLDAccountant, "pld")])
def test_an_event_costs_what_the_library_says_and_comes_back_as_an_equal_one(name, accountant, ours):
    trace = others.from_dp_event(EVENTS[name])
    found = cost(trace)[ours]
    again = others.to_dp_event(trace)
    assert theirs(again, accountant) == pytest.approx(found, abs=1e-3)
    if name != "of one sample" or ours == "rdp":  # the library composes no losses within a sample
        assert theirs(EVENTS[name], accountant) == pytest.approx(found, abs=1e-3)


def test_a_sample_without_replacement_is_that_of_the_library():
    event = dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(20, 5, dp.GaussianDpEvent(2.0)), 15)
    trace = others.from_dp_event(event)
    assert cost(trace, "2C")["rdp"] == pytest.approx(theirs(event, neighboring_relation=REPLACE), abs=1e-3)
    assert others.to_dp_event(trace) == event
    assert trace["noise_multiplier"].tolist() == [4.0]


@pytest.mark.parametrize("unit", ["client", "instance"])
@pytest.mark.parametrize(
    "rows",
    [
        {"sampling_law": "poisson", "sampling_rate": [0.1, 0.1, 0.3]},
        {"sampling_law": "full"},
        {"sampling_law": "fixed", "population": 30, "cohort_size": [3, 3, 6]},
    ],
    ids=lambda rows: rows["sampling_law"],
)
def test_a_trace_becomes_an_event_that_costs_the_same(rows, unit):
    trace = pd.DataFrame({"unit": unit, **rows, "noise_multiplier": [4.0, 6.0, 4.0], "releases": [5, 1, 2]})
    event = others.to_dp_event(trace)
    fixed = rows["sampling_law"] == "fixed"
    words = {"neighboring_relation": REPLACE} if fixed else {}
    assert cost(trace, "2C" if fixed else "C")["rdp"] == pytest.approx(theirs(event, **words), abs=1e-3)
    back = others.from_dp_event(event, unit)
    assert cost(back, "2C" if fixed else "C")["rdp"] == pytest.approx(
        cost(trace, "2C" if fixed else "C")["rdp"], rel=1e-12
    )


def test_no_noise_is_a_non_private_event_and_the_other_way_round():
    trace = others.from_dp_event(dp.ComposedDpEvent([sampled(0.1, 2.0), dp.NonPrivateDpEvent()]))
    assert cost(trace)["rdp"] == np.inf and theirs(others.to_dp_event(trace)) == np.inf


@pytest.mark.parametrize(
    "event",
    [
        dp.LaplaceDpEvent(1.0),
        dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(1.0)),
        dp.SampledWithReplacementDpEvent(10, 2, dp.GaussianDpEvent(1.0)),
        dp.SingleEpochTreeAggregationDpEvent(1.0, 4),
        dp.NoOpDpEvent(),
        dp.ComposedDpEvent(
            [dp.SampledWithoutReplacementDpEvent(9, 3, dp.GaussianDpEvent(1.0)), sampled(0.1, 1.0)]
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_is_not_of_gaussians_is_refused(event):
    with pytest.raises(BadInput, match="event: found"):
        others.from_dp_event(event)


@pytest.mark.parametrize(
    "more",
    [
        {"denominator": "present", "population": 10, "cohort_size": 2},
        {"mechanism": "other"},
        {"upload_noise_std": 1.0, "upload_l2": 1.0},
    ],
    ids=str,
)
def test_a_trace_that_no_event_is_of_is_refused(more):
    row = {"unit": "client", "sampling_law": "poisson", "sampling_rate": 0.2, "noise_multiplier": 1.0}
    with pytest.raises(BadInput, match="trace: found"):
        others.to_dp_event(pd.DataFrame([row | more]))


@pytest.mark.parametrize(("noise", "clients", "rounds"), [(1.0, 100, 500), (0.5, 20, 100), (3.0, 400, 2000)])
@pytest.mark.parametrize("adaptive", [True, False])
def test_settings_of_tff_cost_its_effective_multiplier(noise, clients, rounds, adaptive):
    trace = others.from_tff(
        noise_multiplier=noise, clients_per_round=clients, population=10_000, rounds=rounds, adaptive=adaptive
    )
    event = dp.SelfComposedDpEvent(sampled(clients / 10_000, noise), rounds)
    assert cost(trace)["rdp"] == pytest.approx(theirs(event), abs=1e-3)
    assert cost(trace)["pld"] == pytest.approx(theirs(event, PLDAccountant), abs=1e-3)


@pytest.mark.parametrize(("noise", "clients", "rounds"), [(4.0, 50, 15), (8.0, 100, 100), (2.0, 30, 5)])
@pytest.mark.parametrize("adaptive", [True, False])
def test_settings_of_flower_cost_those_of_cohorts_without_replacement(noise, clients, rounds, adaptive):
    trace = others.from_flower(
        noise_multiplier=noise, num_sampled_clients=clients, population=1000, rounds=rounds, adaptive=adaptive
    )
    sample = dp.SampledWithoutReplacementDpEvent(1000, clients, dp.GaussianDpEvent(noise / 2))
    wanted = theirs(dp.SelfComposedDpEvent(sample, rounds), neighboring_relation=REPLACE)
    assert cost(trace, "2C")["rdp"] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("noise", "rate", "rounds"), [(1.0, 0.001, 1500), (0.6, 0.01, 100), (2.0, 0.1, 50)])
def test_settings_of_pfl_cost_what_its_accountant_would_say(noise, rate, rounds):
    words = {"sampling_probability": rate, "num_compositions": rounds}
    trace = others.from_pfl(noise_parameter=noise, **words)
    event = dp.SelfComposedDpEvent(sampled(rate, noise), rounds)
    assert cost(trace)["pld"] == pytest.approx(theirs(event, PLDAccountant), abs=1e-3)
    less = others.from_pfl(noise_parameter=noise, **words, noise_scale=0.5)
    assert less["noise_multiplier"].item() == noise / 2 and less["sampling_rate"].item() == rate / 2


@pytest.mark.parametrize("count", [0.5, 0.4])
def test_a_count_with_too_little_noise_of_its_own_is_refused(count):
    words = {"noise_multiplier": 1.0, "population": 100, "rounds": 1}
    with pytest.raises(BadInput, match="clipped_count_stddev: found"):
        others.from_tff(**words, clients_per_round=10, clipped_count_stddev=count)
    with pytest.raises(BadInput, match="clipped_count_stddev: found"):
        others.from_flower(**words, num_sampled_clients=10, adaptive=True)
