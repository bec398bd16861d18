"""What every run was set to and what it ran on stands once a paper, for people and for machines."""

import numpy as np
import pandas as pd
import pytest
from support.made_runs import write_run

from fedpriv.report import render
from fedpriv.report.collect import collect
from fedpriv.report.results import load_results
from fedpriv.report.settings import settings_table

PHOTOS = {"data": "photos", "substitute_for": "aptos", "note": "Of a network."}


@pytest.fixture
def table(tmp_path):
    """Two runs that differ in their scheme, on photographs that stand in for others."""
    schemes = {"plain": {"name": "none"}, "private": {"name": "client_dp", "rate": 0.5, "clip": None}}
    made = [
        write_run(tmp_path, run, seed, scheme=scheme["name"], config={"scheme": scheme}, **PHOTOS)
        for run, scheme in schemes.items()
        for seed in range(2)
    ]
    return settings_table(load_results(collect(made, tmp_path)))


def test_a_line_has_the_settings_in_which_a_run_differs_and_no_others(table):
    plain, private = table.display.to_dict("records")
    assert (plain["Run"], private["Run"]) == ("plain", "private")
    assert "scheme.name client_dp" in private["Set to"] and "scheme.name none" in plain["Set to"]
    (shared,) = [note for note in table.notes if note.startswith("All runs: ")]
    keys = {word.split(" ")[0] for word in private["Set to"].split("; ")}
    assert not keys & {word.split(" ")[0] for word in shared.removeprefix("All runs: ").split("; ")}


def test_the_file_for_machines_has_a_column_for_every_setting(table, tmp_path):
    files = render.write_table_files(table, tmp_path / "runs")
    assert [file.name for file in files] == ["runs.csv", "runs.json", "runs.md"]
    found = pd.read_csv(files[0]).set_index("run")
    assert found.loc["private", "scheme.name"] == "client_dp" and set(found["substitute_for"]) == {"aptos"}
    assert set(found["seeds"]) == {2} and not any("±" in str(cell) for cell in found.to_numpy().ravel())
    assert np.isnan(found.loc["plain", "scheme.rate"]) and found.loc["private", "scheme.clip"] == "none"
    assert "NA" in files[0].read_text(encoding="utf-8")  # as R has it, too
    header = files[0].read_text(encoding="utf-8").partition("\n")[0].split(",")
    assert len(header) == len(set(header))
