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
    assert set(TABLES) == {"table1", "table2", "table3"} and len(RUNS) == 120
    for names in TABLES.values():
        assert len(families(names)) * len(SETTINGS["multipliers"]) >= 35 > len(names)


@pytest.mark.parametrize("name", TABLES)
def test_the_sigma_of_a_run_is_one_at_which_all_are_counted(name):
    for run in TABLES[name]:
        assert RUNS[run].scheme.model_dump()["noise_multiplier"] in SETTINGS["multipliers"]


@pytest.mark.parametrize("name", TABLES)
def test_runs_whose_names_agree_in_the_noise_agree_in_sigma_times_c(name):
    for run in TABLES[name]:
        tenths = next(int(word.removeprefix("noise")) for word in run.split("_") if word.startswith("noise"))
        scheme = RUNS[run].scheme.model_dump()
        assert scheme["noise_multiplier"] * scheme["clip_l2"] == pytest.approx(tenths / 10, rel=1e-12)


def test_every_run_is_in_one_table_and_none_sees_the_test_split():
    read = ["aptos_none", *(run for names in TABLES.values() for run in names)]
    matched = [run for run in RUNS if run.startswith(("tight_", "joint_", "levels_", "n1000"))]
    assert sorted([*read, *matched]) == sorted(RUNS) and len(matched) == 38
    assert all(run.validation for run in RUNS.values())


def test_cohorts_denominators_and_deals_are_all_tried():
    tried = [RUNS[run].model_dump() for names in TABLES.values() for run in names]
    assert {one["cohort"]["law"] for one in tried} == {"poisson", "full"}
    assert {one["scheme"].get("denominator", "expected") for one in tried} == {"expected", "present"}
    deals = {one["partition"].get("deal", "images") for one in tried if one["dataset"] == "aptos"}
    assert deals == {"images", "copies"}
    for name in ("table1", "table2"):
        widths = {str(RUNS[run].model.model_dump()["widths"]) for run in TABLES[name]}
        assert len(widths) == 2


def test_the_criterion_and_the_published_pairs_are_those_written_down_beforehand():
    pairs = {name: (*one["dp"].values(), *one["bdp"].values()) for name, one in SETTINGS["tables"].items()}
    assert pairs == {
        "table1": (0.78, 8, 0.88, 4),
        "table2": (0.86, 8, 0.92, 2),
        "table3": (0.6, 8, 0.65, 2.1),
    }
    assert (SETTINGS["points"], SETTINGS["ratio"]) == (1.5, 1.5)
