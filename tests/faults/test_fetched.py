"""Raw files whose fetching is broken off, short of room, done twice at once, or undone by a flipped bit."""

import gzip
import hashlib
import random
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import SIGKILL

import numpy as np
import pytest
from support.child import PROCESSES, Child, live
from support.fault import at_call, at_rename, die, fill, held

from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile

CONTENT = np.random.default_rng(0).bytes(300_000)
PACKED = gzip.compress(CONTENT, mtime=0)
RIGHT = hashlib.sha256(CONTENT).hexdigest()
RAW = Path("raw")


def fetch(place: str, sha256: str | None = None) -> None:
    """Fetch the toy into the current folder, from a mirror."""
    file = RawFile("toy.gz", sha256)
    toys = Dataset("toys", (file,), (), decode=lambda raw: None, licence="", citation="")
    source.fetch_file(toys, file, RAW, (place,), backoff=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a mirror in it."""
    (tmp_path / "mirror/toys").mkdir(parents=True)
    (tmp_path / "mirror/toys/toy.gz").write_bytes(PACKED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path


@pytest.fixture
def asked():
    """The files that were asked for over HTTP."""
    return []


@pytest.fixture
def http(folder, asked):
    """The mirror, as a URL."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder / "mirror")) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def alone() -> bool:
    """Whether the right file is there, its hash beside it, and nothing else but what is hidden."""
    names = sorted(path.name for path in RAW.glob("[!.]*"))
    return (RAW / "toy.gz").read_bytes() == PACKED and names == ["toy.gz", "toy.gz.sha256"]


def test_a_fetch_that_is_killed_before_it_has_recorded_the_hash_is_done_again(folder, http):
    act = partial(fetch, http)
    fault = partial(at_rename, "toy.gz.sha256", partial(die, SIGKILL))
    assert live(folder, act, fault).code == -SIGKILL
    assert live(folder, act).code == 0
    assert alone()


def test_a_fetch_onto_a_full_disk_says_so_and_works_when_there_is_room(folder, http):
    act = partial(fetch, http)
    code, line = live(folder, act, partial(fill, 99_999))
    assert code == 1
    assert "toy.gz" in line and "File too large" in line
    assert not (RAW / "toy.gz").exists()
    assert live(folder, act).code == 0
    assert alone()


def test_two_fetches_at_once_ask_once(folder, http, asked):
    arrived, waits, go = PROCESSES.Event(), PROCESSES.Event(), PROCESSES.Event()
    first = Child(folder, partial(fetch, http), partial(at_rename, "toy.gz", partial(held, arrived, go)))
    arrived.wait()
    second = Child(folder, partial(fetch, http), partial(at_call, "filelock", "FileLock", 1, waits.set))
    waits.wait()
    go.set()
    assert [first.end().code, second.end().code] == [0, 0]
    assert alone() and asked == ["/toys/toy.gz"]


def test_a_flipped_bit_in_a_raw_file_is_mended_wherever_it_is(folder):
    fetch(str(folder / "mirror"), RIGHT)
    chance = random.Random(0)
    for place in (0, *(chance.randrange(len(PACKED)) for _ in range(5)), len(PACKED) - 1):
        broken = bytearray(PACKED)
        broken[place] ^= 1 << place % 8
        (RAW / "toy.gz").write_bytes(broken)
        fetch(str(folder / "mirror"), RIGHT)
        assert source.decompressed(RAW / "toy.gz") == CONTENT, place
