"""A run that has diverged is called so in every table, and decides no claim."""

import pandas as pd
import pytest
from support.made_claims import claim, outcomes
from support.made_runs import ROUNDS, write_run

from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.report.claims import judge
from fedpriv.report.collect import collect
from fedpriv.report.results import DIVERGED, load_results
from fedpriv.report.tables import TABLE_KINDS
from fedpriv.store import parquet, summary


def lost(out, round):
    """Make a made run one that diverged after `round`."""
    for name in ("trace", "ledger"):
        path = out / f"{name}.parquet"
        frame = pd.read_parquet(path)
        parquet.save_frame(frame[frame["round"] <= round], path)
    path = out / "summary.json"
    end = {"diverged": round, "test_accuracy": None, "rounds": round}
    summary.save_summary(path, summary.load_summary(path) | end)
    return out


def results_of(tmp_path, round, seeds=(0,)):
    """Return two seeds of two runs; the private one diverged after `round` at `seeds`."""
    runs = [write_run(tmp_path, "n100_none", seed, scheme="none", final=0.97) for seed in range(2)]
    made = [write_run(tmp_path, "n100_dp", seed, scheme="client_dp", final=0.9) for seed in range(2)]
    runs += [lost(out, round) if seed in seeds else out for seed, out in enumerate(made)]
    return load_results(collect(runs, tmp_path))


def test_the_end_of_a_diverged_seed_is_below_everything(tmp_path):
    read = results_of(tmp_path, 5).run("n100_dp").last()
    assert read.loc[0, "value"] == DIVERGED and read.loc[0, "round"] == 5
    assert read.loc[1, "value"] == pytest.approx(0.901)


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
def test_a_seed_that_diverged_before_it_was_evaluated_is_not_forgotten(seeds, tmp_path):
    frame = results_of(tmp_path, 1, seeds)
    for read in (frame.run("n100_dp").last(), frame.run("n100_dp").best_drawn()):
        assert list(read.index) == [0, 1]
        assert list(read.loc[list(seeds), "value"]) == [DIVERGED] * len(seeds)


@pytest.mark.parametrize("epsilon, gone", [(3.0, False), (100.0, True)])
def test_a_budget_that_ends_earlier_is_read_as_it_was_then(epsilon, gone, tmp_path):
    selector = EpsilonSelector.model_validate({"accountant": "moments"})
    read = results_of(tmp_path, ROUNDS // 2).run("n100_dp").within((selector, epsilon))
    assert (read.loc[0, "value"] == DIVERGED) == gone
    assert read.loc[1, "value"] > 0


@pytest.mark.parametrize("seeds, words", [((0, 1), "diverged"), ((1,), "diverged (1 of 2 seeds)")])
def test_tables_say_diverged_instead_of_a_number(seeds, words, tmp_path, declared):
    table = TABLE_KINDS["accuracy"](results_of(tmp_path, 6, seeds), declared, "table1")
    line = table.display.iloc[0]
    assert line["BDP"] == f"{words} (88)" and line["Baseline"].startswith("97.")
    row = table.tidy.query(
        "row == 100 and column == 'bdp' and quantity == 'accuracy' and source == 'reproduced'"
    )
    assert row["status"].tolist() == ["diverged"] and row["value"].isna().all()
    assert any(
        note.startswith("Diverged, their weights no longer finite: n100_dp seed") for note in table.details
    )


def test_a_claim_about_a_diverged_run_is_undecided_and_says_why(tmp_path, declared):
    check, rows = "accuracy(baseline) - accuracy(bdp) >= 0", {"tables": ["table1"], "clients": [100]}
    found = outcomes(results_of(tmp_path, 6), check, {"table1": declared}, **rows)
    judged = judge(claim(check, **rows), found)
    assert judged["verdict"] == "undecided"
    assert judged["measured"].endswith("n100_dp diverged")
