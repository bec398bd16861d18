import numpy as np
import pandas as pd
import pytest

from fedpriv.account import Deltas, ledger, statements
from fedpriv.account.ledgers import units_of
from fedpriv.account.statement import STATUSES, PrivacyStatement, attacker_accuracy, status


def test_the_attackers_accuracy_is_that_of_the_papers_first_equation() -> None:
    found = attacker_accuracy(np.array([0, 5, 8, 10, np.inf]))
    assert found == pytest.approx([0.5, 0.9933, 0.99966, 0.999955, 1], abs=5e-5)


def test_a_statement_prints_everything_that_gives_it_meaning_and_knows_its_attackers_accuracy() -> None:
    words = {"unit": "client", "relation": "replace_one", "sampling_law": "fixed", "accountant": "bayesian"}
    words |= {"composition": "panel", "distance": "remove_mean", "accounting": "sum"}
    statement = PrivacyStatement(5.0, 1e-5, **words, kind="guarantee", violation="cohorts have a fixed size")
    assert all(word in str(statement) for word in ("ε = 5", "1e-05", *words.values()))
    assert "not a guarantee: cohorts have a fixed size" in str(statement)
    assert statement.attacker_accuracy == pytest.approx(0.9933, abs=5e-5)


@pytest.mark.parametrize("kind", STATUSES)
@pytest.mark.parametrize("violation", ["", "cohorts have a fixed size"])
def test_nothing_is_called_a_guarantee_but_a_guarantee_whose_assumptions_hold(
    kind: str, violation: str
) -> None:
    said = status(kind, violation)
    assert (said == "guarantee") == (kind == "guarantee" and not violation)
    assert said.startswith(("guarantee", "not a guarantee: ", "estimate", "nominal"))
    assert said.endswith(violation) or kind == "counterfactual"


def test_each_unit_has_its_own_delta() -> None:
    deltas = Deltas(delta=1e-3, instance_delta=1e-5)
    assert [deltas.of(unit) for unit in ("client", "instance", "none")] == [1e-3, 1e-5, 1e-3]


TRACE = {"unit": "client", "sampling_law": "poisson", "sampling_rate": 0.1, "noise_multiplier": 1.5}


@pytest.mark.parametrize(
    ("facts", "units"),
    [
        ({"population": 1000}, {"client": 1000}),
        ({"population": [900, 1000, 1000]}, {"client": 1000}),
        ({"population": 1000, "unit": "instance"}, {"instance": 1000}),
        ({"population": 1000, "unit": "instance", "local_steps": 2}, {}),
        ({"population": 1000, "unit": "both"}, {"client": 1000}),
        ({"cohort_size": 100}, {}),
        ({}, {}),
    ],
)
def test_how_many_there_are_is_known_where_a_trace_says_so(facts, units) -> None:
    assert units_of(pd.DataFrame(TRACE | facts, index=range(3))) == units


@pytest.mark.parametrize(("delta", "noted"), [(0.5, True), (1e-3, True), (0.99e-3, False)])
def test_at_a_delta_that_is_not_below_one_over_n_every_statement_says_that_it_means_nothing(
    delta, noted
) -> None:
    trace = pd.DataFrame(TRACE | {"population": 1000}, index=range(3))
    for one in statements(ledger(trace, delta), units_of(trace)):
        assert ("is not below 1/n = 0.001 (n = 1,000 clients)" in one.note) == noted
        assert str(one).endswith(one.note) and one.status == "guarantee"
    assert not any(one.note for one in statements(ledger(trace, delta)))
