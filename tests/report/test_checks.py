"""What every check can do: say in words what it tests, be written as data, refuse what it is not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_claims import claim

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.paper.claims import Claim
from fedpriv.paper.quantities import QUANTITIES
from fedpriv.report.claims.margins import margins
from fedpriv.report.claims.quantities import READ
from fedpriv.report.claims.words import sentence

TABLE = {"tables": ["table1"]}
RUNS = {"cases": [{"label": "here", "a": "run1", "b": "run2"}]}
RUN = {"cases": [{"label": "here", "run": "run1"}]}
GAIN = {"gain": "bdp", "over": "dp"}
EXAMPLES = [
    (
        {"that": {"accuracy": "dp"}, "at_least": {"published": "dp"}, "plus": -0.005} | TABLE,
        "accuracy of dp ≥ published accuracy of dp − 0.5 points",
    ),
    ({"that": GAIN, "at_least": -0.065} | TABLE, "accuracy of bdp − dp ≥ −6.5 points, paired by seed"),
    (
        {"that": GAIN, "at_least": {"published_gain": "bdp", "over": "dp"}, "plus": -0.01} | TABLE,
        "accuracy of bdp − dp ≥ published accuracy of bdp − dp − 1 points, paired by seed",
    ),
    (
        {"that": GAIN | {"gain": "dpsgd"}, "at_least": {"share": 0.5, "of": "bdp", "over": "dp"}} | TABLE,
        "accuracy of dpsgd − dp ≥ 0.5 times that of bdp − dp, paired by seed",
    ),
    (
        {"that": GAIN, "at_least": GAIN, "elsewhere": ["table1", "table2"], "clients": [1000]} | TABLE,
        "accuracy of bdp − dp at table1, N = 1,000 ≥ accuracy of bdp − dp elsewhere, paired by seed",
    ),
    ({"that": {"accuracy": "dp"}, "at_most": 0.2} | TABLE, "accuracy of dp ≤ 20 %"),
    (
        {"that": {"epsilon": "moments C"}, "at_most": {"epsilon": "moments 2C"}, "plus": -6} | TABLE,
        "ε (moments, sensitivity C) ≤ ε (moments, sensitivity 2C) − 6, at the last round, paired by seed",
    ),
    (
        {"that": {"epsilon": "moments C", "of": "dp"}, "at_most": 1} | TABLE,
        "ε (moments, sensitivity C) of dp ≤ 1, at the last round",
    ),
    (
        {"that": {"spent": "bdp"}, "at_most": {"spent": "dp"}, "plus": -6} | TABLE,
        "ε of bdp ≤ ε of dp − 6, at the last round, as the column counts it, paired by seed",
    ),
    (
        {"that": {"delta": "moments C", "of": "run"}, "at_most": 0.1} | RUN,
        "δ of ε (moments, sensitivity C) ≤ 0.1",
    ),
    (
        {"that": {"published": "bdp"}, "at_least": {"accuracy_within": 1, "spend": "moments C"}} | TABLE,
        "published accuracy of bdp ≥ accuracy within ε = 1 (moments, sensitivity C), paired by seed",
    ),
    (
        {"that": {"accuracy": "a"}, "at_least": {"accuracy": "b"}, "plus": 0.02} | RUNS,
        "accuracy of a ≥ accuracy of b + 2 points, at the last round, paired by seed",
    ),
    (
        {"that": {"rise": ["a", "b"], "measure": "best_drawn"}, "at_least": 0} | RUNS,
        "every rise in accuracy along a, b ≥ 0 points, of drawn clients at its best round, paired by seed",
    ),
    (
        {"that": {"lead": "a", "over": ["b"]}, "at_least": 0} | RUNS,
        "accuracy of a − each of b ≥ 0 points, at the last round, paired by seed",
    ),
    (
        {"that": {"accuracy": "a"}, "equals": {"accuracy": "b"}, "margin": 0.02} | RUNS,
        "accuracy of a = accuracy of b ± 2 points, at the last round, paired by seed",
    ),
    (
        {"that": {"times_smaller": "a", "than": "b"}, "at_least": 32} | RUNS,
        "bytes of what b sends a round, in float32, / bytes that a sends ≥ 32",
    ),
    (
        {"that": {"rounds": "a", "over": "b", "within": 0.03}, "at_most": 1.5} | RUNS,
        "rounds of a / rounds of b, to the final accuracy of b less 0.03, ≤ 1.5",
    ),
    (
        {"that": {"epsilon": "all rdp"}, "at_least": {"epsilon": "bit exact"}, "times": 1000} | RUN,
        "ε (upload rdp, everything sent) ≥ 1000 times ε (upload exact, one bit), at the last round, "
        "paired by seed",
    ),
    (
        {
            "that": {"epsilon": "bayesian product remove_sum"},
            "at_least": {"lower_bound": "outlier", "under": "bayesian product remove_sum"},
        }
        | RUN,
        "ε (bayesian, product, remove_sum) ≥ lower bound of outlier under ε (bayesian, product, remove_sum), "
        "at the last round, paired by seed",
    ),
    (
        {"that": {"growth": "parallel rdp", "of": "a"}, "at_least": {"growth": "parallel rdp", "of": "b"}}
        | RUNS,
        "growth of ε (parallel rdp, sensitivity C) of a ≥ growth of ε (parallel rdp, sensitivity C) of b, "
        "after the first round, paired by seed",
    ),
]


@pytest.mark.parametrize(("check", "words"), EXAMPLES)
def test_every_check_says_in_words_what_it_tests(check, words):
    assert sentence(claim(check).check) == words


def test_the_examples_have_every_quantity_and_each_can_be_read():
    checks = [claim(check).check for check, _ in EXAMPLES]
    named = {one.name() for check in checks for one in (check.that, check.other)}
    assert named == set(QUANTITIES) == set(READ) | {"number"}
    assert all(kind.name() == name for name, kind in QUANTITIES.items())


@pytest.mark.parametrize("check", [check for check, _ in EXAMPLES])
def test_a_claim_survives_being_written_as_data(check):
    declared = claim(check)
    assert Claim.model_validate(declared.model_dump()) == declared
    assert Claim.model_validate_json(declared.model_dump_json()) == declared


def test_a_number_may_be_one_that_every_case_gives():
    cases = [{"label": "here", "a": "run1", "limit": 0.47}, {"label": "there", "a": "run2", "limit": 0.15}]
    check = claim({"that": {"accuracy": "a"}, "at_most": "limit", "cases": cases}).check
    assert sentence(check) == "accuracy of a ≤ 47 % or 15 %, at the last round"
    cases = [{"label": str(least), "a": "run1", "b": "run2", "least": least} for least in (0.2, 0.05)]
    check = claim(
        {"that": {"accuracy": "a"}, "at_least": {"accuracy": "b"}, "plus": "least", "cases": cases}
    ).check
    assert "≥ accuracy of b + 20 points or + 5 points" in sentence(check)


DP = {"that": {"accuracy": "dp"}, "at_least": 0.5} | TABLE


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (DP | {"at_most": 0.6}, "found at_least, at_most, allowed: one of at_least, at_most, equals"),
        (DP | {"at_least": None}, "found nothing, allowed: one of at_least, at_most, equals"),
        (DP | {"at_least": None, "equals": 0.5}, "found equals, allowed: equals with a margin"),
        (DP | {"margin": 0.5}, "found margin, allowed: equals with a margin"),
        (
            DP | {"at_least": None, "equals": 0.5, "margin": 0.1, "times": 2},
            "found equals, times, allowed: times with at_least or at_most",
        ),
        (DP | RUNS, "found tables, cases, allowed: one of tables, cases"),
        (DP | {"tables": []}, "found nothing, allowed: one of tables, cases"),
        (DP | {"at_least": "published"}, "found published, allowed: a number"),
        (DP | {"plus": "more"}, "found more, allowed: a number"),
        (
            DP | {"that": {"acuracy": "dp"}},
            "check.that: quantity: found {'acuracy': 'dp'}, allowed: a number, or one of acc",
        ),
        (DP | {"that": {"accuracy": "dp", "gain": "bdp"}}, "check.that.gain: unknown key"),
        (DP | {"that": {"accuracy": "dp", "measure": "worst"}}, "check.that.measure: found 'worst'"),
        (DP | {"at_least": {"epsilon": "moments 3C"}}, "found 3C in 'moments 3C'"),
        (DP | {"times": 0}, "check.times: found 0"),
        (DP | {"that": {"rise": ["dp"]}}, "check.that.rise"),
        (
            {"that": {"accuracy": "a"}, "at_least": {"accuracy": "c"}} | RUNS,
            "cases: here: found label, a, b, allowed: exactly label, a, c; a number for none",
        ),
        (
            {"that": {"accuracy": "a"}, "at_most": "b"} | RUNS,
            "cases: here: found label, a, b, allowed: exactly label, a, b; a number for b",
        ),
        (
            {"that": {"accuracy": "run"}, "at_most": 1, "clients": [100]} | RUN,
            "found clients, allowed: these of `tables`",
        ),
        (
            {"that": {"accuracy": "run"}, "at_least": {"published": "run"}} | RUN,
            "found run, allowed: these of `tables`",
        ),
    ],
)
def test_what_is_no_comparison_is_refused_in_one_line(check, words):
    with pytest.raises(BadInput) as error:
        parse(claim, check, "claims")
    assert words in str(error.value) and "\n" not in str(error.value)


number = st.floats(-100, 100)
seeds = st.lists(st.tuples(number, number), min_size=1, max_size=4)
OF_ACCURACY = [
    claim({"that": {"accuracy": "a"}, relation: {"accuracy": "b"}} | RUNS).check
    for relation in ("at_least", "at_most")
]
OF_RATIO = [
    claim({"that": {"epsilon": "rdp C"}, relation: {"epsilon": "moments C"}, "times": 3} | RUN).check
    for relation in ("at_least", "at_most")
]


@given(seeds, number)
def test_at_most_is_the_mirror_image_of_at_least(by_seed, plus):
    one, other = (pd.Series(values) for values in zip(*by_seed, strict=True))
    above, below = (margins(check, one, other, plus) for check in OF_ACCURACY)
    assert np.allclose(above, -below)
    swapped = margins(OF_ACCURACY[0], one, other, 0.0), margins(OF_ACCURACY[1], other, one, 0.0)
    assert (swapped[0] == swapped[1]).all()


@given(st.floats(0.1, 100), st.floats(0.1, 100))
def test_so_many_times_is_judged_by_the_ratio_on_the_side_on_which_the_difference_is(one, other):
    above, below = (margins(check, pd.Series([one]), pd.Series([other]), 0.0)[0] for check in OF_RATIO)
    assert above == pytest.approx(-below)
    if abs(one - 3 * other) > 1e-9:
        assert (above > 0) == (one > 3 * other) == (below < 0)
