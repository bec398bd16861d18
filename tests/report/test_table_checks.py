"""Checks of the cells of tables: what their margins are, in closed form."""

import numpy as np
import pytest
from support.made_claims import claim, outcomes
from support.made_runs import write_run

from fedpriv.errors import BadInput
from fedpriv.report.collect import collect, load


def outcomes_of(frame, declared, **check):
    (outcome,) = outcomes(frame, {"tables": ["table1"], "clients": [100]} | check, {"table1": declared})
    return outcome


SPENT = {"that": {"spent": "baseline"}, "at_most": 8.5}
LARGEST = {"that": {"gain": "bdp", "over": "dp"}, "at_least": {"gain": "bdp", "over": "dp"}}


def reaches(column, tolerance=0.005):
    """Return the keys of a check that a column is as accurate as published."""
    return {"that": {"accuracy": column}, "at_least": {"published": column}, "plus": -tolerance}


def test_the_published_accuracy_is_reached_up_to_the_last_printed_digit(frame, declared):
    outcome = outcomes_of(frame, declared, **reaches("dp"))
    assert outcome.margins == pytest.approx([0.005, 0.0055, 0.006])
    assert outcome.measured == "45.1 ± 0.1 % against 45 %"


def test_the_baseline_is_judged_at_its_end(frame, declared):
    outcome = outcomes_of(frame, declared, **reaches("baseline", 0.0))
    assert outcome.margins == pytest.approx([0.0, 0.001, 0.002])


def test_a_gain_is_paired_by_seed(frame, declared):
    outcome = outcomes_of(frame, declared, that={"gain": "bdp", "over": "dp"}, at_least=0.1)
    assert outcome.margins == pytest.approx([0.35, 0.3505, 0.351])


def test_less_epsilon_compares_two_ways_of_counting_the_last_round(frame, declared):
    less = {"that": {"epsilon": "bayesian product remove_mean"}, "at_most": {"epsilon": "moments C"}}
    outcome = outcomes_of(frame, declared, plus=-5, **less)
    assert outcome.margins == pytest.approx([1.0] * 3)
    assert outcome.measured == "ε 2.00 against 8.00"


def test_what_a_column_spent_is_counted_as_the_column_counts_it(frame, declared):
    outcome = outcomes_of(frame, declared, that={"spent": "bdp"}, at_most={"spent": "dp"}, plus=-5)
    assert outcome.margins == pytest.approx([1.0] * 3)
    assert outcome.measured == "ε 2.00 against 8.00"


def test_a_limit_of_epsilon_is_that_of_the_last_round(frame, declared):
    outcome = outcomes_of(frame, declared, that={"epsilon": "moments C"}, at_most=8.5)
    assert outcome.margins == pytest.approx([0.5] * 3)
    assert outcome.measured == "ε 8.00"


@pytest.mark.parametrize("epsilon, margin", [(1.0, 0.88), (6.0, 0.88 - 0.4505), (9.0, 0.88 - 0.901)])
def test_out_of_reach_means_less_accurate_within_epsilon_than_published(frame, declared, epsilon, margin):
    within = {"accuracy_within": epsilon, "spend": "moments C", "of": "bdp"}
    outcome = outcomes_of(frame, declared, that={"published": "bdp"}, at_least=within)
    assert outcome.margins.mean() == pytest.approx(margin)
    assert outcome.measured.endswith(f"within ε = {epsilon:g}")


def test_the_largest_gain_is_larger_than_that_of_every_other_cell(tmp_path, declared):
    runs = [
        write_run(tmp_path, run, seed, scheme="client_dp" if run.endswith("dp") else "none", final=final)
        for run, final in (("n100_none", 0.9), ("n100_dp", 0.9), ("n1000_none", 0.9), ("n1000_dp", 0.5))
        for seed in range(2)
    ]
    frame = load(collect(runs, tmp_path / "runs.parquet"))
    for clients, other, expected in ((100, "1,000", [0.2, 0.2]), (1000, "100", [-0.2, -0.2])):
        outcome = outcomes_of(frame, declared, **LARGEST | {"clients": [clients], "elsewhere": ["table1"]})
        assert outcome.margins == pytest.approx(expected)
        assert outcome.cell == f"Table I, N = {other}"


def test_a_cell_whose_runs_are_missing_is_not_run(frame, declared):
    there, missing = outcomes(frame, {"tables": ["table1"]} | reaches("dp"), {"table1": declared})
    assert there.margins is not None and missing.margins is None and missing.measured == "not run"


def test_a_published_number_counts_as_not_run_on_data_that_stand_in(frame, declared):
    outcome = outcomes_of(frame.assign(stand_in_for="mnist"), declared, **reaches("dp"))
    assert (outcome.margins, outcome.instead) == (None, "not judged (stand-in)")
    assert outcome.measured == "not run, digits in place of mnist"


def test_a_cell_whose_epsilon_is_not_in_the_ledger_is_not_run(frame, declared):
    less = {"that": {"epsilon": "bayesian panel remove_mean"}, "at_most": {"epsilon": "moments C"}}
    outcome = outcomes_of(frame, declared, **less)
    assert outcome.margins is None
    assert outcome.measured == "no ε (bayesian, panel, remove_mean) in the ledger"


def with_budget(joint, unit, epsilon):
    """Return the same table with another budget for the photographs."""
    data = joint.model_dump()
    data["rows"][0]["budgets"][unit]["epsilon"] = epsilon
    return type(joint).model_validate(data)


def outcome_of_photographs(frame, joint, **check):
    """Return the outcome of the photographs: baseline 70.0, dp 8.0, dpsgd 60.0, bdp 65.0 % for seed 0."""
    check = {"tables": ["table4"], "labels": ["Photographs"]} | check
    (outcome,) = outcomes(frame, check, {"table4": joint})
    return outcome


def test_a_column_may_be_compared_with_the_baseline(joint_frame, joint):
    check = {"that": {"gain": "bdp", "over": "baseline"}, "at_least": -0.065}
    outcome = outcome_of_photographs(joint_frame, joint, **check)
    assert outcome.margins == pytest.approx([0.015] * 3)
    assert outcome.cell == "Table IV, Photographs" and outcome.measured == "gain −5.0 ± 0.0 points"


def test_a_gain_may_be_held_against_the_published_one(joint_frame, joint):
    over = {"over": "baseline"}
    check = {"that": {"gain": "bdp"} | over, "at_least": {"published_gain": "bdp"} | over}
    outcome = outcome_of_photographs(joint_frame, joint, **check)
    row = next(row for row in joint.rows if row.label == "Photographs")
    published = joint.cell(row, "bdp").published - joint.cell(row, "baseline").published
    assert outcome.margins == pytest.approx([-0.05 - published] * 3)
    assert outcome.measured == f"gain −5.0 ± 0.0 against −{-100 * published:.0f} points"


def test_a_share_of_the_gap_is_closed_by_seed(joint_frame, joint):
    ours, of = {"gain": "dpsgd", "over": "dp"}, {"of": "bdp", "over": "dp"}
    outcome = outcome_of_photographs(joint_frame, joint, that=ours, at_least={"share": 0.5} | of)
    gap, closed = 0.65 - 0.08, 0.6 - 0.08
    assert outcome.margins[0] == pytest.approx(closed - 0.5 * gap)
    assert outcome.measured == "52.1 ± 0.2 of 57.1 ± 0.2 points"
    exactly = outcome_of_photographs(joint_frame, joint, that=ours, at_least={"share": closed / gap} | of)
    assert exactly.margins[0] == pytest.approx(0)


def test_a_gap_that_is_not_there_is_not_closed(joint_frame, joint):
    share = {"share": 0.5, "of": "dp", "over": "bdp"}
    outcome = outcome_of_photographs(
        joint_frame, joint, that={"gain": "dpsgd", "over": "bdp"}, at_least=share
    )
    assert np.isneginf(outcome.margins).all()


def test_a_gap_is_not_closed_from_where_no_round_is_affordable(joint_frame, joint):
    # One round costs DP 0.2/√20 at the instance level, DP-SGD half of that.
    nothing = with_budget(joint, "instance", 0.04)
    share = {"share": 0.5, "of": "dpsgd", "over": "dp"}
    outcome = outcome_of_photographs(joint_frame, nothing, that={"gain": "bdp", "over": "dp"}, at_least=share)
    assert np.isneginf(outcome.margins).all() and outcome.measured == "— of — points"


@pytest.mark.parametrize("column, below, margin", [("dp", 0.2, 0.12), ("bdp", 0.2, -0.45)])
def test_a_column_fails_to_learn_if_its_accuracy_is_below_a_number(joint_frame, joint, column, below, margin):
    outcome = outcome_of_photographs(joint_frame, joint, that={"accuracy": column}, at_most=below)
    assert outcome.margins[0] == pytest.approx(margin)


def test_where_no_round_is_affordable_nothing_is_learnt(joint_frame, joint):
    nothing = with_budget(joint, "client", 1e-6)
    outcome = outcome_of_photographs(joint_frame, nothing, that={"accuracy": "bdp"}, at_most=0.2)
    assert outcome.margins.tolist() == [0.2] * 3 and outcome.measured == "no accuracy"
    reached = outcome_of_photographs(joint_frame, nothing, **reaches("bdp"))
    assert reached.margins == pytest.approx([0.005 - 0.64] * 3)


def test_of_a_row_with_several_runs_a_column_says_which_one_is_meant(joint_frame, joint):
    for column, scale in (("dp", 1.0), ("dpsgd", 0.5)):
        summed, single = ({"epsilon": f"{seen} moments C", "of": column} for seen in ("sum", "upload"))
        outcome = outcome_of_photographs(joint_frame, joint, that=summed, at_most=single)
        assert outcome.margins == pytest.approx([scale * (40.0 - 1.6)] * 3)
        outcome = outcome_of_photographs(joint_frame, joint, that=summed, at_most=2.0)
        assert outcome.margins == pytest.approx([2.0 - scale * 1.6] * 3)


def test_out_of_reach_reads_the_run_of_its_column(joint_frame, joint):
    within = {"accuracy_within": 0.8, "spend": "sum moments C", "of": "bdp"}
    outcome = outcome_of_photographs(joint_frame, joint, that={"published": "bdp"}, at_least=within)
    assert outcome.margins[0] == pytest.approx(0.64 - 0.65 * 4 / 20)


def test_published_numbers_of_both_levels_are_judged(joint_frame, joint):
    outcome = outcome_of_photographs(joint_frame, joint, **reaches("bdp"))
    assert outcome.measured == "65.1 ± 0.2 % against 64 %"


def gain_of(column):
    return {"that": {"gain": column, "over": "dp"}, "at_least": 0}


def less(**of):
    """Return a check that the sum tells less than single uploads, of a column's run."""
    return {"that": {"epsilon": "sum moments C"} | of, "at_most": {"epsilon": "upload moments C"} | of}


@pytest.mark.parametrize(
    "check, found, allowed",
    [
        (gain_of("bdp") | {"tables": ["table5"]}, "tables: found table5", "table1, table4"),
        (gain_of("bdp") | {"labels": ["Photos"]}, "labels: found Photos", "Photographs, Digits"),
        (gain_of("bdp") | {"clients": [10]}, "clients: found 10", "100"),
        (gain_of("dbp"), "column of table4: found dbp", "baseline, dp, dpsgd, bdp"),
        (
            gain_of("dpsgd") | {"tables": ["table4", "table1"]},
            "column of table1: found dpsgd",
            "baseline, dp, bdp",
        ),
        (less(), "Photographs: column with a private run: found run", "dp, dpsgd, bdp"),
        (less(of="baseline"), "column with a private run: found baseline", "dp, dpsgd, bdp"),
        (reaches("dpsgd"), "column with a published accuracy: found dpsgd", "baseline, dp, bdp"),
        (SPENT | {"tables": ["table1"]}, "column read within one ε: found baseline", "dp, bdp"),
        (LARGEST | {"clients": [100], "elsewhere": ["table4"]}, "found 2 rows with", "one, against"),
        (LARGEST | {"elsewhere": ["table5"]}, "elsewhere: found table5", "table1, table4"),
        (
            LARGEST
            | {"that": {"gain": "dpsgd", "over": "dp"}, "labels": ["Digits"], "elsewhere": ["table1"]},
            "column of table1: found dpsgd",
            "baseline, dp, bdp",
        ),
        (
            gain_of("bdp") | {"tables": ["table1", "table4"], "clients": [1000], "labels": ["Digits"]},
            "found no rows with these clients and labels",
            "at least one",
        ),
    ],
)
def test_what_is_misspelt_is_named_before_anything_is_read(declared, joint, check, found, allowed):
    tables = {"table1": declared, "table4": joint}
    with pytest.raises(BadInput) as error:
        claim({"tables": ["table4"]} | check).check.validate_names("claims.it", tables, ())
    assert str(error.value).startswith("claims.it") and found in str(error.value)
    assert f"allowed: {allowed}" in str(error.value)


def test_the_runs_of_the_rows_that_are_chosen_must_be_there(declared):
    check = gain_of("bdp") | {"tables": ["table1"], "clients": [100], "labels": []}
    runs = list(declared.runs())
    claim(check).check.validate_names("claims.it", {"table1": declared}, runs)
    with pytest.raises(BadInput, match="n1000_dp"):
        claim(check | {"clients": []}).check.validate_names("claims.it", {"table1": declared}, runs[:2])
