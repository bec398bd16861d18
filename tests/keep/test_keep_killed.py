"""Whatever befalls `fedpriv keep`, the archive is the old one or the new one, and nothing kept is lost."""

import shutil
from functools import partial
from signal import SIGKILL

import pytest
from support.child import PROCESSES, Child, live
from support.fault import at_call, at_removal, at_rename, die, die_writing, held

from fedpriv.cli import app
from fedpriv.keep.archive import read

RUNS = "results/tiny/tiny/runs/dp"
ARCHIVE = "results/reference/tiny/tiny/kept.parquet"
KEEP = partial(app.main, ["keep", "results/tiny"])
KILL = partial(die, SIGKILL)
MOMENTS = {
    "before anything is read": partial(at_call, "fedpriv.keep.add", "load_preset", 1, KILL),
    "after one run was read": partial(at_call, "fedpriv.keep.add", "of_run", 2, KILL),
    "while it has the lock": partial(at_call, "fedpriv.keep.add", "read", 1, KILL),
    "before it writes": partial(at_call, "fedpriv.keep.add", "write", 1, KILL),
    "half of it written": partial(at_rename, "kept.parquet", KILL, torn=True),
    "written and not yet named": partial(at_rename, "kept.parquet", KILL),
    "named and not yet on the disk": partial(at_call, "fedpriv.files.atomic", "flush", 2, KILL),
    "before it gives the lock back": partial(at_removal, ".kept.parquet.lock", KILL),
    "by the kernel, at its first bytes": partial(die_writing, 10),
    "by the kernel, in the midst of it": partial(die_writing, 5000),
}


@pytest.fixture
def one_kept(here):
    """The working folder, in which one of two runs is kept."""
    aside = shutil.move(here / RUNS / "seed1", here / "seed1")
    assert KEEP() == 0
    shutil.move(aside, here / RUNS / "seed1")
    return here


def seeds(here):
    return {one.seed for one in read(here / ARCHIVE)}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("before", ["here", "one_kept"])
def test_a_killed_keep_loses_nothing_and_the_next_one_keeps_all(moment, before, request):
    here = request.getfixturevalue(before)
    old = seeds(here)
    ended = live(here, KEEP, MOMENTS[moment])
    assert ended.code and ended.code < 0
    assert seeds(here) in (old, {0, 1})
    assert live(here, KEEP).code == 0
    assert seeds(here) == {0, 1}
    assert [path.name for path in (here / ARCHIVE).parent.iterdir()] == ["kept.parquet"]


def test_of_two_at_once_one_waits_and_the_archive_has_the_runs_of_both(here):
    """The first is held when it has read the archive and is about to replace it."""
    shutil.copytree(here / "results/tiny", here / "other/tiny")
    shutil.rmtree(here / RUNS / "seed1")
    shutil.rmtree(here / "other/tiny/tiny/runs/dp/seed0")
    arrived, go, waits = PROCESSES.Event(), PROCESSES.Event(), PROCESSES.Event()
    first = Child(here, KEEP, partial(at_rename, "kept.parquet", partial(held, arrived, go)))
    arrived.wait()
    late = partial(at_call, "fedpriv.files.atomic", "FileLock", 1, waits.set)
    second = Child(here, partial(app.main, ["keep", "other/tiny"]), late)
    waits.wait()
    go.set()
    assert (first.end().code, second.end().code) == (0, 0)
    assert seeds(here) == {0, 1}
