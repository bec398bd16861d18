"""A table becomes files for machines and for people."""

from pathlib import Path

import pandas as pd
import pytest

from fedpriv.report.render import read_table
from fedpriv.report.tables import write_table


def test_a_table_of_accuracies_becomes_five_files(results, declared, tmp_path):
    made = write_table(results, declared, tmp_path / "tables" / "table1", main=True)
    written = {path.name for path in (tmp_path / "tables").iterdir()}
    assert written == {f"table1{end}" for end in (".csv", "_seeds.csv", ".json", ".md", ".tex")}
    read = read_table(tmp_path / "tables/table1.json")
    assert all(getattr(read, name) == getattr(made, name) for name in ("title", "caption", "place", "main"))
    assert read.notes == [*made.notes, "ε ‡: an estimate, never a guarantee."]
    assert read.blocks[0].equals(made.blocks[0])
    assert "97.1 ± 0.2" in (tmp_path / "tables/table1.md").read_text()
    numbers, seeds = (pd.read_csv(tmp_path / f"tables/table1{end}.csv") for end in ("", "_seeds"))
    assert len(numbers) > 20
    read = numbers.loc[(numbers["source"] == "reproduced") & (numbers["quantity"] == "accuracy")].dropna(
        subset="value"
    )
    means = seeds.groupby(["row", "column"])["accuracy"].mean()
    for one in read.to_dict("records"):
        assert means[one["row"], one["column"]] == pytest.approx(one["value"])


def test_every_table_of_accuracies_of_the_reference_fits_into_100_columns():
    printed = [path.with_suffix(".md") for path in Path("results/reference").glob("*/*/tables/*.tex")]
    lines = [line for path in printed for line in path.read_text(encoding="utf-8").splitlines()]
    grid = [line for line in lines if line.startswith("|")]
    assert len(grid) > 200 and max(map(len, grid)) <= 100
