"""Two processes that want the same folder."""

from functools import partial
from signal import SIGKILL

import pytest
from support.child import PROCESSES, Child, live
from support.fault import at_call, at_rename, die, held
from support.small import ACCOUNT, TRAIN, contents, render, trained_in

from fedpriv.cli import app

# The step, and the file at whose naming the first of two is held.
STEPS = {"account": "ledger.parquet", "collect": "runs.parquet", "render": "table1.csv"}


@pytest.fixture
def gate():
    """Two events: a process has arrived where it is to be held, and it may go on."""
    return PROCESSES.Event(), PROCESSES.Event()


def test_a_second_training_in_a_run_directory_is_refused_and_harms_nothing(folder, undisturbed, gate):
    arrived, go = gate
    train = partial(app.main, TRAIN)
    first = Child(
        folder, train, partial(at_call, "fedpriv.train.loop", "run_round", 4, partial(held, arrived, go))
    )
    arrived.wait()
    code, line = live(folder, train)
    go.set()
    assert code == 2 and line.startswith("fedpriv: out: found another process")
    assert first.end().code == 0
    assert trained_in(folder) == trained_in(undisturbed)


def test_the_lock_of_a_killed_training_does_not_outlive_it(folder, undisturbed):
    train = partial(app.main, TRAIN)
    live(folder, train, partial(at_call, "fedpriv.train.loop", "run_round", 4, partial(die, SIGKILL)))
    assert (folder / "out/resume/lock").exists()
    assert live(folder, train).code == 0
    assert trained_in(folder) == trained_in(undisturbed)


@pytest.mark.parametrize("step", STEPS)
def test_two_that_write_the_same_file_both_end_well(step, accounted, undisturbed, gate):
    act = partial(app.main, ACCOUNT) if step == "account" else render
    arrived, go = gate
    first = Child(accounted, act, partial(at_rename, STEPS[step], partial(held, arrived, go)))
    arrived.wait()
    assert live(accounted, act).code == 0
    go.set()
    assert first.end().code == 0
    where = "out" if step == "account" else "results"
    assert contents(accounted / where) == contents(undisturbed / where)
