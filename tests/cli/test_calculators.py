import json
import math

import pytest
from support.tiny import BITS, GOAL, PLAN

from fedpriv.account.plans import planners
from fedpriv.account.statement import PrivacyStatement
from fedpriv.cli.calculators import accountants
from fedpriv.cli.options import print_result


def test_a_table_is_as_wide_as_the_terminal_and_loses_nothing(fedpriv, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = fedpriv("epsilon", *PLAN, "--accountant", "all")
    assert max(map(len, out)) <= 60
    assert all(any(epsilon in line for line in out) for epsilon in ("8.308", "7.354", "6.549"))


def test_epsilon_as_json_is_one_object_with_the_words_of_a_statement(fedpriv):
    _, out, _ = fedpriv("epsilon", *PLAN, "--json")
    statement = json.loads("\n".join(out))
    assert (statement["epsilon"], statement["accountant"]) == (pytest.approx(6.549, abs=1e-3), "pld")
    assert statement["attacker_accuracy"] == pytest.approx(0.99857, abs=1e-5)
    assert set(PrivacyStatement.__dataclass_fields__) < set(statement)


def test_a_plan_beyond_the_range_of_an_accountant_has_no_number_of_another_under_its_name(fedpriv, refused):
    plan = ("--sample-rate", "1", "--sigma", ".1", "--rounds", "100000", "--delta", "1e-5")
    code, out, _ = fedpriv("epsilon", *plan, "--accountant", "all", "--json")
    found = json.loads("".join(out))
    assert code == 0 and {name for name in found if "epsilon" in found[name]} == {"moments", "rdp"}
    assert found["rdp"]["epsilon"] > 5_013_486  # in closed form
    assert "certifies no" in found["pld"]["found"]
    assert "pld: found a plan of which it certifies no" in refused("epsilon", *plan, "--accountant", "pld")


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_calibrated_noise_costs_the_epsilon_asked_for(fedpriv, accountant):
    _, out, _ = fedpriv("calibrate", *GOAL, "--accountant", accountant, "--json")
    found = json.loads("\n".join(out))
    words = ["--q", ".3", "--rounds", "300", "--delta", "1e-3", "--accountant", accountant, "--json"]
    _, out, _ = fedpriv("epsilon", "--noise-multiplier", str(found["noise_multiplier"]), *words)
    assert json.loads("\n".join(out))["epsilon"] == pytest.approx(8, rel=1e-3)
    assert found["epsilon"] <= 8


def test_randomised_response_is_counted_under_every_reading(fedpriv):
    _, out, _ = fedpriv("rr-epsilon", *BITS, "--json")
    readings = json.loads("\n".join(out))
    assert readings["bit_exact"]["epsilon"] == pytest.approx(23.65, abs=0.01)
    assert readings["vector_rdp"]["epsilon"] == pytest.approx(6.70e5, rel=1e-3)


def test_json_says_inf_where_a_number_is_infinite_and_null_where_there_is_none(capsys):
    found = {"epsilon": math.inf, "accuracy": math.nan, "rounds": [1, -math.inf]}
    print_result(found, [], as_json=True)
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said == {"epsilon": "inf", "accuracy": None, "rounds": [1, "-inf"]}


def test_of_all_accountants_those_that_can_are_shown_and_why_another_cannot(fedpriv):
    goal = ["--epsilon", "0.001", "--delta", "1e-9", "--q", "0.01", "--rounds", "1000", "--accountant", "all"]
    _, out, _ = fedpriv("calibrate", *goal, "--json")
    found = json.loads("\n".join(out))
    assert 1200 < found["pld"]["noise_multiplier"] < 1400
    assert "the least that rdp certifies" in found["rdp"]["found"]
    _, out, _ = fedpriv("calibrate", *goal)
    assert any("the least that moments certifies" in line for line in out)


@pytest.mark.parametrize(
    ("accountant", "line"),
    [
        ("best", "Of 3 accountants, pld needs the least noise; moments would need 3.09296."),
        ("all", "Use 2.59429 (pld): all three keep ε ≤ 8, and pld needs the least noise."),
    ],
)
def test_the_least_noise_that_is_enough_is_named_with_the_reason(fedpriv, accountant, line):
    _, out, _ = fedpriv("calibrate", *GOAL, "--accountant", accountant)
    assert line in out and any("2.59429" in row and "pld" in row for row in out)
    if accountant == "best":
        assert fedpriv("calibrate", *GOAL)[1] == out


def test_a_shell_completes_the_accountants_that_plan_and_none_that_needs_a_run():
    assert {*accountants("")} == {*planners(), "best", "all"}
    assert accountants("mo") == ["moments"]


def test_a_plan_of_cohorts_of_a_fixed_size_is_counted_and_calibrated_by_those_that_can(fedpriv):
    law = ["--sampling-law", "fixed", "--accountant", "all", "--json"]
    _, out, _ = fedpriv("epsilon", *PLAN, *law)
    found = json.loads("\n".join(out))
    assert [*found] == ["rdp", "pld"] and found["pld"]["epsilon"] == pytest.approx(20.77, abs=0.01)
    words = {"sampling_law": "fixed", "relation": "replace_one", "sensitivity": "2C", "status": "guarantee"}
    assert all(one | words == one for one in found.values())
    _, out, _ = fedpriv("calibrate", *GOAL, *law[:2], "--accountant", "pld", "--json")
    assert json.loads("\n".join(out))["noise_multiplier"] == pytest.approx(5.52, abs=0.01)
    _, out, _ = fedpriv("epsilon", *PLAN, *law[:-1])
    assert any("drawn for each round without replacement" in line for line in out)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["fixed", "--accountant", "moments"],
            "sampling_law: found fixed with moments, allowed: poisson, or the accountants rdp, pld",
        ),
        (["shuffled"], "No sampling law 'shuffled'"),
    ],
)
def test_a_law_that_nobody_counts_is_refused_in_one_line(fedpriv, words, line):
    code, _, err = fedpriv("epsilon", *PLAN, "--sampling-law", *words)
    assert code == 2 and line in err[0]
