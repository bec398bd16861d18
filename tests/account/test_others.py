"""What converters make of other frameworks' settings costs what these frameworks' own accountants count."""

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from fedpriv.account import foreign, ledger, statements
from fedpriv.errors import BadInput

DELTA = 1e-5
TFF = {"noise_multiplier": 1.0, "clients_per_round": 100, "population": 10_000, "rounds": 50}
PFL = {"noise_parameter": 1.0, "sampling_probability": 0.01, "num_compositions": 50}
FLOWER = {"noise_multiplier": -2.0, "num_sampled_clients": 5, "population": 20, "rounds": 15}
SHARES = {"noise_multiplier": 2.0, "largest_share": 0.2, "fewest_replies": 5}
HISTORIES = [[(1.1, 2 / 58, 58)], [(1.0, 0.01, 200), (2.0, 0.02, 100)]]
REPLACE = dp.NeighboringRelation.REPLACE_ONE


def cost(trace: pd.DataFrame, sensitivity: str = "C") -> dict[str, float]:
    counted = statements(ledger(trace, DELTA))
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
    said = {"clipping": "flat", "poisson_sampling": True}
    found = cost(foreign.from_opacus(accountant.state_dict(), **said))[ours]
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
def test_an_event_costs_what_the_library_says(name, accountant, ours):
    found = cost(foreign.from_dp_event(EVENTS[name]))[ours]
    if name != "of one sample" or ours == "rdp":  # the library composes no losses within a sample
        assert theirs(EVENTS[name], accountant) == pytest.approx(found, abs=1e-3)


def test_a_sample_without_replacement_is_that_of_the_library():
    event = dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(20, 5, dp.GaussianDpEvent(2.0)), 15)
    trace = foreign.from_dp_event(event)
    assert cost(trace, "2C")["rdp"] == pytest.approx(theirs(event, neighboring_relation=REPLACE), abs=1e-3)
    assert trace["noise_multiplier"].tolist() == [4.0]


@pytest.mark.parametrize(
    "event",
    [
        dp.LaplaceDpEvent(1.0),
        dp.SingleEpochTreeAggregationDpEvent(1.0, 4),
        dp.ComposedDpEvent(
            [dp.SampledWithoutReplacementDpEvent(9, 3, dp.GaussianDpEvent(1.0)), sampled(0.1, 1.0)]
        ),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_is_not_of_gaussians_is_refused(event):
    with pytest.raises(BadInput, match="event: found"):
        foreign.from_dp_event(event)


@pytest.mark.parametrize(("noise", "clients", "rounds"), [(1.0, 100, 500), (0.5, 20, 100)])
@pytest.mark.parametrize("adaptive", [True, False])
def test_settings_of_tff_cost_its_effective_multiplier(noise, clients, rounds, adaptive):
    trace = foreign.from_tff(
        noise_multiplier=noise, clients_per_round=clients, population=10_000, rounds=rounds, adaptive=adaptive
    )
    event = dp.SelfComposedDpEvent(sampled(clients / 10_000, noise), rounds)
    assert cost(trace)["rdp"] == pytest.approx(theirs(event), abs=1e-3)
    assert cost(trace)["pld"] == pytest.approx(theirs(event, PLDAccountant), abs=1e-3)


@pytest.mark.parametrize(("noise", "clients", "rounds"), [(4.0, 50, 15), (8.0, 100, 100)])
@pytest.mark.parametrize("adaptive", [True, False])
def test_settings_of_flower_cost_those_of_cohorts_without_replacement(noise, clients, rounds, adaptive):
    equal = {"largest_share": 1 / clients, "fewest_replies": clients}
    words = {"num_sampled_clients": clients, "population": 1000, "rounds": rounds, "adaptive": adaptive}
    trace = foreign.from_flower(noise_multiplier=noise, **words, **equal)
    sample = dp.SampledWithoutReplacementDpEvent(1000, clients, dp.GaussianDpEvent(noise / 2))
    wanted = theirs(dp.SelfComposedDpEvent(sample, rounds), neighboring_relation=REPLACE)
    assert cost(trace, "2C")["rdp"] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("noise", "rate", "rounds"), [(1.0, 0.001, 1500), (2.0, 0.1, 50)])
def test_settings_of_pfl_cost_what_its_accountant_would_say(noise, rate, rounds):
    words = {"sampling_probability": rate, "num_compositions": rounds}
    trace = foreign.from_pfl(noise_parameter=noise, **words)
    event = dp.SelfComposedDpEvent(sampled(rate, noise), rounds)
    assert cost(trace)["pld"] == pytest.approx(theirs(event, PLDAccountant), abs=1e-3)
    less = foreign.from_pfl(noise_parameter=noise, **words, noise_scale=0.5)
    assert less["noise_multiplier"].item() == noise / 2 and less["sampling_rate"].item() == rate / 2


@pytest.mark.parametrize("count", [0.5, 0.4])
def test_a_count_with_too_little_noise_of_its_own_is_refused(count):
    words = {"noise_multiplier": 1.0, "population": 100, "rounds": 1}
    with pytest.raises(BadInput, match="clipped_count_stddev: found"):
        foreign.from_tff(**words, clients_per_round=10, clipped_count_stddev=count)
    with pytest.raises(BadInput, match="clipped_count_stddev: found"):
        foreign.from_flower(**words, num_sampled_clients=10, adaptive=True)


@st.composite
def cohorts(draw):
    """Return the examples of clients who are all drawn, and how many of them reply at least."""
    held = draw(st.lists(st.integers(1, 400), min_size=1, max_size=7))
    return held, draw(st.integers(1, len(held)))


@given(cohorts(), st.floats(0.5, 20), st.integers(1, 30))
@settings(max_examples=40)
def test_what_a_client_moves_a_weighted_mean_of_flower_is_counted_whoever_does_not_reply(
    cohort, noise, rounds
):
    held, fewest = cohort
    sampled = len(held)
    trace = foreign.from_flower(
        noise_multiplier=noise,
        adaptive=False,
        num_sampled_clients=sampled,
        population=sampled,
        rounds=rounds,
        largest_share=max(held) / sum(held),
        fewest_replies=fewest,
    )
    guaranteed = [one for one in statements(ledger(trace, DELTA)) if one.status == "guarantee"]
    found = min(guaranteed, key=lambda one: one.epsilon)
    # The largest client sends the opposite, the noise is z·C/m, and those who replied are the smallest.
    replied = [max(held), *sorted(held)[: fewest - 1]]
    moved = 2 * max(held) / sum(replied) * sampled / noise
    assert found.relation == "replace_one"
    assert found.epsilon >= dp.get_epsilon_gaussian(1 / (moved * np.sqrt(rounds)), DELTA) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("made", "met"),
    [
        (lambda **said: foreign.from_tff(**TFF, **said), {"zeroing": False, "poisson_sampling": True}),
        (
            lambda **said: foreign.from_pfl(**PFL, **said),
            {"public_denominator": True, "poisson_sampling": True},
        ),
    ],
    ids=["tff", "pfl"],
)
def test_what_a_framework_does_by_default_is_no_guarantee_until_it_is_said_otherwise(made, met):
    for said in ({}, *({name: value} for name, value in met.items())):
        assert not any(one.status == "guarantee" for one in statements(ledger(made(**said), DELTA)))
    assert all(one.status == "guarantee" for one in statements(ledger(made(**met), DELTA)))


NEGATIVE = {"noise_multiplier": -1.0}


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: foreign.from_tff(**TFF | NEGATIVE), "noise_multiplier: found -1, allowed: at least 0"),
        (lambda: foreign.from_flower(**FLOWER | SHARES | {"largest_share": 0.1}), "found 0.1, allowed: 0.2"),
        (lambda: foreign.from_flower(**FLOWER | SHARES | {"fewest_replies": 6}), "found 6, allowed: 1 to 5"),
        (lambda: foreign.from_opacus([(1.0, 0.3, 9)], poisson_sampling=False), "found sampling rates 0.3"),
        (
            lambda: ledger(foreign.from_tff(**TFF).assign(violation=3), DELTA),
            "violation: found 3, allowed: a text",
        ),
    ],
)
def test_settings_that_there_cannot_be_are_one_line(call, line):
    with pytest.raises(BadInput, match=line):
        call()
