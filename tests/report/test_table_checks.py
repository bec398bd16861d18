"""Checks of the cells of tables: what their margins are, in closed form."""

import numpy as np
import pytest
from made_claims import claim
from made_runs import write_run

from fedpriv.errors import BadInput
from fedpriv.report.collect import collect, load


def outcomes_of(frame, declared, **check):
    check = {"tables": ["table1"], "clients": [100]} | check
    (outcome,) = claim(check).check.outcomes(frame, {"table1": declared})
    return outcome


def test_the_published_accuracy_is_reached_up_to_the_last_printed_digit(frame, declared):
    outcome = outcomes_of(frame, declared, name="published_accuracy", column="dp")
    assert outcome.margins == pytest.approx([0.005, 0.0055, 0.006])
    assert outcome.measured == "45.1 ± 0.1 % against 45 %"


def test_the_baseline_is_judged_at_its_end(frame, declared):
    outcome = outcomes_of(frame, declared, name="published_accuracy", column="baseline", tolerance=0.0)
    assert outcome.margins == pytest.approx([0.0, 0.001, 0.002])


def test_a_gain_is_paired_by_seed(frame, declared):
    outcome = outcomes_of(frame, declared, name="accuracy_gain", of="bdp", over="dp", at_least=0.1)
    assert outcome.margins == pytest.approx([0.35, 0.3505, 0.351])


def test_less_epsilon_compares_two_ways_of_counting_the_last_round(frame, declared):
    spends = {"spend": "bayesian product remove_mean", "than": "moments C"}
    outcome = outcomes_of(frame, declared, name="less_epsilon", at_least=5.0, **spends)
    assert outcome.margins == pytest.approx([1.0] * 3)
    assert outcome.measured == "ε 2.00 against 8.00"


def test_epsilon_below_reads_the_last_round(frame, declared):
    outcome = outcomes_of(frame, declared, name="epsilon_below", spend="moments C", below=8.5)
    assert outcome.margins == pytest.approx([0.5] * 3)


@pytest.mark.parametrize("epsilon, margin", [(1.0, 0.88), (6.0, 0.88 - 0.4505), (9.0, 0.88 - 0.901)])
def test_out_of_reach_means_less_accurate_within_epsilon_than_published(frame, declared, epsilon, margin):
    check = {"name": "out_of_reach", "spend": "moments C", "epsilon": epsilon, "column": "bdp"}
    assert outcomes_of(frame, declared, **check).margins.mean() == pytest.approx(margin)


def test_the_largest_gain_is_larger_than_that_of_every_other_cell(tmp_path, declared):
    runs = [
        write_run(tmp_path, run, seed, scheme="client_dp" if run.endswith("dp") else "none", final=final)
        for run, final in (("n100_none", 0.9), ("n100_dp", 0.9), ("n1000_none", 0.9), ("n1000_dp", 0.5))
        for seed in range(2)
    ]
    frame = load(collect(runs, tmp_path / "runs.parquet"))
    check = {"name": "largest_gain", "tables": ["table1"], "of": "bdp", "over": "dp"}
    for clients, expected in ((100, [0.2, 0.2]), (1000, [-0.2, -0.2])):
        largest = claim(check | {"at": {"table": "table1", "clients": clients}})
        (outcome,) = largest.check.outcomes(frame, {"table1": declared})
        assert outcome.margins == pytest.approx(expected)


def test_a_cell_whose_runs_are_missing_is_not_run(frame, declared):
    check = {"name": "published_accuracy", "tables": ["table1"], "column": "dp"}
    (there, missing) = claim(check).check.outcomes(frame, {"table1": declared})
    assert there.margins is not None and missing.margins is None and missing.measured == "not run"


def test_a_cell_whose_epsilon_is_not_in_the_ledger_is_not_run(frame, declared):
    spends = {"spend": "bayesian panel remove_mean", "than": "moments C"}
    outcome = outcomes_of(frame, declared, name="less_epsilon", **spends)
    assert outcome.margins is None
    assert outcome.measured == "no ε (bayesian, panel, remove_mean) in the ledger"


def outcome_of_photographs(frame, joint, **check):
    """Return the outcome of the photographs: baseline 70.0, dp 8.0, dpsgd 60.0, bdp 65.0 % for seed 0."""
    check = {"tables": ["table4"], "labels": ["Photographs"]} | check
    (outcome,) = claim(check).check.outcomes(frame, {"table4": joint})
    return outcome


def test_a_column_may_be_compared_with_the_baseline(joint_frame, joint):
    check = {"name": "accuracy_gain", "of": "bdp", "over": "baseline", "at_least": -0.065}
    outcome = outcome_of_photographs(joint_frame, joint, **check)
    assert outcome.margins == pytest.approx([0.015] * 3)
    assert outcome.cell == "Table IV, Photographs" and outcome.measured == "gain −5.0 points"
    assert claim({"tables": ["table4"], **check}).check.sentence() == (
        "accuracy of bdp − baseline ≥ −6.5 points, paired by seed"
    )


def test_a_share_of_the_gap_is_closed_by_seed(joint_frame, joint):
    columns = {"name": "share_of_gap", "of": "dpsgd", "low": "dp", "high": "bdp"}
    outcome = outcome_of_photographs(joint_frame, joint, at_least=0.5, **columns)
    gap, closed = 0.65 - 0.08, 0.6 - 0.08
    assert outcome.margins[0] == pytest.approx(closed - 0.5 * gap)
    assert outcome.measured == "52.1 ± 0.2 of 57.1 ± 0.2 points"
    exactly = outcome_of_photographs(joint_frame, joint, at_least=closed / gap, **columns)
    assert exactly.margins[0] == pytest.approx(0)


def test_a_gap_that_is_not_there_is_not_closed(joint_frame, joint):
    check = {"name": "share_of_gap", "of": "dpsgd", "low": "bdp", "high": "dp"}
    assert np.isneginf(outcome_of_photographs(joint_frame, joint, **check).margins).all()


@pytest.mark.parametrize("column, below, margin", [("dp", 0.2, 0.12), ("bdp", 0.2, -0.45)])
def test_a_column_fails_to_learn_if_its_accuracy_is_below_a_number(joint_frame, joint, column, below, margin):
    check = {"name": "accuracy_below", "column": column, "below": below}
    assert outcome_of_photographs(joint_frame, joint, **check).margins[0] == pytest.approx(margin)


def test_where_no_round_is_affordable_nothing_is_learnt(joint_frame, joint):
    data = joint.model_dump()
    data["rows"][0]["budgets"]["client"]["epsilon"] = 1e-6
    nothing = type(joint).model_validate(data)
    check = {"name": "accuracy_below", "column": "bdp", "below": 0.2}
    assert outcome_of_photographs(joint_frame, nothing, **check).margins.tolist() == [0.2] * 3


def test_of_a_row_with_several_runs_a_column_says_which_one_is_meant(joint_frame, joint):
    spends = {"spend": "sum moments C", "than": "upload moments C"}
    for column, scale in (("dp", 1.0), ("dpsgd", 0.5)):
        check = {"name": "less_epsilon", "column": column, **spends}
        outcome = outcome_of_photographs(joint_frame, joint, **check)
        assert outcome.margins == pytest.approx([scale * (40.0 - 1.6)] * 3)
        check = {"name": "epsilon_below", "column": column, "spend": "sum moments C", "below": 2.0}
        outcome = outcome_of_photographs(joint_frame, joint, **check)
        assert outcome.margins == pytest.approx([2.0 - scale * 1.6] * 3)


def test_out_of_reach_reads_the_run_of_its_column(joint_frame, joint):
    check = {"name": "out_of_reach", "spend": "sum moments C", "epsilon": 0.8, "column": "bdp"}
    outcome = outcome_of_photographs(joint_frame, joint, **check)
    assert outcome.margins[0] == pytest.approx(0.64 - 0.65 * 4 / 20)


def test_published_numbers_of_both_levels_are_judged(joint_frame, joint):
    check = {"name": "published_accuracy", "column": "bdp"}
    assert outcome_of_photographs(joint_frame, joint, **check).measured == "65.1 ± 0.2 % against 64 %"


GAIN = {"name": "accuracy_gain", "of": "bdp", "over": "dp"}
LESS = {"name": "less_epsilon", "spend": "sum moments C", "than": "upload moments C"}
LARGEST = {"name": "largest_gain", "of": "bdp", "over": "dp"}


@pytest.mark.parametrize(
    "check, found, allowed",
    [
        (GAIN | {"tables": ["table5"]}, "tables: found table5", "table1, table4"),
        (GAIN | {"labels": ["Photos"]}, "labels: found Photos", "Photographs, Digits"),
        (GAIN | {"clients": [10]}, "clients: found 10", "100"),
        (GAIN | {"of": "dbp"}, "column of table4: found dbp", "baseline, dp, dpsgd, bdp"),
        (
            GAIN | {"tables": ["table4", "table1"], "of": "dpsgd"},
            "column of table1: found dpsgd",
            "baseline, dp, bdp",
        ),
        (LESS, "Photographs: column: found nothing", "dp, dpsgd, bdp"),
        (LESS | {"column": "baseline"}, "column: found baseline", "dp, dpsgd, bdp"),
        ({"name": "published_accuracy", "column": "dpsgd"}, "found dpsgd", "baseline, dp, bdp"),
        (LARGEST | {"at": {"table": "table4", "clients": 100}}, "found nothing", "Photographs, Digits"),
        (LARGEST | {"at": {"table": "table1", "clients": 100}}, "at.table: found table1", "table4"),
    ],
)
def test_what_is_misspelt_is_named_before_anything_is_read(declared, joint, check, found, allowed):
    tables = {"table1": declared, "table4": joint}
    with pytest.raises(BadInput) as error:
        claim({"tables": ["table4"]} | check).check.validate_names("claims.it", tables, ())
    assert str(error.value).startswith("claims.it") and found in str(error.value)
    assert f"allowed: {allowed}" in str(error.value)


def test_a_selection_that_keeps_no_row_is_refused(declared):
    check = GAIN | {"tables": ["table1"], "clients": [100], "labels": []}
    runs = list(declared.runs())
    claim(check).check.validate_names("claims.it", {"table1": declared}, runs)
    with pytest.raises(BadInput, match="n1000_dp"):
        claim(check | {"clients": []}).check.validate_names("claims.it", {"table1": declared}, runs[:2])
