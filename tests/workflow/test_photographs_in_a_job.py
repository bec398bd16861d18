"""Photographs are found where the network is, and looked at in a job."""

import re
import shutil
from pathlib import Path

import pytest

from fedpriv import data
from fedpriv.cli import app

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(monkeypatch, tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDPRIV_MIRROR", raising=False)
    return tmp_path


def step(*words):
    return app.main(["step", words[0], "config/demo.yaml", *words[1:]])


def test_what_is_found_and_looked_at_in_two_jobs_is_what_fetch_lists(here):
    assert step("find", "fundus_synthetic") == step("look", "fundus_synthetic", "2") == 0
    folder = Path("resources/fundus_synthetic/folder.txt").read_text()
    assert folder == f"{here / 'resources/fundus_synthetic/raw'}\n"
    (listed,) = data.fetch("fundus_synthetic", Path("once more"), ())
    assert Path("resources/fundus_synthetic/images.json").read_bytes() == listed.read_bytes()


def test_what_was_drawn_on_another_machine_is_drawn_once_more_for_each_job(here, monkeypatch):
    assert step("find", "fundus_synthetic") == step("look", "fundus_synthetic", "2") == 0
    listed = Path("resources/fundus_synthetic/images.json").read_bytes()
    for name, word in {"look": "2", "prepare": ""}.items():
        node = here / name
        shutil.copytree(here / "config", node / "config")
        shutil.copytree(here / "resources", node / "resources", ignore=shutil.ignore_patterns("raw"))
        monkeypatch.chdir(node)
        Path("resources/fundus_synthetic/folder.txt").write_text(f"{here / 'gone'}\n")
        assert step(name, "fundus_synthetic", *word) == 0
        assert Path("resources/fundus_synthetic/images.json").read_bytes() == listed
        assert Path("resources/fundus_synthetic/raw/train.csv").exists()


def test_a_dataset_without_photographs_is_refused(here, capsys):
    assert step("find", "mnist") == 2
    assert "dataset: found mnist, allowed: " in capsys.readouterr().err


def test_only_what_needs_the_network_runs_where_snakemake_was_started():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    local = [rule for rule in re.split(r"^ *rule ", rules, flags=re.MULTILINE) if "localrule: True" in rule]
    assert {rule.partition(":")[0] for rule in local} == {"fetch", "find"}
