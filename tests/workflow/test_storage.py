"""The workflow through a storage plugin, every job in an empty folder: killed on the way, the same tables."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from support import small
from support.background import saved_rows, started, succeeded, wait
from support.once import once
from support.tiny_paper import write_preset
from support.workflow import ROOT

from fedpriv.cli import app
from fedpriv.config.plan import load_preset
from fedpriv.trace import MEASURED

ROUNDS, LIMIT = 300, 300  # some seconds of training, so that it can be killed; seconds: then it is stuck
RUN = "results/small/small/runs/private/seed0"
TABLE = "results/small/small/tables/table1"
# Starting a job takes seconds. What is made by one of these is read by another of them.
GROUPS = ("arrays=data", "partition=data", "account=account", "audit=account", "collect=render")


def missing():
    """Return what this machine lacks: the plugin, and the programs that it and Snakemake call."""
    plugin = "snakemake_storage_plugin_fs"
    lacks = [] if importlib.util.find_spec(plugin) else [plugin.replace("_", "-")]
    return lacks + [program for program in ("rsync", "git", "setpriv") if shutil.which(program) is None]


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"missing {', '.join(missing())}")


class Built(NamedTuple):
    """One table as built in a folder, and through a storage where its training was killed on the way."""

    alone: Path
    bucket: Path
    started: Path  # the folder in which Snakemake was started
    nodes: Path  # a folder for every job
    saved: list[dict]  # rows of the trace in the state that the killed training left


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the table built in both ways."""
    folder = once(tmp_path_factory, "storage", build)
    saved = json.loads((folder / "saved.json").read_text())
    return Built(*(folder / name for name in ("alone", "bucket", "apart", "nodes")), saved)


def build(folder):
    """Build the table in both ways, at the same time; kill the training of the one that goes through it."""
    bucket, nodes, resume = (folder / name for name in ("bucket", "nodes", "resume"))
    nodes.mkdir()
    through = (
        *("--executor", "elsewhere", "--jobs", "2", "--retries", "1", "--seconds-between-status-checks", "1"),
        *("--default-storage-provider", "fs", "--default-storage-prefix", str(bucket), "--groups", *GROUPS),
        *("--precommand", f"export FEDPRIV_RESUME={resume}"),
    )
    with snakemake(lay(folder / "apart"), *through, ELSEWHERE=str(nodes)) as apart:
        log, state = folder / "apart.log", resume / RUN / "resume/state.safetensors"
        wait(lambda: state.exists() or apart.poll() is not None, log, LIMIT)
        (train,) = nodes.glob("train-*.pid")
        os.killpg(int(train.read_text()), signal.SIGKILL)
        saved = saved_rows(state)
        build_alone(lay(folder / "alone"))
        succeeded(apart, log, LIMIT)
    (folder / "saved.json").write_text(json.dumps(saved))


def build_alone(folder):
    """Build the table step by step in `folder`, without Snakemake."""
    with contextlib.chdir(folder):
        (dealt,) = load_preset(Path("config/small.yaml")).partitions()
        for words in (
            *("prepare digits", f"partition 0 {dealt}", "train small private/0"),
            *("account small private/0", "collect small", "tables small"),
        ):
            step, *others = words.split()
            assert app.main(["step", step, "config/small.yaml", *others]) == 0


def lay(folder):
    """Write into `folder` what a clone of the repository has, as far as this preset needs it."""
    shutil.copytree(ROOT / "workflow", folder / "workflow")
    shutil.copy(ROOT / "Snakefile", folder)
    private = small.PAPER["runs"]["private"] | {"rounds": ROUNDS, "evaluate_every": ROUNDS // 2}
    speed = small.PRESET["speed"] | {"checkpoint_every": 10}
    preset = small.PRESET | {"seeds": 1, "speed": speed}
    write_preset(folder, preset, small.PAPER | {"runs": {"private": private}})
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    return folder


def snakemake(folder, *arguments, **environment):
    """Build the table in `folder`, in a process that does not outlive the block."""
    show = ("--config", 'show=["small/table1"]')
    command = (sys.executable, "-m", "snakemake", "--configfile", "config/small.yaml", *arguments, *show)
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests/support/plugins")))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | environment
    return started(command, folder.with_suffix(".log"), cwd=folder, env=environment)


def trace(folder):
    return pd.read_parquet(folder / RUN / "trace.parquet")


def test_the_table_is_that_of_a_local_run_byte_for_byte(built):
    files = [f"{TABLE}{end}" for end in (".csv", ".json", ".md", ".tex", "_seeds.csv")]
    assert all((built.bucket / file).read_bytes() == (built.alone / file).read_bytes() for file in files)


def test_so_are_the_rounds_but_for_the_time_they_took(built):
    here, there = (trace(folder).drop(columns=list(MEASURED)) for folder in (built.alone, built.bucket))
    pd.testing.assert_frame_equal(here, there, check_exact=True)


def test_a_training_that_was_killed_goes_on_in_another_folder(built):
    assert len(list(built.nodes.glob("train-*.pid"))) == 2
    seconds = trace(built.bucket)["seconds"].tolist()
    assert 0 < len(built.saved) < len(seconds) == ROUNDS
    assert seconds[: len(built.saved)] == [row["seconds"] for row in built.saved]


def test_nothing_is_left_where_snakemake_was_started(built):
    assert not (built.started / "results").exists() and not (built.started / "resources").exists()
    assert (built.bucket / "resources/digits.npz").exists()


def test_what_is_in_the_storage_is_not_built_again(built):
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", str(built.bucket))
    with snakemake(built.started, "--dry-run", *storage) as process:
        process.wait()
    assert "Nothing to be done" in built.started.with_suffix(".log").read_text()
