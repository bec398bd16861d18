"""An accuracy read off an oscillation, of one class, or in the first steps says nothing of a run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.report.lines import Line, statistic
from fedpriv.report.results import Results
from fedpriv.report.sample import Sample
from fedpriv.report.stability import instability

LARGEST = 0.464
ROUNDS = (5, 10, 15, 20, 25)


def results(*seeds):
    """Return the results of a run whose seeds had these accuracies."""
    rows = [
        {"run": "dp", "seed": seed, "round": at, "test_accuracy": value, "test_accuracy_drawn": np.nan}
        for seed, values in enumerate(seeds)
        for at, value in zip(ROUNDS, values, strict=True)
    ]
    runs = [{"run": "dp", "seed": seed, "majority": LARGEST, "diverged": 0} for seed in range(len(seeds))]
    nothing = pd.DataFrame(columns=["run"])
    return Results(pd.DataFrame(runs), pd.DataFrame(rows), nothing, Path())


def reading(results, *rounds):
    """Return the reading at these rounds, one a seed."""
    table = results.rounds.pivot(index="seed", columns="round", values="test_accuracy")
    return pd.DataFrame({"round": rounds, "value": [table.loc[seed, at] for seed, at in enumerate(rounds)]})


def why(results, *rounds):
    return instability(results.run("dp"), reading(results, *rounds))


UP_AND_DOWN = [0.59, 0.51, 0.60, 0.52, 0.61]
RISING = [0.40, 0.50, 0.57, 0.60, 0.61]
FIRST_STEPS = [0.30, 0.55, 0.60, 0.61, 0.62]
BETWEEN = [0.5, LARGEST, 0.48, LARGEST, 0.5]  # two rounds at which one class is predicted


@pytest.mark.parametrize(
    ("seeds", "rounds", "reason"),
    [
        *(([UP_AND_DOWN] * 3, [at] * 3, "oscillates") for at in ROUNDS),
        ([UP_AND_DOWN] * 3, (10, 15, 20), "oscillates"),
        ([BETWEEN] * 2, (15, 15), "oscillates"),
        ([BETWEEN] * 3, (10, 10, 10), "predicts one class"),
        ([FIRST_STEPS] * 2, (5, 5), "rises"),
        ([FIRST_STEPS] * 2, (10, 10), ""),
        ([UP_AND_DOWN, RISING, RISING], (25, 25, 25), ""),
    ],
)
def test_a_reading_is_unstable_where_its_rounds_say_nothing_of_the_run(seeds, rounds, reason):
    assert why(results(*seeds), *rounds) == (f"unstable: {reason}" if reason else "")


@given(
    start=st.floats(0.5, 0.8),
    steps=st.lists(st.floats(-0.029, 0.029), min_size=4, max_size=4),
    at=st.sampled_from(ROUNDS),
)
def test_steps_of_less_than_three_points_are_never_an_oscillation(start, steps, at):
    run = results(list(np.cumsum([start, *steps])))
    assert why(run, at) == ""


def test_a_run_with_two_evaluated_rounds_has_nothing_to_be_compared_with():
    run = results(RISING)
    first = replace(run, rounds=run.rounds[run.rounds["round"] <= 10])
    assert instability(first.run("dp"), reading(run, 10)) == ""


def test_an_unstable_number_keeps_its_mean_and_loses_its_interval():
    line = Line("100", "DP", "accuracy", Sample(pd.Series([0.5, 0.6, 0.7])))
    found = statistic(line._replace(about={"status": "unstable: oscillates"}))
    assert found["value"] == pytest.approx(0.6) and np.isnan([found["low"], found["high"]]).all()
    assert not np.isnan(statistic(line)["low"])
