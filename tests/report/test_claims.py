"""Verdicts follow from the cells, by rules that are written down."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_claims import claim

from fedpriv.report.claims.judge import VERDICTS, judge, verdict
from fedpriv.report.claims.margins import Outcome
from fedpriv.report.claims.write import claims_table, write

HOLDS, LEANS, FAILS = np.array([0.1, 0.1]), np.array([1.0, -0.9]), np.array([-0.1, -0.1])
CHECK = {"that": {"accuracy": "dp"}, "at_least": {"published": "dp"}, "plus": -0.005, "tables": ["table1"]}


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


@given(counts, st.integers(0, 3))
def test_a_claim_about_every_cell_is_reproduced_only_if_each_was_run_and_holds(found, missing):
    cells = sum(found.values()) + missing
    every = cells > 0 and found["hold"] == cells
    assert (verdict(found, cells, "every") == "reproduced") == every


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
    assert "it is false" in text and "≥ published accuracy of dp − 0.5 points" in text
    assert all(f"- {name}: {meaning}." in text for name, meaning in VERDICTS.items())


def test_a_paper_without_claims_has_an_empty_page(frame):
    assert claims_table(frame, [], {}).display.empty
