"""Tables of runs that rank: the best within a budget first."""

import pandas as pd
import pytest
from support.made_runs import write_run

from fedpriv.paper.tables import RunsTable
from fedpriv.report import numbers, render
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results
from fedpriv.report.tables.runs import runs_table

RANKING = {
    "title": "Search",
    "match": "n100_*",
    "keys": ["server.learning_rate", "no.such"],
    "columns": [
        {"name": "accuracy_within", "label": "DP", "accountant": "moments C", "within": 6.0},
        "accuracy_last",
        "round",
    ],
    "best_first": True,
}


def lines(table: render.PrintedTable) -> list[dict]:
    return table.display.to_dict("records")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Return a run without privacy and a private one, three seeds each."""
    folder = tmp_path_factory.mktemp("search")
    made = [("n100_none", "none", 0.97), ("n100_dp", "client_dp", 0.9)]
    runs = [write_run(folder, run, seed, scheme=s, final=f) for run, s, f in made for seed in range(3)]
    return load_results(collect(runs, folder))


def ranking_of(results: pd.DataFrame, **changed: object) -> render.PrintedTable:
    declared = RunsTable.model_validate(RANKING | changed).matched(["n100_none", "n100_dp", "n100_failed"])
    return runs_table(results, declared, "search")


def test_a_ranking_puts_the_best_within_the_first_budget_first_and_the_unaffordable_last(searched):
    table = ranking_of(searched)
    shown = lines(table)
    assert [line["Run"] for line in shown] == ["n100_dp", "n100_none"]
    assert [line["server.learning_rate"] for line in shown] == ["0.9", "0.97"]
    assert shown[0]["Accuracy (%) DP"] == "45.1 ± 0.1" and shown[1]["Accuracy (%) DP"] == numbers.NONE
    assert shown[1]["no.such"] == ""
    assert (shown[0]["Read at round DP"], shown[0]["Read at round last round"]) == ("10", "20")
    assert "DP: at the last evaluated round before ε (moments, sensitivity C) exceeds 6." in table.notes
    assert "Not run in this preset: n100_failed." in table.details


def test_a_ranking_of_nothing_says_what_was_looked_for(searched):
    assert lines(ranking_of(searched, match="search_*")) == [{"Run": "not run: search_*"}]
