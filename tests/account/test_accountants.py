"""An accountant says what it is, and a new one is a file and a line."""

import numpy as np
import pandas as pd
import pytest
from dp_accounting import get_epsilon_gaussian
from pydantic import TypeAdapter

from fedpriv.account import ACCOUNTANTS, Accountant, calibrate, epsilon, ledger
from fedpriv.account.rdp import guaranteed_epsilon
from fedpriv.paper.epsilons import SelectorInWords
from fedpriv.trace import DISTANCES, MECHANISMS

ROUNDS, DELTA = 12, 1e-5


def plan(*, sampling_rate: float, noise_multiplier: float, rounds: int, delta: float) -> float:
    """Return the exact ε of rounds of everybody; none is certified where clients are sampled."""
    return guaranteed_epsilon(np.sqrt(rounds) / noise_multiplier, delta) if sampling_rate == 1 else np.inf


def curves(view, delta):
    """Return the exact ε after every round: Gaussians compose to a Gaussian."""
    found = []
    for sensitivity in view.sensitivities:
        noise = np.array([release.multiplier(sensitivity) for release in view.releases])
        mu = np.sqrt(view.running(noise**-2.0))
        exact = np.array([guaranteed_epsilon(one, delta) for one in mu])
        found.append(view.curve(exact, np.full(len(mu), np.nan), "gaussian_exact", sensitivity))
    return found


EXACT = Accountant(curves, laws=("full",), plan=plan)


@pytest.fixture
def exact(monkeypatch):
    """Add the accountant, as its line in the registry would."""
    monkeypatch.setitem(ACCOUNTANTS, "gaussian_exact", EXACT)


def test_a_new_accountant_is_in_ledgers_in_yaml_and_in_plans_by_its_line_alone(exact) -> None:
    trace = {"unit": "client", "sampling_law": "full", "noise_multiplier": 9.0}
    frame = ledger(pd.DataFrame(trace, index=range(ROUNDS)), DELTA)
    counted = {name: rows for name, rows in frame.query("sensitivity == 'C'").groupby("accountant")}
    for rounds, value in enumerate(counted["gaussian_exact"]["epsilon"], start=1):
        assert value == pytest.approx(get_epsilon_gaussian(9.0 / np.sqrt(rounds), DELTA), rel=1e-6)
    for others in (counted[name]["epsilon"].to_numpy() for name in ("moments", "rdp", "pld")):
        assert (others >= counted["gaussian_exact"]["epsilon"].to_numpy() * (1 - 1e-8)).all()
    selector = TypeAdapter(SelectorInWords).validate_python("gaussian_exact 2C")
    assert (selector.kind, selector.sensitivity) == ("guarantee", "2C")
    best = epsilon(sampling_rate=1.0, noise_multiplier=9.0, rounds=ROUNDS, delta=DELTA)
    assert best.accountant == "gaussian_exact"
    noise = calibrate(epsilon=2.0, sampling_rate=1.0, rounds=ROUNDS, delta=DELTA)
    assert get_epsilon_gaussian(noise / np.sqrt(ROUNDS), DELTA) == pytest.approx(2.0, rel=1e-5)


def test_one_that_certifies_nothing_is_not_the_best(exact) -> None:
    sampled = epsilon(sampling_rate=0.1, noise_multiplier=2.0, rounds=ROUNDS, delta=DELTA)
    assert sampled.accountant == "pld"


@pytest.mark.parametrize("name", [*ACCOUNTANTS])
def test_what_an_accountant_says_of_itself_are_words_that_traces_and_ledgers_have(name: str) -> None:
    accountant = ACCOUNTANTS[name]
    assert {*accountant.mechanisms} <= {*MECHANISMS} and {*accountant.distances} <= {*DISTANCES}
    assert bool(accountant.sensitivities) != bool(accountant.compositions and accountant.distances)
    assert {*accountant.sensitivities} <= {"C", "2C", "bit", "bits", "all"}


@pytest.mark.parametrize("mechanism", ["gaussian", "randomized_response"])
def test_rows_of_a_ledger_are_what_their_accountants_say(make_trace, mechanism: str) -> None:
    bits = {"mechanism": mechanism, "gamma": 0.1, "flips": "coordinate", "noisy_bits": 9}
    trace = make_trace(ROUNDS, 1.0, law="full", population=9).assign(
        **(bits if mechanism != "gaussian" else {})
    )
    distances = {name: np.full((ROUNDS, 12), 0.5) for name in DISTANCES}
    frame = ledger(trace, DELTA, distances if mechanism == "gaussian" else {})
    named = {"compositions": "composition", "distances": "distance", "sensitivities": "sensitivity"}
    for name, rows in frame.groupby("accountant"):
        accountant = ACCOUNTANTS[str(name)]
        assert set(rows["kind"]) == {accountant.kind} and mechanism in accountant.mechanisms
        for words, column in named.items():
            assert set(rows[column]) <= {*(getattr(accountant, words) or ("",))}
