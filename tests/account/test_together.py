"""Runs on the same data cost together what all their releases cost; others are refused in a line."""

import pandas as pd
import pytest
from dp_accounting import get_epsilon_gaussian

from fedpriv.account import Deltas, ledger, statements
from fedpriv.account.check import checked_trace
from fedpriv.account.together import ledger_together
from fedpriv.errors import BadInput

DELTAS = Deltas(delta=1e-5)
LABELS = ["accounting", "accountant", "sensitivity", "relation", "violation"]


def together(*traces: pd.DataFrame) -> pd.DataFrame:
    return ledger_together([checked_trace(trace) for trace in traces], DELTAS)


def by_label(ledger: pd.DataFrame) -> dict:
    return {tuple(getattr(one, name) for name in LABELS): one for one in statements(ledger)}


@pytest.mark.parametrize("facts", [{}, {"denominator": "present"}, {"count_noise_multiplier": 5.0}])
def test_two_halves_of_a_run_cost_together_what_the_whole_does(make_trace, facts) -> None:
    whole = make_trace(rounds=20).assign(**facts)
    whole.loc[10:, ["noise_multiplier", "noise_std"]] = 3.0
    halves = whole[:10], whole[10:].assign(round=range(1, 11))
    expected, found = by_label(ledger(whole, DELTAS)), by_label(together(*halves))
    assert found.keys() == expected.keys()
    for key, statement in found.items():
        assert statement.epsilon == pytest.approx(expected[key].epsilon, rel=1e-9)
        assert (statement.unit, statement.delta) == ("client", 1e-5)


def test_runs_of_everybody_cost_together_what_one_gaussian_does(make_trace) -> None:
    runs = [make_trace(rounds, 1.0, noise, law="full") for rounds, noise in ((10, 8.0), (40, 20.0))]
    mu = (10 / 8.0**2 + 40 / 20.0**2) ** 0.5
    exact = get_epsilon_gaussian(1 / mu, 1e-5)
    by_name = {one.accountant: one.epsilon for one in statements(together(*runs)) if one.sensitivity == "C"}
    assert exact * (1 - 1e-8) <= by_name["pld"] <= exact * (1 + 1e-4) and by_name["moments"] > exact


def test_a_third_run_costs_more_and_everybody_may_be_among_the_sampled(make_trace) -> None:
    sampled, everybody = make_trace(rounds=5), make_trace(3, 1.0, 9.0, law="full")
    costs = [statements(together(*runs)) for runs in ([sampled] * 2, [sampled, sampled, everybody])]
    assert {one.sampling_law for one in costs[1]} == {"poisson"}
    assert all(more.epsilon > less.epsilon for less, more in zip(*costs, strict=True))


def test_what_fails_in_one_run_fails_in_all_together(make_trace) -> None:
    private = make_trace(rounds=5).assign(clip_private=True)
    assert not together(make_trace(rounds=5), private)["assumptions_met"].any()


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ({"unit": "instance"}, "unit: found client and instance, allowed"),
        ({"sampling_law": "fixed"}, "sampling_law: found poisson and fixed, allowed"),
        (
            {"noise_in_sum": True},
            "relation: found add_remove/replace_one and .*zero_out/replace_one, allowed",
        ),
        ({"mechanism": "other"}, "mechanism: found other, allowed in runs together: noise that is indep"),
    ],
)
def test_runs_that_do_not_compose_are_one_line(make_trace, other, line) -> None:
    with pytest.raises(BadInput, match=f"^{line}"):
        together(make_trace(rounds=5), make_trace(rounds=5).assign(**other))
