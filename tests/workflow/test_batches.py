"""Several short runs in one job: the same bits, and no more is done again than what was changed."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from filelock import FileLock
from support.once import once
from support.workflow import RENDER, ROOT, changed, kinds, planned, snakemake, write_config

TOGETHER = {"speed": {"device": "cpu", "threads": 1, "runs_per_job": 8}}


@pytest.fixture(scope="module")
def built_together(tmp_path_factory):
    """Return a folder with everything, in which runs were trained together, and what was said of it."""

    def build(folder):
        said = followed("--cores", "2", *write_config(folder, preset=TOGETHER), cwd=folder)
        (folder / "said").write_text(said, encoding="utf-8")

    folder = once(tmp_path_factory, "together", build)
    return folder, (folder / "said").read_text(encoding="utf-8")


@pytest.fixture
def together(built_together, tmp_path):
    """Return a copy of that folder that a test may change; files that were one are one again."""
    folder, _ = built_together
    shutil.copytree(folder, tmp_path / "copy")
    for kept in tmp_path.glob("copy/results/test/tiny/runs/*/*/resume/*/*"):
        kept.unlink()
        kept.hardlink_to(kept.parents[2] / kept.name)
    return tmp_path / "copy"


def followed(*arguments, cwd):
    """Run Snakemake in folder `cwd` as `make` does, with a line for all it begins; return these lines."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", *arguments]
    return subprocess.run(
        [sys.executable, "-m", "fedpriv.cli.follow", "snakemake.log", *command],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def written(folder):
    """Return which file each run's trace is: another after it was trained again."""
    root = folder / "results/test/tiny/runs"
    return {str(path.relative_to(root).parent): path.stat().st_ino for path in root.glob("*/*/trace.parquet")}


def test_runs_that_are_trained_together_end_with_the_same_bits(built, built_together):
    runs, (folder, _) = built / "results/test/tiny/runs", built_together
    models = sorted(runs.glob("*/*/model.safetensors"))
    assert len(models) == 4
    for model in models:
        same = folder / "results/test/tiny/runs" / model.relative_to(runs)
        assert same.read_bytes() == model.read_bytes()


def test_a_line_tells_of_every_run_and_step(built_together):
    _, said = built_together
    assert re.search(r"^\[ *\d+/\d+ +0:\d\d\] training tiny private seed 1$", said, re.MULTILINE)
    assert all(text in said for text in ("accounting tiny plain seed 0", "figures of tiny", "the report"))
    assert "rule" not in said


def test_an_edit_of_a_table_trains_nothing_together(together):
    paper = changed(("tables", "table1", "rows", 0, "baseline", "accuracy"), 0.95)
    assert planned(*write_config(together, paper, TOGETHER), cwd=together) == {"tables_tiny": 1, "report": 1}


def test_what_is_stored_meanwhile_packs_nothing_anew(together):
    config = write_config(together, preset=TOGETHER)
    index = together / "results/reference/runs/index.csv"
    index.parent.mkdir(parents=True)
    columns = "paper,run,identity,model,scheme,examples,core_seconds"
    index.write_text(f"{columns}\ntiny,private,0,cnn,client_dp,1,1000\n")
    assert planned(*config, cwd=together) == {}
    (together / "results/test/plan/index.csv").unlink()
    assert kinds(planned(*config, cwd=together))["train"] == 4


def test_one_more_seed_trains_that_seed_alone(together):
    config = write_config(together, preset=TOGETHER | {"seeds": 3})
    jobs = {"partition_2": 1, "train_tiny_seed2_0": 1, "account_tiny_seed2_0": 1}
    assert planned(*config, cwd=together) == jobs | RENDER


def test_an_edit_of_one_run_trains_that_run_alone_and_where_it_fails_the_others_stay(together):
    before = written(together)
    config = write_config(together, changed(("runs", "private", "scheme", "clip_l2"), 0.6), TOGETHER)
    with FileLock(together / "results/test/tiny/runs/private/seed0/resume/lock"):
        said = followed("--cores", "1", "results/test/tiny/runs.parquet", *config, cwd=together)
    assert "failed: train_tiny_seed0_0" in said and "another process" in said
    assert "training: failed: tiny private seed 0" in said
    snakemake("--cores", "1", "results/test/tiny/runs.parquet", *config, cwd=together)
    after = written(together)
    assert {run for run in before if before[run] != after[run]} == {"private/seed0", "private/seed1"}


@pytest.mark.parametrize("preset", [TOGETHER, None], ids=["together", "alone"])
def test_what_is_set_for_train_reaches_every_training_and_nothing_else(preset, tmp_path):
    given = ("--set-resources", "train:mem_mb=1234", "partition:mem_mb=77", "--set-threads", "train=2")
    said = snakemake(
        "--dry-run", "--cores", "4", *given, *write_config(tmp_path, preset=preset), cwd=tmp_path
    )
    jobs = re.findall(r"^ *rule (\w+):\n(.*?)(?:\n\n|\n\[)", said, re.DOTALL | re.MULTILINE)
    asked = {
        (name.partition("_")[0], *re.findall(r"mem_mb=(\d+)|threads: (\d)", text)) for name, text in jobs
    }
    assert ("train", ("", "2"), ("1234", "")) in asked
    assert {one[0] for one in asked if ("1234", "") in one or ("", "2") in one} == {"train"}
    assert len([name for name, _ in jobs if name.startswith("train")]) == (2 if preset else 4)
