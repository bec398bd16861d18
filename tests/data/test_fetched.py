"""Raw files whose fetching is broken off, or done twice at once."""

import gzip
from functools import partial
from pathlib import Path
from signal import SIGKILL

import numpy as np
import pytest
from support.child import PROCESSES, Child, live
from support.fault import at_call, at_rename, die, held

from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile

CONTENT = np.random.default_rng(0).bytes(300_000)
PACKED = gzip.compress(CONTENT, mtime=0)
RAW = Path("raw")


def fetch() -> None:
    """Fetch the toy into the current folder, from the mirror."""
    file = RawFile("toy.gz", None)
    toys = Dataset("toys", (file,), (), decode=lambda raw: None, licence="", citation="")
    source.fetch_file(toys, file, RAW, ("mirror",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a mirror in it."""
    (tmp_path / "mirror/toys").mkdir(parents=True)
    (tmp_path / "mirror/toys/toy.gz").write_bytes(PACKED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def alone() -> bool:
    """Whether the right file is there, its hash beside it, and nothing else but what is hidden."""
    names = sorted(path.name for path in RAW.glob("[!.]*"))
    return (RAW / "toy.gz").read_bytes() == PACKED and names == ["toy.gz", "toy.gz.sha256"]


def test_a_fetch_that_is_killed_before_it_has_recorded_the_hash_is_done_again(folder):
    fault = partial(at_rename, "toy.gz.sha256", partial(die, SIGKILL))
    assert live(folder, fetch, fault).code == -SIGKILL
    assert live(folder, fetch).code == 0
    assert alone()


def test_of_two_fetches_at_once_the_second_waits_and_both_end_well(folder):
    arrived, waits, go = PROCESSES.Event(), PROCESSES.Event(), PROCESSES.Event()
    first = Child(folder, fetch, partial(at_rename, "toy.gz", partial(held, arrived, go)))
    arrived.wait()
    second = Child(folder, fetch, partial(at_call, "filelock", "FileLock", 1, waits.set))
    waits.wait()
    go.set()
    assert [first.end().code, second.end().code] == [0, 0]
    assert alone()
