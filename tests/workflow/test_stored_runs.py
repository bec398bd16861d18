"""What is stored is counted where it is: no job trains, deals or fetches anything for it."""

import re
import shutil

from support.workflow import RENDER, ROOT, planned, snakemake, write_config

from fedpriv.cli import app
from fedpriv.store import parquet

TABLES = ("tables/table1.csv", "tables/table1.md", "claims.csv")
RUNS = "results/test/tiny/runs"


def test_a_preset_that_is_wholly_stored_only_counts_and_renders(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/reference").symlink_to(ROOT / "results/reference")
    laptop = ("--configfile", str(tmp_path / "config/laptop.yaml"))
    jobs = {re.sub("_.*", "", name): count for name, count in planned(*laptop, cwd=tmp_path).items()}
    assert set(jobs) == {"take", "audit", "collect", "tables", "figures", "report"}
    one = planned(*laptop, "--config", 'show=["bdp2019/table2"]', cwd=tmp_path)
    assert one == {"take_bdp2019": 1, "collect": 1, "tables_bdp2019": 1}
    again = planned(*laptop, "--config", "again=true", 'show=["bdp2019/table2"]', cwd=tmp_path)
    assert again["train"] == again["account"] == 9


def test_tables_from_stored_runs_are_those_from_the_trained_ones(copy, monkeypatch):
    monkeypatch.chdir(copy)
    config = write_config(copy)
    before = {name: (copy / "results/test/tiny" / name).read_bytes() for name in TABLES}
    assert app.main(["keep", "results/test"]) == 0
    assert planned(*config, cwd=copy) == {}  # what was trained here comes first
    for folder in ("results/test", "resources", "logs", ".snakemake"):
        shutil.rmtree(copy / folder)
    assert planned(*config, cwd=copy) == {"take_tiny": 1} | RENDER
    said = snakemake("--cores", "1", *config, cwd=copy)
    assert "training" not in said and not (copy / "resources").exists()
    assert {name: (copy / "results/test/tiny" / name).read_bytes() for name in TABLES} == before
    assert {path.name for path in (copy / RUNS).rglob("*.*")} == {"ledger.parquet", "summary.json"}
    assert planned(*config, cwd=copy) == {}
    assert not parquet.changed_source(copy / RUNS / "private/seed0/ledger.parquet")


def test_a_seed_that_is_not_stored_is_trained_beside_those_that_are(copy, monkeypatch):
    monkeypatch.chdir(copy)
    assert write_config(copy) and app.main(["keep", "results/test"]) == 0
    for folder in ("results/test", ".snakemake"):
        shutil.rmtree(copy / folder)
    jobs = planned(*write_config(copy, preset={"seeds": 3}), cwd=copy)
    assert jobs == {"take_tiny": 1, "partition": 1, "train": 2, "account": 2} | RENDER
