"""Several short runs in one job: the same bits, and no more is done again than what was changed."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.workflow import RENDER, ROOT, changed, kinds, planned, snakemake, write_config

from fedpriv.train.checkpoint import lock_run

TOGETHER = {"speed": {"device": "cpu", "threads": 1, "runs_per_job": 8}}


@pytest.fixture
def together(copy):
    """Return the built folder, whose runs were trained one by one and from now on are packed."""
    shutil.rmtree(copy / ".snakemake")
    for kept in copy.glob("results/test/tiny/runs/*/*/resume/*/*"):  # files that were one are one again
        kept.unlink()
        kept.hardlink_to(kept.parents[2] / kept.name)
    assert planned(*write_config(copy, preset=TOGETHER), cwd=copy) == {}
    return copy


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


def test_an_edit_of_a_table_trains_nothing_together(together):
    paper = changed(("tables", "table1", "rows", 0, "baseline", "value"), 0.95)
    assert planned(*write_config(together, paper, TOGETHER), cwd=together) == {"tables_tiny": 1, "report": 1}


def test_one_more_seed_trains_that_seed_alone(together):
    config = write_config(together, preset=TOGETHER | {"seeds": 3})
    jobs = {"partition_2": 1, "train_tiny_seed2_0": 1, "account_tiny_seed2_0": 1}
    assert planned(*config, cwd=together) == jobs | RENDER


def test_runs_that_are_trained_together_end_with_the_same_bits_and_where_one_fails_the_others_stay(together):
    runs, config = together / "results/test/tiny/runs", write_config(together, preset=TOGETHER)
    models = {path.relative_to(runs): path.read_bytes() for path in runs.glob("*/*/model.safetensors")}
    before = {path: path.stat().st_ino for path in runs.glob("plain/*/trace.parquet")}
    for seed in (0, 1):
        shutil.rmtree(runs / f"private/seed{seed}")
    (runs.parent / "runs.parquet").unlink()
    wanted = ("results/test/tiny/runs.parquet", *config)
    with lock_run(runs / "private/seed0/resume/state.safetensors"):
        said = followed("--cores", "1", *wanted, cwd=together)
    assert "failed: train_tiny_seed0_0" in said and "another process" in said
    assert "training: failed: tiny private seed 0" in said and "rule" not in said
    said = followed("--cores", "2", *wanted, cwd=together)
    assert re.search(r"^\[ *\d+/\d+ +0:\d\d\] training tiny: run 1 of 2, \w+ seed \d$", said, re.MULTILINE)
    assert re.search(r"accounting tiny: run 1 of 2, \w+ seed \d", said)
    assert {path: path.stat().st_ino for path in before} == before
    found = {path.relative_to(runs): path.read_bytes() for path in runs.glob("*/*/model.safetensors")}
    assert len(found) == 4 and found == models
    # What is stored meanwhile packs nothing anew.
    before, index = planned(*config, cwd=together), together / "results/reference/runs/index.csv"
    index.parent.mkdir(parents=True)
    columns = "paper,run,identity,model,scheme,examples,core_seconds"
    index.write_text(f"{columns}\ntiny,private,0,cnn,client_dp,1,1000\n")
    assert planned(*config, cwd=together) == before and "train" not in kinds(before)
    (together / "results/test/plan/index.csv").unlink()
    assert kinds(planned(*config, cwd=together))["train"] > 0


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
