"""Whatever befalls `fedpriv keep`, a run is stored or it is not, and nothing stored is lost."""

import shutil
from functools import partial

from support.child import PROCESSES, Child, live
from support.fault import at_call, held

from fedpriv.cli import app
from fedpriv.store import rundir
from fedpriv.store.summary import stored_files

RUNS = "results/tiny/tiny/runs/dp"
STORE = "results/reference/runs"
KEEP = partial(app.main, ["keep", "results/tiny"])


def seeds(here):
    return {rundir.read_stored(path).summary["seed"] for path in stored_files(here / "results/reference")}


def test_two_at_once_store_the_runs_of_both(here):
    """The first is held when it is about to write the index; the second needs not wait for it."""
    shutil.copytree(here / "results/tiny", here / "other/tiny")
    shutil.rmtree(here / RUNS / "seed1")
    shutil.rmtree(here / "other/tiny/tiny/runs/dp/seed0")
    arrived, go = PROCESSES.Event(), PROCESSES.Event()
    first = Child(
        here, KEEP, partial(at_call, "fedpriv.workflow.archive", "write_index", 1, partial(held, arrived, go))
    )
    arrived.wait()
    assert live(here, partial(app.main, ["keep", "other/tiny"])).code == 0
    go.set()
    assert first.end().code == 0
    assert seeds(here) == {0, 1}
    assert len((here / STORE / "index.csv").read_text().splitlines()) == 3
