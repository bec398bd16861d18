"""The preset of examples/readings: what is trained and what is counted again have the same noise."""

import json
from fnmatch import filter as matching
from pathlib import Path

import pytest

from fedpriv.config.plan import load_preset
from fedpriv.paper.paper import read_yaml

ROOT = Path(__file__).parents[2]
RUNS = load_preset(ROOT / "config/readings.yaml").runs["bdp2019_readings"]
SETTINGS = read_yaml(ROOT / "examples/readings/settings.yaml")
FIRST = ("table1", "table2", "table3")  # at 100 clients, with a last layer that begins at random
TABLES = {name: matching(RUNS, one["match"]) for name, one in SETTINGS["tables"].items()}


def families(names: list[str]) -> dict[str, set[float]]:
    """Return the σ of the runs of each family of a table: all else, and the noise σC, are the same."""
    found: dict[str, set[float]] = {}
    for name in names:
        config = RUNS[name].training()
        sigma, clip = config["scheme"].pop("noise_multiplier"), config["scheme"].pop("clip_l2")
        found.setdefault(json.dumps([config, round(sigma * clip, 9)]), set()).add(sigma)
    return found


def test_few_trainings_make_many_readings_of_every_table():
    for names in (TABLES[name] for name in FIRST):
        assert len(families(names)) * len(SETTINGS["multipliers"]) >= 35 > len(names)


@pytest.mark.parametrize("name", FIRST)
def test_the_sigma_of_a_run_is_one_at_which_all_are_counted(name):
    for run in TABLES[name]:
        assert RUNS[run].scheme.model_dump()["noise_multiplier"] in SETTINGS["multipliers"]


def test_the_criterion_and_the_published_pairs_are_those_written_down_beforehand():
    pairs = {name: (*one["dp"].values(), *one["bdp"].values()) for name, one in SETTINGS["tables"].items()}
    assert pairs == {
        "table1": (0.78, 8, 0.88, 4),
        "table2": (0.86, 8, 0.92, 2),
        "table3": (0.6, 8, 0.65, 2.1),
        "table3_n100": (0.6, 8, 0.65, 2.1),
        "table3_n1000": (0.67, 2, 0.68, 0.5),
        "table3_n10000": (0.68, 1, 0.69, 0.2),
    }
    assert (SETTINGS["points"], SETTINGS["ratio"]) == (1.5, 1.5)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_runs_and_all_are_of_its_size(name):
    assert {RUNS[run].partition.clients for run in TABLES[name]} == {SETTINGS["tables"][name]["clients"]}
