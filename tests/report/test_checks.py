"""What every check can do: be one line of arithmetic, be written as data, refuse what it is not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_claims import claim

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.paper.arithmetic import Call
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.report.numbers import percent
from fedpriv.report.sample import Sample, margins

TABLE = {"tables": ["table1"]}
RUNS = {"cases": {"here": {"a": "run1", "b": "run2"}}}


def test_a_line_is_read_as_python_reads_it():
    assert claim("accuracy(bdp) >= published(bdp) - 0.005", **TABLE).calls == [
        Call("accuracy", ("bdp",), ()),
        Call("published", ("bdp",), ()),
    ]
    rise = claim('-0.01 <= rise(a, b, c, "best_drawn")', **TABLE)
    assert rise.calls == [Call("rise", ("a", "b", "c"), ("best_drawn",))] and not rise.comparison.at_least
    selector = EpsilonSelector(accountant="moments", sensitivity="2C")
    cases = {"here": {"run": "dp", "limit": 3.0}}
    limited = claim('limit >= 2 * epsilon("moments 2C")', cases=cases)
    assert limited.parts == ["limit", Call("epsilon", ("run",), (selector,))]


def test_a_case_may_name_its_one_run_alone():
    (case,) = claim('epsilon("moments C") <= 8', cases={"here": "run1"}).judged({})
    assert (case.name, case.left["run"].run) == ("here", "run1")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "accuracy(dp) >= publishd(dp) - 0.005",
            "found publishd, allowed: a number, a name, + - * / or one of acc",
        ),
        (
            "accuracy(dp) > 0.5",
            "found accuracy(dp) > 0.5, allowed: one comparison by <= or >=",
        ),
        ("0 <= accuracy(dp) <= 1", "allowed: one comparison"),
        ("accuracy(dp)", "found accuracy(dp), allowed: one comparison"),
        ("accuracy(dp) >= ", "nothing, allowed: one comparison"),
        ("accuracy(dp >= 0.5", "found (dp >= 0.5, allowed: one comparison"),
        ('epsilon("moments 3C") <= 8', "found moments 3C, allowed: accountant: found 3C in"),
        ('"ε" + accuracy(dp) >= 0', 'found "ε", allowed: a number, a name'),
        ('epsilon("ε") <= spent(8)', "found ε"),
        ('epsilon("moments C") <= spent(8)', "found spent(8), allowed: spent(NAME)"),
        ("rise(dp) >= 0", "allowed: rise(NAME, NAME, ..."),
        ('accuracy(dp, "worst") >= 0', 'found "worst", allowed: last or best_drawn'),
        ("accuracy(dp, measure=1) >= 0", "found accuracy(dp, measure=1)"),
        ("accuracy(dp) ** 2 >= 0", "found accuracy(dp) ** 2"),
        ("__import__(dp) >= 0", "found __import__, allowed"),
        ("(lambda: 0)() >= accuracy(dp)", "allowed: a number, a name"),
        ("True <= accuracy(dp)", "found True"),
        ("1e999 >= accuracy(dp)", "found 1e999"),
        ("published(dp) >= 0.5", "allowed: something that is measured"),
        ("1 >= 0", "allowed: something that is measured"),
        ("(" * 300 + "accuracy(dp)" + ")" * 300 + " >= 0", "characters, allowed: at most 400"),
        ("-" * 390 + "1 >= 0", "allowed: a"),
        ("(" * 190 + "1" + ")" * 190 + " >= 0", "allowed: something that is measured"),
    ],
)
def test_what_is_no_comparison_is_refused_in_one_line_with_the_piece(line, words):
    with pytest.raises(BadInput) as error:
        parse(lambda check: claim(check, **TABLE), line, "claims.yaml")
    assert str(error.value).startswith("claims.yaml: it: check: ")
    assert words in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("check", "keys", "words"),
    [
        ("accuracy(a) >= 0.5", TABLE | RUNS, "found tables, cases, allowed: one of tables, cases"),
        ("accuracy(a) >= 0.5", {}, "found nothing, allowed: one of tables, cases"),
        ("accuracy(a) >= most", TABLE, "found most, allowed: a number; only `cases` have names"),
        ("accuracy(a) >= accuracy(c)", RUNS, "here: found a, b, allowed: exactly a, c; a number for none"),
        ("accuracy(a) <= b", RUNS, "here: found a, b, allowed: exactly a, b; a number for b"),
        (
            "accuracy(a) <= accuracy(b)",
            RUNS | {"clients": [100]},
            "found clients, allowed: these of `tables`",
        ),
        ("accuracy(a) <= published(b)", RUNS, "found b, allowed: these of `tables`"),
    ],
)
def test_what_no_case_can_be_is_refused(check, keys, words):
    with pytest.raises(BadInput) as error:
        parse(lambda keys: claim(check, **keys), keys, "claims.yaml")
    assert words in str(error.value) and "\n" not in str(error.value)


number = st.floats(-100, 100)
seeds = st.lists(st.tuples(number, number), min_size=1, max_size=4)


@given(seeds)
def test_at_most_is_the_mirror_image_of_at_least(by_seed):
    one, other = (Sample(pd.Series(values)) for values in zip(*by_seed, strict=True))
    assert (margins(one, other) == -margins(one, other, at_least=False)).all()
    assert (margins(one, other) == margins(other, one, at_least=False)).all()


@given(st.lists(number, min_size=1, max_size=4), number)
def test_a_number_is_the_same_for_every_seed(by_seed, given):
    sample, values = Sample(pd.Series(by_seed)), np.array(by_seed)
    assert np.allclose(margins(sample, given), values - given)
    assert np.allclose([*(sample * 2 - given)], 2 * values - given)
    assert np.allclose([*((sample - given) / 2 + 1)], (values - given) / 2 + 1)


@given(seeds, st.data())
def test_arithmetic_pairs_the_seeds_that_both_have(by_seed, data):
    one, other = (pd.Series(values) for values in zip(*by_seed, strict=True))
    kept = data.draw(st.lists(st.sampled_from(range(len(one))), min_size=1, unique=True))
    for found, wanted in (
        (Sample(one) - Sample(other[kept]), one - other),
        (Sample(one[kept]) + Sample(other), one + other),
        (Sample(one[kept]) * Sample(other[kept]), one * other),
    ):
        assert {*found.seeds.index} == {*kept} and np.allclose(found.seeds, wanted[found.seeds.index])


def test_an_accuracy_that_no_round_affords_is_no_number_in_a_difference_and_0_alone():
    none = Sample(pd.Series([np.nan, np.nan]), missing=0.0)
    some = Sample(pd.Series([0.5, 0.7]), missing=0.0)
    assert np.isnan((some - none).seeds).all() and percent(some - none) == "—"
    assert margins(none, 0.2).tolist() == [-0.2, -0.2]
    assert abs(some - 0.6).values.shape == (2, 2) and some.interval.mean == pytest.approx(0.6)
