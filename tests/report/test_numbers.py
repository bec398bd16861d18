"""Means and intervals, against scipy's own, and numbers as they are printed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedpriv.report import numbers
from fedpriv.report.numbers import interval
from fedpriv.report.verdicts import SUBSTITUTE, UNVERIFIED, counts_text, verdict_counts

samples = st.lists(st.floats(-100, 100), min_size=2, max_size=8)


@given(samples)
def test_the_interval_is_that_of_a_t_test(values):
    found = interval(values)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    if np.std(values) > 1e-6:
        low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6, abs=1e-9)


def test_one_value_has_no_interval():
    found = interval([0.5])
    assert (found.mean, found.n) == (0.5, 1) and np.isnan(found.low) and np.isnan(found.high)


@pytest.mark.parametrize("values", [[], [0.5, np.nan]])
def test_a_missing_value_leaves_nothing_to_say(values):
    assert np.isnan(interval(values).mean)


def test_an_infinite_mean_has_no_interval():
    found = interval([np.inf, np.inf])
    assert np.isinf(found.mean) and np.isnan(found.low)


@pytest.mark.parametrize(
    "value, text",
    [(1e-3, "10⁻³"), (1e-12, "10⁻¹²"), (2.5e-5, "2.5 · 10⁻⁵"), (0.1, "10⁻¹")],
)
def test_a_delta_is_a_power_of_ten_where_it_is_one(value, text):
    assert numbers.delta(value) == text


def test_numbers_are_printed_with_their_interval():
    assert numbers.percent([0.88, 0.90]) == "89.0 ± 12.7"
    assert numbers.percent([0.88]) == "88.0"
    assert numbers.percent([0.88, np.nan]) == numbers.NONE
    assert numbers.percent([-0.05, -0.05]) == "−5.0 ± 0.0"  # not one seed
    assert numbers.size([0.05, 0.05]) == "0.050"  # no seed changes it
    assert numbers.size([0.00042]) == "0.00042"
    assert numbers.size([20464.56]) == "20465"
    assert numbers.size([np.inf, np.inf]) == "∞"
    assert numbers.round_range([280, 285]) == "280–285"
    assert numbers.attacker(0.99966) == "> 99.9"


def test_every_published_accuracy_is_counted_whatever_its_verdict_but_an_unverified_one():
    verdicts = [
        "reached (one seed)",
        SUBSTITUTE,
        "no round within the budget",
        "unstable: rises",
        "new",
    ]
    counts = verdict_counts([*verdicts, UNVERIFIED] * 2)
    assert sum(counts.values()) == 2 * len(verdicts)
    assert counts_text(counts).startswith(
        "2 reached, 2 unstable, 2 not judged (substitute data), 2 no round "
    )
