"""Checks of the cells of tables: what their margins are, in closed form."""

import pytest
from support.made_claims import claim, outcomes
from support.made_runs import write_run

from fedpriv.errors import BadInput
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results


def outcome_of(results, declared, check, **keys):
    (outcome,) = outcomes(
        results, check, {"table1": declared}, **{"tables": ["table1"], "clients": [100]} | keys
    )
    return outcome


LARGEST = "accuracy(bdp) - accuracy(dp) >= accuracy(bdp) - accuracy(dp)"
REACHED = "accuracy({0}) >= published({0}) - 0.005"


@pytest.mark.parametrize(
    ("check", "margins", "measured"),
    [
        (REACHED.format("dp"), [0.005, 0.0055, 0.006], "45.1 ± 0.1 % against 45 %"),  # its last digit
        ("accuracy(baseline) >= published(baseline)", [0, 0.001, 0.002], "97.1 ± 0.2 % against 97 %"),
        ("accuracy(bdp) - accuracy(dp) >= 0.1", [0.35, 0.3505, 0.351], "gain 45.1 ± 0.1 points"),
        (
            'epsilon("bayesian product remove_mean") <= epsilon("moments C") - 5',
            [1] * 3,
            "ε 2.00‡ against 8.00",
        ),
        ("spent(bdp) <= spent(dp) - 5", [1] * 3, "ε 2.00‡ against 8.00"),
        ('epsilon("moments C") <= 8.5', [0.5] * 3, "ε 8.00"),
        *(
            (
                f'published(bdp) >= accuracy_within(bdp, {epsilon}, "moments C")',
                [0.88 - share * (0.9 + seed / 1000) for seed in range(3)],
                f"88 % against {text} within ε = {epsilon:g}",
            )
            for epsilon, share, text in (
                (1.0, 0, "no accuracy"),
                (6.0, 0.5, "45.1 ± 0.1 %"),
                (9.0, 1, "90.1 ± 0.2 %"),
            )
        ),
        ("round(dp) <= 12", [2] * 3, "10"),
    ],
)
def test_a_row_is_judged_by_what_its_columns_say(results, declared, check, margins, measured):
    outcome = outcome_of(results, declared, check)
    assert outcome.margins == pytest.approx(margins) and outcome.measured == measured


def test_the_largest_gain_is_larger_than_that_of_every_other_cell(tmp_path, declared):
    runs = [
        write_run(tmp_path, run, seed, scheme="client_dp" if run.endswith("dp") else "none", final=final)
        for run, final in (("n100_none", 0.9), ("n100_dp", 0.9), ("n1000_none", 0.9), ("n1000_dp", 0.5))
        for seed in range(2)
    ]
    results = load_results(collect(runs, tmp_path))
    for clients, other, expected in ((100, "1,000", [0.2, 0.2]), (1000, "100", [-0.2, -0.2])):
        outcome = outcome_of(results, declared, LARGEST, clients=[clients], elsewhere=["table1"])
        assert outcome.margins == pytest.approx(expected)
        assert outcome.cell == f"Table I, N = {other}"


def test_a_cell_whose_epsilon_is_not_in_the_ledger_is_not_run(results, declared):
    outcome = outcome_of(results, declared, 'epsilon("bayesian panel remove_mean") <= epsilon("moments C")')
    assert outcome.margins is None
    assert outcome.measured == "no ε (bayesian, panel, remove_mean) in the ledger"


def with_budget(joint, unit, epsilon):
    """Return the same table with another budget for the photographs."""
    data = joint.model_dump()
    data["rows"][0]["budgets"][unit]["epsilon"] = epsilon
    return type(joint).model_validate(data)


def outcome_of_photographs(results, joint, check):
    """Return the outcome of the photographs: baseline 70.0, dp 8.0, dpsgd 60.0, bdp 65.0 % for seed 0."""
    (outcome,) = outcomes(results, check, {"table4": joint}, tables=["table4"], labels=["Photographs"])
    return outcome


@pytest.mark.parametrize(
    ("check", "margin", "measured"),
    [
        ("accuracy(bdp) - accuracy(baseline) >= -0.065", 0.015, "gain −5.0 ± 0.0 points"),
        (
            "accuracy(bdp) - accuracy(baseline) >= published(bdp) - published(baseline) - 0.01",
            -0.05 - (0.64 - 0.7 - 0.01),
            "gain −5.0 ± 0.0 against −6 points",
        ),
        ("accuracy(dp) <= 0.2", 0.12, "8.0 ± 0.0 %"),
        ("accuracy(bdp) <= 0.2", -0.45, "65.1 ± 0.2 %"),
        (REACHED.format("bdp"), 0.015, "65.1 ± 0.2 % against 64 %"),
        ('published(bdp) >= accuracy_within(bdp, 0.8, "sum moments C")', 0.64 - 0.65 * 4 / 20, None),
        # Of a row with several runs a column says which one is meant.
        ('epsilon(dp, "sum moments C") <= epsilon(dp, "upload moments C")', 40 - 1.6, None),
        ('epsilon(dpsgd, "sum moments C") <= epsilon(dpsgd, "upload moments C")', 20 - 0.8, None),
        ('epsilon(dpsgd, "sum moments C") <= 2', 2 - 0.8, None),
    ],
)
def test_a_row_at_both_levels_is_judged_too(joint_results, joint, check, margin, measured):
    outcome = outcome_of_photographs(joint_results, joint, check)
    assert outcome.margins[0] == pytest.approx(margin) and outcome.cell == "Table IV, Photographs"
    assert measured in (None, outcome.measured)


def test_where_no_round_is_affordable_nothing_is_learnt(joint_results, joint):
    nothing = with_budget(joint, "client", 1e-6)
    outcome = outcome_of_photographs(joint_results, nothing, "accuracy(bdp) <= 0.2")
    assert outcome.margins.tolist() == [0.2] * 3 and outcome.measured == "no accuracy"
    reached = outcome_of_photographs(joint_results, nothing, REACHED.format("bdp"))
    assert reached.margins == pytest.approx([0.005 - 0.64] * 3)
    more = outcome_of_photographs(joint_results, nothing, "published(bdp) >= accuracy(bdp) + 0.1")
    assert more.margins == pytest.approx([0.64 - 0.1] * 3)


GAIN = "accuracy({}) - accuracy(dp) >= 0"
SUM = 'epsilon({0}"sum moments C") <= epsilon({0}"upload moments C")'


@pytest.mark.parametrize(
    "check, keys, found, allowed",
    [
        (GAIN.format("bdp"), {"tables": ["table5"]}, "tables: found table5", "table1, table4"),
        (GAIN.format("bdp"), {"labels": ["Photos"]}, "labels: found Photos", "Photographs, Digits"),
        (GAIN.format("bdp"), {"clients": [10]}, "clients: found 10", "100"),
        (GAIN.format("dbp"), {}, "column of table4: found dbp", "baseline, dp, dpsgd, bdp"),
        (SUM.format("baseline, "), {}, "column with a private run: found baseline", "dp, dpsgd, bdp"),
        (REACHED.format("dpsgd"), {}, "column with a published number: found dpsgd", "baseline, dp, bdp"),
        ("spent(baseline) <= 1", {"tables": ["table1"]}, "within one ε: found baseline", "dp, bdp"),
        (LARGEST, {"clients": [100], "elsewhere": ["table4"]}, "found 2 rows with", "one, against"),
        (
            "accuracy(dpsgd) - accuracy(dp) >= accuracy(bdp) - accuracy(dp)",
            {"labels": ["Digits"], "elsewhere": ["table1"]},
            "column of table1: found dpsgd",
            "baseline, dp, bdp",
        ),
        (
            GAIN.format("bdp"),
            {"tables": ["table1", "table4"], "clients": [1000], "labels": ["Digits"]},
            "found no rows with these clients and labels",
            "at least one",
        ),
    ],
)
def test_what_is_misspelt_is_named_before_anything_is_read(declared, joint, check, keys, found, allowed):
    tables = {"table1": declared, "table4": joint}
    with pytest.raises(BadInput) as error:
        claim(check, **{"tables": ["table4"]} | keys).validate_names("claims.it", tables, ())
    assert str(error.value).startswith("claims.it") and found in str(error.value)
    assert f"allowed: {allowed}" in str(error.value)


def test_the_runs_of_the_rows_that_are_chosen_must_be_there(declared):
    runs, tables = [*declared.runs()][:2], {"table1": declared}
    claim(GAIN.format("bdp"), tables=["table1"], clients=[100]).validate_names("it", tables, runs)
    with pytest.raises(BadInput, match="n1000_dp"):
        claim(GAIN.format("bdp"), tables=["table1"]).validate_names("it", tables, runs)
