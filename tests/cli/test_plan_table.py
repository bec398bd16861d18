"""`fedpriv plan`: what will run, before it runs, as Snakemake's rules read it."""

import csv
import json
from pathlib import Path

import pytest
from support.tiny import PRESET, RUN, write

from fedpriv.cli import app
from fedpriv.config.plan import load_preset
from fedpriv.workflow.rules import read_plan

CONFIG = "config/tiny.yaml"


def rows_of(fedpriv, *words):
    code, out, err = fedpriv("plan", CONFIG, "--json", *words)
    assert (code, err) == (0, [])
    return json.loads("".join(out))


def test_every_run_and_seed_of_a_preset_is_a_row_and_nothing_is_written(fedpriv, here):
    before = sorted(here.rglob("*"))
    runs = rows_of(fedpriv)["runs"]
    plan = load_preset(Path(CONFIG))
    assert [(row["run"], row["seed"], row["identity"]) for row in runs] == [
        (key.run, key.seed, key.identity) for key in plan.keys("tiny")
    ]
    assert {row["state"] for row in runs} == {"to train"} and sorted(here.rglob("*")) == before


def test_the_jobs_of_the_table_are_those_of_the_rules(fedpriv, here):
    write(here / CONFIG, PRESET | {"seeds": 2, "speed": {"runs_per_job": 8, "threads": 1}})
    listed = {row["job"] for row in rows_of(fedpriv)["runs"]}
    assert listed == {job.name for job in read_plan(load_preset(Path(CONFIG)), Path()).together} != {""}


def test_a_run_that_is_stored_or_trained_is_not_to_train(fedpriv, here):
    assert fedpriv(*RUN[:-1], "results/tiny/tiny/runs/dp/seed0")[0] == 0
    states = {(row["run"], row["seed"]): row["state"] for row in rows_of(fedpriv)["runs"]}
    assert states["dp", 0] == "trained"
    assert app.main(["keep", "results/tiny"]) == 0
    (here / "results/tiny").rename(here / "elsewhere")
    row = next(row for row in rows_of(fedpriv)["runs"] if (row["run"], row["seed"]) == ("dp", 0))
    assert (row["state"], row["job"]) == ("stored", "")


def test_the_written_table_has_the_rows_that_are_printed_of_a_preset_with_other_settings(fedpriv, here):
    rows = rows_of(fedpriv, "--set", "seeds=3")["runs"]
    code, out, _ = fedpriv("plan", CONFIG, "--set", "seeds=3", "--out", "plan.csv")
    with (here / "plan.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert code == 0 and out[0] == f"plan.csv: {len(rows)} rows"
    assert written == [{key: str(value) for key, value in row.items()} for row in rows]


def test_a_preset_that_is_not_there_is_one_line(refused):
    assert "No preset 'config/none.yaml'" in refused("plan", "config/none.yaml")


@pytest.mark.parametrize("word", ["seeds=none", "nothing=1"])
def test_a_wrong_setting_is_one_line_that_names_its_key(word, refused):
    assert word.partition("=")[0] in refused("plan", CONFIG, "--set", word)
