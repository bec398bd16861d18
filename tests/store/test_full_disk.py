"""No room for the next byte, at every file that is written."""

import shutil
from functools import partial
from pathlib import Path

import pytest
from support.child import live
from support.fault import Fault, at_call, at_rename, fill
from support.small import ACCOUNT, TRAIN, contents, render, trained_in

from fedpriv.cli import app


def full(when: str, how: partial, names: str) -> Fault:
    return Fault("disk full", when, how, names)


after = partial(at_rename, blow=fill)
TRAINING = [
    full("train: before it", partial(fill, 100_000), "out: no room for what a run leaves"),
    full(
        "train: at the partition",
        partial(at_call, "fedpriv.train.inputs", "write_partition", 1, fill),
        "seed0.npz",
    ),
    full("train: at the first state", partial(after, "seed0.npz"), "state.safetensors"),
    full(
        "train: at the trace", partial(at_call, "fedpriv.train.loop", "run_round", 5, fill), "trace.parquet"
    ),
    full("train: at the summary", partial(after, "model.safetensors"), "summary.json"),
]
ACCOUNTING = [full("account: at the ledger", partial(fill), "ledger.parquet")]
RENDERING = [
    full("collect: at the runs", partial(fill), "runs.parquet"),
    full("render: between the files of a table", partial(after, "table1.csv"), "table1"),
    full("render: at the verdicts", partial(after, "epsilons.md"), "claims"),
]


def complains(fault, folder, act):
    """Do `act` with the fault: it must end in one line that names the file, and leave no half file."""
    code, line = live(folder, act, fault.how)
    assert code == 1
    assert fault.names in line and "File too large" in line
    assert not list(folder.rglob(".*.*"))


@pytest.mark.parametrize("fault", TRAINING, ids=str)
def test_training_on_a_full_disk_says_so_and_goes_on_when_there_is_room(fault, folder, undisturbed):
    complains(fault, folder, partial(app.main, TRAIN))
    known = trained_in(undisturbed)
    assert trained_in(folder).items() < known.items()
    assert app.main(TRAIN) == 0
    assert trained_in(folder) == known


def test_a_job_of_the_workflow_looks_for_room_before_it_trains(folder):
    step = ("step", "train", "config/small.yaml", "small", "private/0")
    code, line = live(folder, partial(app.main, step), partial(fill, 100_000))  # a state would fit
    assert code == 1 and "seed0: no room for what a run leaves" in line and "not trained: make room" in line
    assert not list((folder / "results").rglob("*.*"))


@pytest.mark.parametrize("fault", ACCOUNTING, ids=str)
def test_accounting_on_a_full_disk_says_so_and_leaves_the_old_ledger(fault, accounted, undisturbed):
    complains(fault, accounted, partial(app.main, ACCOUNT))
    assert contents(accounted / "out") == contents(undisturbed / "out")


def test_accounting_as_the_workflow_does_it_on_a_full_disk_names_the_file_and_says_what_to_do(trained):
    run = Path("results/small/small/runs/private/seed0")
    shutil.copytree("out", run)
    step = ("step", "account", "config/small.yaml", "small", "private/0")
    code, line = live(trained, partial(app.main, step), partial(fill, 100))
    assert code == 1 and f"{run}/ledger.parquet" in line and "File too large" in line
    assert line.endswith("make room; the same command starts anew")


@pytest.mark.parametrize("fault", RENDERING, ids=str)
def test_rendering_on_a_full_disk_says_so_and_leaves_whole_files(fault, accounted, undisturbed):
    complains(fault, accounted, render)
    known = contents(undisturbed / "results")
    assert contents(accounted / "results").items() < known.items()
    render()
    assert contents(accounted / "results") == known
