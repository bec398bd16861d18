"""Verdicts follow from the cells, by rules that are written down."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_claims import claim

from fedpriv.report.claims import Outcome, judge, write_claims
from fedpriv.report.render import read_table
from fedpriv.report.sample import decision_of_margins
from fedpriv.report.verdicts import (
    COUNTS,
    FAILS,
    HOLDS,
    OUTCOMES,
    SOUNDNESS,
    SUBSTITUTE,
    UNDECIDED,
    claim_verdict,
)

ABOVE, ACROSS, BELOW = np.array([0.1, 0.11]), np.array([1.0, -0.9]), np.array([-0.1, -0.11])
STAND_IN = Outcome("a cell", None, "not judged, digits in place of mnist", SUBSTITUTE)
CHECK = {"check": "accuracy(dp) >= published(dp) - 0.005", "tables": ["table1"]}
LARGEST = {"check": "accuracy(dp) - accuracy(bdp) >= accuracy(dp) - accuracy(bdp)"}


def judged(*cells, **keys):
    outcomes = [
        one
        if isinstance(one, Outcome)
        else Outcome("a cell", one, "a number", "" if one is not None else "not run")
        for one in cells
    ]
    return judge(claim(**CHECK | keys), outcomes)


SOME, MOST = {"needs": "some"}, LARGEST | {"clients": [100], "elsewhere": ["table1"]}


@pytest.mark.parametrize(
    ("keys", "cells", "expected"),
    [
        ({}, (ABOVE, ABOVE), "reproduced"),
        ({}, (ABOVE, ACROSS), "reproduced"),
        ({}, (ABOVE, None), "reproduced"),
        ({}, (ABOVE, STAND_IN), "reproduced"),
        ({}, (ABOVE, BELOW), "partly"),
        ({}, (BELOW, BELOW), "not reproduced"),
        ({}, (BELOW, ACROSS, None), "not reproduced"),
        ({}, (ACROSS, None), "undecided"),
        ({}, (ACROSS, STAND_IN), "undecided"),
        ({}, (STAND_IN, None), "not judged: substitute data"),
        ({}, (None, None), "not run"),
        # About some cell: one that holds is enough.
        (SOME, (ABOVE, BELOW), "reproduced"),
        (SOME, (ABOVE, None), "reproduced"),
        (SOME, (ACROSS, BELOW), "undecided"),
        (SOME, (BELOW, BELOW), "not reproduced"),
        # The largest is larger than all others.
        (MOST, (ABOVE, ABOVE), "reproduced"),
        (MOST, (ABOVE, None), "undecided"),
        (MOST, (ABOVE, ACROSS), "undecided"),
        (MOST, (ABOVE, BELOW), "not reproduced"),
        (MOST, (BELOW, None), "not reproduced"),
    ],
)
def test_a_verdict_is_that_of_the_cells_that_decide(keys, cells, expected):
    assert judged(*cells, **keys)["verdict"] == expected


@pytest.mark.parametrize("margin", [0.5, -0.5, 0.0, np.inf])
def test_one_seed_decides_nothing_and_is_called_one_seed(margin):
    found = judged(np.array([margin]), None)
    assert found["verdict"] == "undecided (one seed)" and found["outcome"] == "undecided"
    assert found["decided"] == 0 and "a number (undecided: one seed)" in found["measured"]


def test_an_outcome_and_whether_it_is_sound_are_two_things():
    true, false = (judged(one, unsound="it does not follow") for one in (ABOVE, BELOW))
    assert true["verdict"] == "reproduced, interpretation unsound"
    assert (true["outcome"], true["soundness"]) == ("reproduced", "interpretation unsound")
    assert (false["verdict"], false["soundness"]) == ("not reproduced", "")
    assert true["reason"] == false["reason"] == "it does not follow"


margins = st.lists(st.floats(-1, 1), min_size=1, max_size=5).map(np.array)
NEGATED = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}


@given(margins)
def test_what_decides_a_comparison_decides_its_negation_the_other_way_round(found):
    assert decision_of_margins(-found) == NEGATED[decision_of_margins(found)]


@given(st.floats(-1, 1))
def test_an_interval_on_the_threshold_decides_nothing(width):
    assert decision_of_margins(np.array([-width, width])) == UNDECIDED


@pytest.mark.parametrize(
    "found, expected",
    [
        ([np.inf, np.inf], HOLDS),
        ([-np.inf, -np.inf], FAILS),
        ([np.inf, 0.1], UNDECIDED),
        ([np.inf, -np.inf], UNDECIDED),
        ([np.nan, 0.1], UNDECIDED),
    ],
)
def test_infinite_margins_decide_only_where_all_agree(found, expected):
    assert decision_of_margins(np.array(found)) == expected


counts = st.fixed_dictionaries({name: st.integers(0, 4) for name in COUNTS.values()})
KINDS = {"every": {}, "some": {"some": True}, "one statement": {"one_statement": True}}
ORDER = ["not run", "not judged", "not reproduced", "undecided", "partly", "reproduced"]


@given(counts, st.sampled_from([*KINDS]))
def test_every_count_of_cells_has_a_verdict_and_a_better_cell_never_makes_it_worse(found, kind):
    check = KINDS[kind]
    before = claim_verdict(found, **check)
    assert before in OUTCOMES
    if found["fail"]:
        better = found | {"fail": found["fail"] - 1, "hold": found["hold"] + 1}
        assert ORDER.index(claim_verdict(better, **check)) >= ORDER.index(before)


@given(counts, st.sampled_from([*KINDS]))
def test_nothing_is_reproduced_or_not_where_nothing_is_decided(found, kind):
    nothing = found | {"hold": 0, "fail": 0}
    assert claim_verdict(nothing, **KINDS[kind]) in ("undecided", "not judged", "not run")


def test_claims_are_written_with_their_numbers_test_and_verdict(results, declared, tmp_path):
    check = CHECK | {"clients": [100]}
    written = write_claims(
        results,
        [claim(**check, unsound="it is false"), claim(**CHECK)],
        {"table1": declared},
        tmp_path / "claims",
    )
    lines = pd.read_csv(written[0])
    assert list(lines["verdict"]) == ["reproduced, interpretation unsound", "reproduced"]
    assert lines["measured"].iloc[0] == "Table I, N = 100: 45.1 ± 0.1 % against 45 % (holds)"
    seeds = pd.read_csv(tmp_path / "claims_seeds.csv")
    assert set(seeds["case"]) == {"Table I, N = 100"} and set(seeds["right"]) == {0.45}
    assert seeds["left"].mean() == pytest.approx(0.451, abs=0.001) and seeds["gain"].isna().all()
    text = (tmp_path / "claims.md").read_text()
    assert "1 of 1" in text and "1 of 2" in text
    assert "it is false" in text and "accuracy(dp) >= published(dp) - 0.005" in text
    assert all(f"- {name}: {meaning}." in text for name, meaning in {**OUTCOMES, **SOUNDNESS}.items())


def test_a_paper_without_claims_has_an_empty_page(results, tmp_path):
    write_claims(results, [], {}, tmp_path / "none")
    assert read_table(tmp_path / "none.json").display.empty
