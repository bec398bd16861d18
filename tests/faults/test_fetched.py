"""Raw files whose fetching is broken off, short of room, done twice at once, or undone by a flipped bit."""

import gzip
import hashlib
import random
import signal
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import SIGKILL, SIGTERM

import numpy as np
import pytest
from support.child import PROCESSES, Child, live
from support.fault import Fault, at_call, at_rename, die, die_writing, fill, held

from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.errors import BadInput

CONTENT = np.random.default_rng(0).bytes(300_000)
PACKED = gzip.compress(CONTENT, mtime=0)
RIGHT = hashlib.sha256(CONTENT).hexdigest()
RAW = Path("raw")
NEXT = "nothing wrong has the final name; the next start brings the right file"
SAID = "one line says so; with room again the right file comes"
KILLED = [
    Fault("SIGXFSZ", "fetch: by the kernel, in the midst of a download", NEXT, partial(die_writing, 99_999)),
    Fault(
        "SIGTERM",
        "fetch: a download complete and not yet named",
        NEXT,
        partial(at_rename, "toy.gz", partial(die, SIGTERM)),
    ),
    Fault(
        "SIGKILL",
        "fetch: named, its hash not yet recorded",
        NEXT,
        partial(at_rename, "toy.gz.sha256", partial(die, SIGKILL)),
    ),
]
COPYING = Fault(
    "SIGXFSZ",
    "fetch: by the kernel, in the midst of a copy from a folder",
    NEXT,
    partial(die_writing, 99_999),
)
FULL = [
    Fault(
        "disk full (RLIMIT_FSIZE)", "fetch: in the midst of a download", SAID, partial(fill, 99_999), "http"
    ),
    Fault(
        "disk full (RLIMIT_FSIZE)",
        "fetch: in the midst of a copy from a folder",
        SAID,
        partial(fill, 99_999),
        "folder",
    ),
]
TWICE = Fault("two processes", "fetch: of the same file at once", "one fetches, the other waits and finds it")
FLIPPED = Fault(
    "a flipped bit", "in a raw file that is there", "the file is fetched again, or nothing was changed"
)
CUT = Fault("a cut file", "a raw file that is there", "the file is fetched again")
RECORD = Fault("a flipped bit", "in the recorded hash of a raw file", "one line names the record")
FAULTS = [*KILLED, COPYING, *FULL, TWICE, FLIPPED, CUT, RECORD]


def fetch(place: str, sha256: str | None = None) -> None:
    """Fetch the toy into the current folder, from a mirror."""
    file = RawFile("toy.gz", sha256)
    toys = Dataset("toys", (file,), (), decode=lambda raw: None, licence="", citation="")
    source.fetch(toys, file, RAW, (place,), backoff=0)


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


@pytest.mark.parametrize("fault", [*KILLED, COPYING], ids=str)
def test_a_killed_fetch_leaves_nothing_wrong_and_is_done_again(fault, folder, http):
    act = partial(fetch, str(folder / "mirror") if fault is COPYING else http)
    assert live(folder, act, fault.how).code == -getattr(signal, fault.broken)
    target = RAW / "toy.gz"
    assert not target.exists() or target.read_bytes() == PACKED
    assert live(folder, act).code == 0
    assert alone()


@pytest.mark.parametrize("fault", FULL, ids=str)
def test_a_fetch_onto_a_full_disk_says_so_and_works_when_there_is_room(fault, folder, http):
    act = partial(fetch, str(folder / "mirror") if fault.names == "folder" else http)
    code, line = live(folder, act, fault.how)
    assert code == 1
    assert "toy.gz" in line and "File too large" in line
    assert not (RAW / "toy.gz").exists()
    assert live(folder, act).code == 0
    assert alone()


def test_two_fetches_at_once_ask_once(folder, http, asked):
    arrived, waits, go = PROCESSES.Event(), PROCESSES.Event(), PROCESSES.Event()
    first = Child(folder, partial(fetch, http), partial(at_rename, "toy.gz", partial(held, arrived, go)))
    arrived.wait()
    second = Child(
        folder, partial(fetch, http), partial(at_call, "fedpriv.store.files", "FileLock", 1, waits.set)
    )
    waits.wait()
    go.set()
    assert [first.end().code, second.end().code] == [0, 0]
    assert alone() and asked == ["/toys/toy.gz"]


def positions(size, count):
    """Return places to break a file at: its edges, and others all over it."""
    chance = random.Random(size)
    return [*range(12), *range(size - 12, size), *(chance.randrange(size) for _ in range(count))]


def test_a_flipped_bit_in_a_raw_file_is_mended_wherever_it_is(folder):
    fetch(str(folder / "mirror"), RIGHT)
    for place in positions(len(PACKED), 40):
        broken = bytearray(PACKED)
        broken[place] ^= 1 << place % 8
        (RAW / "toy.gz").write_bytes(broken)
        fetch(str(folder / "mirror"), RIGHT)
        assert source.decompressed(RAW / "toy.gz") == CONTENT, place


def test_a_cut_raw_file_is_mended_wherever_it_ends(folder):
    for size in positions(len(PACKED), 20):
        RAW.mkdir(exist_ok=True)
        (RAW / "toy.gz").write_bytes(PACKED[:size])
        fetch(str(folder / "mirror"), RIGHT)
        assert source.decompressed(RAW / "toy.gz") == CONTENT, size


def test_a_flipped_bit_in_a_recorded_hash_is_said_wherever_it_is(folder):
    fetch(str(folder / "mirror"))
    record = RAW / "toy.gz.sha256"
    whole = record.read_bytes()
    for place in range(64):
        broken = bytearray(whole)
        broken[place] ^= 1 << place % 8
        record.write_bytes(broken)
        with pytest.raises((BadInput, source.SourceError), match=r"toy\.gz\.sha256"):
            fetch(str(folder / "mirror"))
        assert (RAW / "toy.gz").read_bytes() == PACKED
