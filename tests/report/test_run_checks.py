"""Checks of runs, whether they are in a table or not: what their margins are, in closed form."""

import numpy as np
import pytest
from made_claims import claim
from made_runs import ROUNDS, write_run

from fedpriv.errors import BadInput
from fedpriv.paper.spends import Choice
from fedpriv.report.collect import collect, load

SEQUENTIAL, PARALLEL = (
    Choice(accountant="moments", accounting=accounting) for accounting in ("sequential", "parallel")
)
# run -> its scheme and the accuracy at its end
RUNS = {
    "plain": ("none", 0.9),
    "client": ("client_dp", 0.8),
    "joint": ("joint", 0.78),
    "slow": ("joint", 0.5),
    "larger": ("instance", 0.7),
    "bits": ("dpfl_bnn", 0.85),
}


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """Return two seeds of every run; accuracy grows in proportion to rounds, ε with their square root."""
    folder = tmp_path_factory.mktemp("checked")
    runs = [
        write_run(
            folder,
            run,
            seed,
            scheme=scheme,
            final=final,
            scale=1.5 if run == "larger" else 1.0,
            drawn=0.95 if run == "bits" else None,
        )
        for run, (scheme, final) in RUNS.items()
        for seed in range(2)
    ]
    return load(collect(runs, folder / "runs.parquet"))


def outcome_of(frame, cell, **check):
    (outcome,) = claim(check | {"cells": [{"label": "here"} | cell]}).check.outcomes(frame, {})
    return outcome


def test_a_gain_at_the_end_is_paired_by_seed(frame):
    outcome = outcome_of(frame, {"of": "joint", "over": "client"}, name="run_gain", at_least=-0.03)
    assert outcome.margins == pytest.approx([0.01, 0.01])
    assert outcome.measured.startswith("78.1 ± 0.6 % against 80")


def test_a_run_fails_to_learn_if_it_ends_below_a_number(frame):
    outcome = outcome_of(frame, {"run": "slow", "below": 0.2}, name="run_below")
    assert outcome.margins == pytest.approx([-0.3, -0.301])


def test_a_gain_may_be_judged_as_released_code_reads_accuracies(frame):
    cell = {"of": "bits", "over": "plain"}
    best = outcome_of(frame, cell, name="run_gain", measure="best_drawn")
    assert best.margins == pytest.approx([0.95 - 0.9, 0.95 - 0.901])
    assert outcome_of(frame, cell, name="run_gain").margins == pytest.approx([-0.05, -0.05])
    below = outcome_of(frame, {"run": "bits", "below": 0.9}, name="run_below", measure="best_drawn")
    assert below.margins == pytest.approx([-0.05, -0.05])


def test_every_cell_of_a_gain_may_ask_for_a_gain_of_its_own(frame):
    cells = [
        {"label": str(least), "of": "plain", "over": "client", "at_least": least} for least in (0.2, None)
    ]
    check = claim({"name": "run_gain", "at_least": 0.05, "cells": cells}).check
    found = [outcome.margins for outcome in check.outcomes(frame, {})]
    assert found == [pytest.approx([-0.1, -0.1]), pytest.approx([0.05, 0.05])]
    assert "≥ 20 or 5 points" in check.sentence()


@pytest.mark.parametrize(
    "runs, margin", [(["slow", "joint", "client"], 0.02), (["slow", "plain", "client"], -0.1)]
)
def test_along_a_list_the_least_step_decides(frame, runs, margin):
    outcome = outcome_of(frame, {"runs": runs}, name="rising")
    assert outcome.margins == pytest.approx([margin, margin])
    assert outcome.measured.startswith("50.0 ± 0.6, ") and outcome.measured.endswith(" %")
    tolerant = outcome_of(frame, {"runs": runs}, name="rising", at_least=-0.1)
    assert tolerant.margins == pytest.approx([margin + 0.1] * 2)


def test_a_list_may_rise_only_as_released_code_reads_it(frame):
    cell = {"runs": ["plain", "bits"]}
    assert (outcome_of(frame, cell, name="rising").margins < 0).all()
    assert (outcome_of(frame, cell, name="rising", measure="best_drawn").margins > 0).all()


def test_bytes_are_held_against_float32_or_another_run(frame):
    check = {"name": "fewer_bytes", "at_least": 32.0, "within": 0.0}
    alone = outcome_of(frame, {"run": "bits"}, **check)
    assert alone.margins == pytest.approx([0, 0])
    assert alone.measured == "125 bytes against 4,000, 32 times fewer"
    assert outcome_of(frame, {"run": "bits", "than": "client"}, **check).margins == pytest.approx([0, 0])
    # Eight bits a byte, rounded up: a little is always missing.
    more = frame.assign(upload_bytes=frame["upload_bytes"] + 0.001 * (frame["run"] == "bits"))
    assert (outcome_of(more, {"run": "bits"}, **check).margins < 0).all()
    assert (outcome_of(more, {"run": "bits"}, **check | {"within": 0.01}).margins > 0).all()


GROWN = 1 - np.sqrt(1 / ROUNDS)  # of what is spent after the last round


def test_growth_compares_what_was_spent_after_the_first_round(frame):
    cell = {"run": "joint", "spend": "sequential moments C", "than": "parallel moments C"}
    outcome = outcome_of(frame, cell, name="growth")
    assert outcome.margins == pytest.approx([GROWN * (4.0 - 0.2)] * 2)
    assert outcome.measured == f"0.16 ({SEQUENTIAL}) against 3.11 ({PARALLEL})"
    exactly = outcome_of(frame, cell, name="growth", at_least_ratio=20.0)
    assert exactly.margins == pytest.approx([0, 0])


def test_growth_compares_two_runs_in_the_order_in_which_they_are_named(frame):
    spends = {"spend": "parallel moments C", "than": "parallel moments C"}
    outcome = outcome_of(frame, {"run": "joint", "than_run": "larger", **spends}, name="growth")
    assert outcome.margins == pytest.approx([GROWN * 2.0] * 2)
    other_way = outcome_of(frame, {"run": "larger", "than_run": "joint", **spends}, name="growth")
    assert other_way.margins == pytest.approx(-outcome.margins)


def test_a_larger_epsilon_is_so_many_times_the_other(frame):
    cell = {"run": "bits", "spend": "sum rdp bits", "than": "bits rdp"}
    outcome = outcome_of(frame, cell, name="larger_epsilon", at_least_ratio=50.0)
    assert outcome.margins == pytest.approx([1 - 50 * 7400 / 6.7e5] * 2)
    assert outcome.measured == "7400 (sum rdp, all bits) against 6.70 · 10⁵ (upload rdp, all bits)"
    endless = frame.assign(epsilon=frame["epsilon"].where(frame["accounting"] != "upload", np.inf))
    assert outcome_of(endless, cell, name="larger_epsilon").margins == pytest.approx([1, 1])
    same = outcome_of(endless, cell | {"spend": "bit exact"}, name="larger_epsilon")
    assert np.isneginf(same.margins).all()


@pytest.mark.parametrize("within, ratio, margin", [(0.02, 1.0, 0.0), (0.02, 1.1, 0.1), (0.1, 1.25, 0.25)])
def test_rounds_are_counted_until_the_final_accuracy_of_the_other_run_is_reached(
    tmp_path, within, ratio, margin
):
    runs = [
        write_run(tmp_path, run, 0, scheme="none", final=final) for run, final in (("a", 0.78), ("b", 0.8))
    ]
    frame = load(collect(runs, tmp_path / "runs.parquet"))
    cell = {"run": "a", "over": "b", "within": within, "rounds_ratio": ratio}
    # Every second round: 0.78 and 0.7 are reached by b at rounds 20 and 18, by a at rounds 20 and 18.
    assert outcome_of(frame, cell, name="reaches").margins == pytest.approx([margin])


def test_an_accuracy_that_is_never_reached_is_reached_in_no_number_of_rounds(frame):
    cell = {"run": "slow", "over": "client", "within": 0.1, "rounds_ratio": 100.0}
    outcome = outcome_of(frame, cell, name="reaches")
    assert np.isneginf(outcome.margins).all() and "round — against 18" in outcome.measured


CELLS = {
    "run_gain": {"of": "plain", "over": "client"},
    "run_below": {"run": "plain", "below": 0.2},
    "growth": {"run": "joint", "spend": "sequential moments C", "than": "parallel moments C"},
    "larger_epsilon": {"run": "joint", "spend": "sum moments C", "than": "upload moments C"},
    "rising": {"runs": ["joint", "plain"]},
    "fewer_bytes": {"run": "joint"},
    "reaches": {"run": "joint", "over": "client", "rounds_ratio": 2.0},
}


@pytest.mark.parametrize("name", CELLS)
def test_a_misspelt_run_is_named_before_anything_is_read(name):
    more = {"at_least": 32.0} if name == "fewer_bytes" else {}
    check = claim({"name": name, "cells": [{"label": "here"} | CELLS[name]]} | more).check
    check.validate_names("claims.it", {}, RUNS)
    for key in CELLS[name].keys() & {"run", "runs", "of", "over"}:
        misspelt = {key: ["jiont", "plain"] if key == "runs" else "jiont"}
        wrong = claim({"name": name, "cells": [{"label": "here"} | CELLS[name] | misspelt]} | more).check
        with pytest.raises(BadInput, match=r"claims\.it: runs: found jiont, allowed: plain, client"):
            wrong.validate_names("claims.it", {}, RUNS)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_whose_run_is_missing_is_not_run(frame, name):
    without = frame.loc[~frame["run"].isin(["joint", "plain"])]
    more = {"at_least": 32.0} if name == "fewer_bytes" else {}
    outcome = outcome_of(without, CELLS[name], name=name, **more)
    assert outcome.margins is None and outcome.measured == "not run"


def test_growth_of_an_epsilon_that_is_not_in_the_ledger_is_not_run(frame):
    cell = {"run": "client", "spend": "sequential moments C", "than": "moments C"}
    outcome = outcome_of(frame, cell, name="growth")
    assert outcome.margins is None
    assert outcome.measured == f"no ε ({SEQUENTIAL}) in the ledger"
