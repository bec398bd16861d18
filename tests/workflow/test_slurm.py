"""The workflow through a real one-node Slurm: packed, killed in the middle, resumed, the same tables."""

import os
import re
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
import yaml
from support import small
from support.background import saved_rows, started, succeeded, wait
from support.slurm_node import TOGETHER, Job, asked, jobs, missing, one_node

ROOT = Path(__file__).parents[2]
# Of the demo's part of this paper the setting whose runs are in every kind of table.
PAPER = "bdp2019"
RUNS = [f"{PAPER}/iid_n100_{run}" for run in ("none", "dp", "joint_*")]
TABLES = [f"tables/table{number}{kind}" for number in (2, 4) for kind in ("", "_epsilons")]
# What differs on a node that nobody else uses and that keeps no accounts.
HERE = (
    "--slurm-no-account",
    "--slurm-status-command=squeue",
    "--slurm-init-seconds-before-status-checks=1",
    "--latency-wait=5",
)
LIMIT = 900  # seconds: longer than on any machine that is not stuck

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"missing {', '.join(missing())}: see tests/slurm/install.sh"),
]


class Built(NamedTuple):
    """The demo's part as built without Slurm and through it, where a training was killed on the way."""

    alone: Path
    through: Path
    jobs: list[Job]  # everything that was submitted
    killed: str  # the id of the submission that was cancelled
    run: str  # that was being trained in it
    saved: list[dict]  # rows of the trace in the state that the training left


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the same on this machine and through a Slurm on it, at the same time; kill a training there."""
    folder = tmp_path_factory.mktemp("slurm")
    with ExitStack() as stack:
        environment = stack.enter_context(one_node(made(folder / "node")))
        alone = stack.enter_context(demo(folder / "alone", os.environ, "--cores", "1"))
        # None of these runs is so long that it would ask for a GPU by itself.
        slurm = ("--workflow-profile", "slurm", "--set-resources", "train:gpu=1", *HERE)
        through = stack.enter_context(demo(folder / "through", environment, *slurm))
        states = partial(results(folder / "through").glob, "runs/*/seed0/resume/state.safetensors")
        wait(lambda: [*states()] or through.poll() is not None, f"{folder}/through.log", LIMIT)
        (state,) = states()
        saved = saved_rows(state)
        (running,) = jobs(environment, "--states=RUNNING")
        asked("scancel", running.id, env=environment)
        for process, name in ((through, "through"), (alone, "alone")):
            succeeded(process, folder / f"{name}.log", LIMIT)
        submitted = jobs(environment, "--states=all")
    places = results(folder / "alone"), results(folder / "through")
    return Built(*places, submitted, running.id, state.parts[-4], saved)


def made(folder):
    folder.mkdir()
    return folder


def results(folder):
    return folder / "results/demo" / PAPER


def seconds(run):
    """Return how long each round of a run took: no two trainings take the same time."""
    return pd.read_parquet(run / "trace.parquet")["seconds"].tolist()


def demo(folder, environment, *arguments):
    """Build the demo's part of the paper in `folder`, in a process that does not outlive the block."""
    demo = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    patches = {glob: patch for glob, patch in demo["patches"].items() if glob.startswith(f"{PAPER}/")}
    (folder / "config").mkdir(parents=True)
    (folder / "config/papers").symlink_to(ROOT / "config/papers")
    preset = folder / "config/demo.yaml"
    own = {"papers": [PAPER], "only": RUNS, "patches": patches}
    preset.write_text(yaml.safe_dump(demo | own))
    files = [f"results/demo/{PAPER}/{file}.md" for file in (*TABLES, "claims")]
    return snakemake(folder, preset, files, environment, *arguments)


def snakemake(folder, preset, files, environment, *arguments):
    """Build files in `folder`, in a process that does not outlive the block."""
    command = (
        *(*TOGETHER, sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile"),
        *("--directory", folder, "--configfile", preset, *arguments, "--", *files),
    )
    environment = environment | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return started(command, folder.with_suffix(".log"), cwd=ROOT, env=environment)


def packed(built, rule):
    """Return the submissions in which jobs of this rule were packed, the first submitted first."""
    return [job for job in built.jobs if job.comment.startswith(f"rule_{rule}_")]


def test_the_tables_are_those_of_a_local_run(built):
    """Byte for byte, but for the note that says on what and for how many minutes runs were computed."""
    note = re.compile(rb"Computed on .+ minutes of training")
    files = [*built.alone.glob("tables/*"), *built.alone.glob("claims.*")]
    assert {file.suffix for file in files} == {".csv", ".json", ".md", ".tex"}
    for file in files:
        same = built.through / file.relative_to(built.alone)
        assert note.sub(b"", same.read_bytes()) == note.sub(b"", file.read_bytes()), same


def test_every_kind_of_table_has_a_run_that_was_trained(built):
    for table in TABLES:
        numbers = pd.read_csv(built.through / f"{table}.csv")
        assert numbers.loc[numbers["run"].notna(), "value"].notna().any(), table


def test_a_killed_training_goes_on_from_the_round_it_had_saved(built):
    again = seconds(built.through / f"runs/{built.run}/seed0")
    assert 0 < len(built.saved) < len(again)
    assert again[: len(built.saved)] == [row["seconds"] for row in built.saved]


def test_many_runs_share_a_submission_that_asks_for_one_gpu(built):
    first, again = packed(built, "train")
    assert len(list(built.through.glob("runs/*"))) == 5
    assert first.gpus == again.gpus == "gres:gpu:1"
    assert all(job.gpus == "N/A" for job in built.jobs if job not in (first, again))


def test_a_retry_asks_for_more_memory_or_for_more_minutes_but_not_for_both(built):
    """Which of them is a race: a cancelled job is warned, and killed two seconds later."""
    first, again = packed(built, "train")
    assert (first.id, first.state, again.state) == (built.killed, "CANCELLED", "COMPLETED")
    assert {mebibytes(again) / mebibytes(first), minutes(again) / minutes(first)} == {1, 2}


def test_a_training_that_slurm_warns_saves_its_round_and_goes_on_from_it(tmp_path):
    """By the signal that the profile asks for, sent by hand: a limit would have to be minutes long."""
    folder = small.lay(tmp_path / "small")
    many = {"private": small.PAPER["runs"]["private"] | {"rounds": 5_000, "evaluate_every": 1_000}}
    (folder / "config/papers/small/paper.yaml").write_text(yaml.safe_dump(small.PAPER | {"runs": many}))
    preset = folder / "config/small.yaml"
    preset.write_text(yaml.safe_dump(small.PRESET | {"speed": {"device": "cpu", "checkpoint_every": 10_000}}))
    run = "results/small/small/runs/private/seed0"
    told = folder / "logs/small/small/train/private/seed0.log"
    state, log = folder / run / "resume/state.safetensors", folder.with_suffix(".log")
    arguments = ("--workflow-profile", "slurm", "--verbose", *HERE)
    with one_node(made(tmp_path / "node")) as environment:
        with snakemake(folder, preset, [f"{run}/trace.parquet"], environment, *arguments) as through:
            wait(lambda: told.exists() and ": round " in told.read_text(), log, LIMIT)
            (running,) = jobs(environment, "--states=RUNNING")
            asked("scancel", "--signal=TERM", running.id, env=environment)
            wait(state.exists, log)
            saved = [row["seconds"] for row in saved_rows(state)]
            succeeded(through, log, LIMIT)
        first, again = (job for job in jobs(environment, "--states=all") if "rule_train" in job.comment)
    assert (first.state, again.state) == ("FAILED", "COMPLETED")
    assert (mebibytes(again), minutes(again)) == (mebibytes(first), 2 * minutes(first))
    assert 0 < len(saved) < 5_000 and seconds(folder / run)[: len(saved)] == saved
    assert "non-zero exit status 143" in log.read_text()
    submitted = [line for line in log.read_text().splitlines() if "sbatch call" in line]
    assert ["--signal=TERM@60" in line for line in submitted] == ["rule_train" in line for line in submitted]


def mebibytes(job):
    return int(job.memory.removesuffix("M"))


def minutes(job):
    return int(job.limit.removesuffix(":00"))
