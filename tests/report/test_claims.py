"""Verdicts follow from the cells, by rules that are written down."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import write_run

from fedpriv.report.check import Outcome
from fedpriv.report.checks import CHECKS
from fedpriv.report.claim import Claim
from fedpriv.report.claims import VERDICTS, claims_table, judge, verdict, write
from fedpriv.report.collect import collect, load

HOLDS, LEANS, FAILS = np.array([0.1, 0.1]), np.array([1.0, -0.9]), np.array([-0.1, -0.1])
CHECK = {"name": "published_accuracy", "tables": ["table1"], "column": "dp"}


def claim(check, unsound=""):
    return Claim.model_validate(
        {"id": "it", "place": "here", "text": "So it is.", "check": check, "unsound": unsound}
    )


def judged(*margins, unsound="", **check):
    outcomes = [Outcome("a cell", one, "a number") for one in margins]
    return judge(claim(CHECK | check, unsound), outcomes)["verdict"]


@pytest.mark.parametrize(
    "margins, expected",
    [
        ((HOLDS, HOLDS), "reproduced"),
        ((HOLDS, LEANS), "partly"),
        ((HOLDS, FAILS), "partly"),
        ((LEANS, FAILS), "partly"),
        ((HOLDS, None), "partly"),
        ((FAILS, FAILS), "not reproduced"),
        ((FAILS, None), "not reproduced"),
        ((None, None), "not run"),
        ((np.array([np.nan, 0.1]), FAILS), "not reproduced"),
    ],
)
def test_a_claim_about_all_cells_is_reproduced_where_all_were_run_and_hold(margins, expected):
    assert judged(*margins) == expected


@pytest.mark.parametrize(
    "margins, expected",
    [
        ((HOLDS, FAILS), "reproduced"),
        ((HOLDS, None), "reproduced"),
        ((LEANS, FAILS), "partly"),
        ((FAILS, FAILS), "not reproduced"),
    ],
)
def test_a_claim_about_some_cell_is_reproduced_where_one_holds(margins, expected):
    assert judged(*margins, needs="some") == expected


def test_one_seed_can_at_best_lean():
    assert judged(np.array([0.5])) == "partly"


def test_an_unsound_claim_that_holds_is_unsound_and_one_that_fails_is_not_reproduced():
    assert judged(HOLDS, unsound="it is false") == "unsound"
    assert judged(FAILS, unsound="it is false") == "not reproduced"


def test_the_reason_is_given_whatever_the_numbers_say():
    line = judge(claim(CHECK, "it is false"), [Outcome("a cell", FAILS, "a number")])
    assert line["reason"] == "it is false"


counts = st.fixed_dictionaries({name: st.integers(0, 4) for name in ("hold", "lean", "fail")})


@given(counts, st.integers(0, 3), st.sampled_from(["every", "some"]))
def test_every_count_of_cells_has_a_verdict_and_a_better_cell_never_makes_it_worse(found, missing, needs):
    order = ["not run", "not reproduced", "partly", "reproduced"]
    cells = sum(found.values()) + missing
    before = verdict(found, cells, needs)
    assert before in VERDICTS
    if found["fail"]:
        better = found | {"fail": found["fail"] - 1, "hold": found["hold"] + 1}
        assert order.index(verdict(better, cells, needs)) >= order.index(before)


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
        write_run(tmp_path, run, seed, private=run.endswith("dp"), final=final)
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
    (there, missing) = claim(CHECK).check.outcomes(frame, {"table1": declared})
    assert there.margins is not None and missing.margins is None and missing.measured == "not run"


def test_every_check_says_in_words_what_it_tests():
    examples = [
        CHECK,
        {"name": "accuracy_gain", "of": "bdp", "over": "dp"},
        {"name": "largest_gain", "of": "bdp", "over": "dp", "at": {"table": "table1", "clients": 100}},
        {"name": "less_epsilon", "spend": "moments C", "than": "moments 2C"},
        {"name": "epsilon_below", "spend": "moments C", "below": 1},
        {"name": "out_of_reach", "spend": "moments C", "epsilon": 1, "column": "bdp"},
    ]
    checks = [claim({"tables": ["table1"]} | example).check for example in examples]
    assert {check.name for check in checks} == set(CHECKS)
    assert len({check.sentence() for check in checks}) == len(CHECKS)


def test_claims_are_written_with_their_numbers_test_and_verdict(runs, declared, tmp_path):
    check = CHECK | {"clients": [100]}
    written = write(
        runs,
        {
            "tables": {"table1": declared.model_dump()},
            "claims": [claim(check, "it is false").model_dump(), claim(CHECK).model_dump()],
        },
        tmp_path / "claims",
    )
    lines = pd.read_csv(written[0])
    assert list(lines["verdict"]) == ["unsound", "partly"]
    assert lines["measured"].iloc[0] == "Table I, N = 100: 45.1 ± 0.1 % against 45 %"
    text = written[1].read_text()
    assert "it is false" in text and "published − 0.5 points" in text
    assert all(f"- {name}: {meaning}." in text for name, meaning in VERDICTS.items())


def test_a_paper_without_claims_has_an_empty_page(frame):
    assert claims_table(frame, [], {}).display.empty
