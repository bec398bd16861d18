"""Both ε of a row: a pair comes out of a run whose two ε are the printed ones after the same round."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.made_runs import write_run

from fedpriv.report.collect import collect
from fedpriv.report.results import load_results

FILE = Path(__file__).parents[2] / "config/papers/bdp2019_readings/tables.py"
study = SimpleNamespace(**runpy.run_path(str(FILE)))
DECLARED = SimpleNamespace(theirs="", title="Both ε", caption="")
ROWS = {(row.place, row.clients): row for row in study.ROWS}
HUNDRED = ROWS["Table II", 100]  # 8 and 2.0, and the ledgers that are written end there


def results_of(folder, **scales):
    """Return results of runs of that row; their ε at the end are 8 and 2, times a scale."""
    config = {
        "dataset": "mnist",
        "partition": {"law": "iid", "clients": 100},
        "cohort": {"law": "poisson", "rate": 0.3},
        "scheme": {"name": "client_dp", "clip_l2": 0.3, "noise_multiplier": 3.0},
    }
    runs = [
        write_run(folder, name, 0, scheme="client_dp", scale=scale, config=config)
        for name, scale in scales.items()
    ]
    return load_results(collect(runs, folder))


@pytest.fixture
def printed(tmp_path):
    """Numbers of the table, by row, way of counting and column."""
    table = study.pairs(results_of(tmp_path, exact=1.0, dear=2.0), DECLARED, "pairs")
    return table, table.tidy.set_index(["row", "composition", "distance", "column"])


def test_the_round_of_a_pair_is_that_in_which_both_epsilons_are_the_printed_ones(printed):
    table, epsilons = printed
    line = epsilons.loc[(HUNDRED.name, "product", "remove_mean", "BDP")]
    assert (line["run"], line["round"], line["comes_out"]) == ("exact", 20, "2 of 2")
    assert "product, remove_mean: 1 of 9 rows come out." in table.notes
    assert "hoelder, remove_mean: 0 of 9 rows come out." in table.notes  # 9 where DP has 8: never 2 with 8


@pytest.mark.parametrize(
    ("row", "dp", "comes_out"),
    [
        (HUNDRED, 8.31, True),
        (HUNDRED, 7.4, False),
        (HUNDRED, 11.5, True),  # DP was stopped before
        (ROWS["Table II", 1000], 3.155, True),
        (ROWS["Table II", 1000], 4.0, False),  # both accuracies are equal: both ε are the last
    ],
)
def test_more_epsilon_of_dp_is_no_contradiction_where_dp_was_stopped_before(row, dp, comes_out):
    assert study.Pair("run", 300, dp, row.bdp).comes_out(row) is comes_out


def test_a_row_that_was_not_run_has_one_line_which_says_so_and_a_way_without_epsilon_none(printed):
    lines = printed[0].display
    (row,) = lines.loc[lines["Row"] == ROWS["Table III", 100].name].to_dict("records")
    assert (row["BDP counted by"], row["Comes out in"]) == ("", "not run")
    assert "product, remove_sum" not in set(lines.loc[lines["Row"] == HUNDRED.name, "BDP counted by"])
