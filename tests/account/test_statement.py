import numpy as np
import pytest

from fedpriv.account import Deltas
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
