"""The study of unstated settings: what is counted again, what is nearest, what is said of the clipped."""

import runpy
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.made_runs import ROUNDS, write_run
from support.pixels import assert_same_picture

from fedpriv.report import render
from fedpriv.report.collect import collect
from fedpriv.report.results import Results, load_results
from fedpriv.store import parquet

FOLDER = Path(__file__).parents[2] / "examples/readings"
sys.path.append(str(FOLDER))
from recount import ESTIMATORS, counted_at  # noqa: E402  # beside the study, as it reads it

study = SimpleNamespace(**runpy.run_path(str(FOLDER / "readings.py")))
DECLARED = {
    "caption": "",
    "place": "Table I",
    "data": "MNIST",
    "clients": 100,
    "match": "run_*",
    "points": 1.5,
    "ratio": 1.5,
    "multipliers": [1.0, 2.0, 3.0],
    "dp": {"accuracy": 0.4, "epsilon": 8},
    "bdp": {"accuracy": 0.5, "epsilon": 2},
    "keys": {"cohort.rate": "1"},
}
NOISE = 3.0


def write(folder: Path, run: str, sigma: float, counted: dict[float, tuple[float, float]], **changes) -> Path:
    """Write a run with noise 3 that reaches `final` and was counted at every σ of `counted`.

    Its ε after the last round are those two, of DP and of BDP; they grow with √round.
    """
    clip = NOISE / sigma
    facts = {"unit": "client", "clip_l2": clip, "noise_multiplier": sigma, "noise_std": NOISE} | changes
    final = facts.pop("final", 0.8)
    scheme = {"clip_l2": clip, "noise_multiplier": sigma}
    out = write_run(folder, run, 0, scheme="client_dp", final=final, facts=facts, config={"scheme": scheme})
    ledger = pd.read_parquet(out / "ledger.parquet")
    first = ledger.drop_duplicates("round")
    ways = [("moments", "", "")]
    ways += [("bayesian", estimator, "remove_sum") for estimator in ESTIMATORS]
    for one, (dp, bdp) in counted.items():
        for accountant, composition, distance in ways:
            end = dp if accountant == "moments" else bdp
            words = {"accountant": accountant, "composition": composition, "distance": distance}
            words |= {"sensitivity": counted_at(NOISE / one), "accounting": ""}
            words |= {"kind": "estimate" if accountant == "bayesian" else "guarantee"}
            again = first.assign(**words, epsilon=end * np.sqrt(first["round"] / ROUNDS))
            ledger = pd.concat([ledger, again.loc[again["round"] % 2 == 0]], ignore_index=True)
    parquet.save_frame(ledger, out / "ledger.parquet")
    return out


def results_of(folder: Path, *runs: Path) -> pd.DataFrame:
    return load_results(collect(runs, folder))


def wanted(**changed: object) -> Any:
    return study.Wanted(**DECLARED | changed)


def table_of(results: Results, **changed: object) -> render.PrintedTable:
    return study.readings_table(results, wanted(**changed), "table")


def value(table: render.PrintedTable, sigma: float, column: str, quantity: str) -> float:
    lines = table.tidy.set_index(["noise_multiplier", "column", "quantity"])["value"]
    return float(lines.loc[(sigma, column, quantity)])


@pytest.fixture
def loose(tmp_path) -> pd.DataFrame:
    """Return a run with σ = 1 and C = 3 whose updates, of norm up to 0.9, were never cut."""
    return results_of(tmp_path, write(tmp_path, "run_a", 1.0, {1.0: (30, 4), 2.0: (16, 4), 3.0: (8, 4)}))


def test_each_column_is_read_at_the_last_evaluated_round_within_its_own_budget(loose):
    table = table_of(loose)
    # ε = end · √(round/20): DP is within 8 until round 20 · (8/end)², BDP within 2 of 4 until round 5.
    for sigma, last in ((1.0, None), (2.0, 4), (3.0, 20)):
        if last:
            assert value(table, sigma, "DP", "round") == last
            assert value(table, sigma, "DP", "accuracy") == pytest.approx(0.8 * last / 20)
        assert value(table, sigma, "BDP", "round") == 4
    assert np.isnan(value(table, 1.0, "DP", "accuracy")) and np.isnan(value(table, 1.0, "BDP", "distance"))


def test_the_distance_is_computed_from_the_columns_of_the_table(loose):
    table = table_of(loose)
    for sigma in (2.0, 3.0):
        dp, bdp = (100 * value(table, sigma, name, "accuracy") for name in ("DP", "BDP"))
        compared, spent = (value(table, sigma, "BDP", f"epsilon_{of}") for of in ("compared", "of_dp"))
        ratios = np.log(compared / 2), min(0.0, np.log(spent / 8))  # DP may have been stopped before
        expected = ((dp - 40) / 1.5) ** 2 + ((bdp - 50) / 1.5) ** 2 + np.sum(np.square(ratios / np.log(1.5)))
        assert value(table, sigma, "BDP", "distance") == pytest.approx(np.sqrt(expected))


@pytest.mark.parametrize(
    ("final", "bdp", "round_number"),
    [
        (0.8, 4.0, 14),  # 16 % within the budget, at round 4; 50 % are reached at 12.5, first evaluated at 14
        (0.8, 2.0, 20),  # the budget is never exceeded: reached at the last round
        (0.9, 2.4, 12),  # 54 % at round 12, the last within the budget: though 50 were reached there
        (0.3, 4.0, 20),  # never reached: the last round
        (0.8, 40.0, 14),  # no round within the budget: all are later
    ],
)
def test_the_epsilon_that_is_compared_is_the_budgets_or_that_of_the_first_round_that_is_as_accurate(
    tmp_path, final, bdp, round_number
):
    results = results_of(tmp_path, write(tmp_path, "run_a", 3.0, {3.0: (8, bdp)}, final=final))
    table = table_of(results, multipliers=[3.0])
    assert value(table, 3.0, "BDP", "epsilon_compared") == pytest.approx(bdp * np.sqrt(round_number / 20))


def test_a_reading_whose_clip_bound_is_below_the_largest_norm_is_refused_and_has_no_numbers(tmp_path):
    """σ = 3 has C = 1, and an update has norm 1.2."""
    run = write(tmp_path, "run_a", 1.0, {1.0: (7, 4), 2.0: (6, 4)}, norm_max=1.2)
    table = table_of(results_of(tmp_path, run))
    (line,) = table.tidy.loc[table.tidy["noise_multiplier"] == 3.0].to_dict("records")
    assert line["status"] == "clipped: an update of norm 1.2 in round 1 is longer than C = 1"
    assert np.isnan(line["value"])
    shown = table.display.to_dict("records")[-1]
    assert shown["Run"] == "run_a (clipped: train it)" and shown["BDP, ε ≤ 2 d"] == ""
    assert any(note.startswith("Clipped, 1") for note in table.notes)


def test_a_run_that_diverged_is_never_the_nearest(tmp_path):
    run = write(tmp_path, "run_a", 3.0, {3.0: (8, 2)})
    results = results_of(tmp_path, run)
    results = replace(results, runs=results.runs.assign(diverged=3))
    declared = wanted(multipliers=[3.0])
    (one,) = study.configurations(results, declared)
    assert study.outcome(results.run(one.run), declared, one, (0.4, 0.5)).distance.isna().all()
    assert "nearest" not in set(table_of(results, multipliers=[3.0]).tidy["status"])


def test_the_stored_tables_are_of_what_is_looked_for_and_have_one_nearest_each():
    for name, declared in study.declared_in(FOLDER / "settings.yaml").items():
        table = pd.read_csv(FOLDER / f"{name}.csv")
        assert table["run"].str.match(declared.match.replace("*", ".*")).all()
        assert set(table["noise_multiplier"]) >= set(declared.multipliers)
        assert len(table.loc[table["status"] == "nearest", "row"].unique()) == 1


def test_what_is_no_guarantee_is_marked_where_it_is_printed(loose):
    table = table_of(loose)
    cells = table.display.drop(columns=["Run"])
    for name in cells.columns[cells.columns.str.contains("ε")]:
        texts = [text for text in cells[name][1:] if text not in ("", "—")]
        if name.endswith((" ε", " ε compared")) or name.startswith(study.END):
            bayesian = "BDP" in name or "bound" in name or "plain mean" in name
            assert texts and all(text.endswith("‡") == bayesian for text in texts), name
        else:
            assert not any(text.endswith(("‡", "†")) for text in texts), name


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_the_tables_beside_the_study_have_the_marks_of_their_numbers(name):
    numbers = pd.read_csv(FOLDER / f"{name}.csv").replace(np.inf, np.nan)
    statuses = numbers.dropna(subset=["value", "epsilon_status"])["epsilon_status"]
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    grid, notes = page.partition("\n\n- ")[::2]
    assert grid.count("‡") == statuses.str.startswith("estimate").sum() > 0
    assert grid.count("†") == statuses.str.startswith("not a guarantee").sum() > 0
    assert notes.endswith("ε †: not a guarantee; ‡: an estimate, never a guarantee.\n")


def test_the_picture_beside_the_study_is_that_of_the_tables_beside_it(tmp_path, monkeypatch):
    for table in FOLDER.glob("table?.csv"):
        shutil.copy(table, tmp_path)
    monkeypatch.setattr(sys, "argv", ["figure.py", str(tmp_path)])
    runpy.run_path(str(FOLDER / "figure.py"), run_name="__main__")
    assert_same_picture(FOLDER / "readings.png", tmp_path / "readings.png")
