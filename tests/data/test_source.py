import gzip
import hashlib
import re
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.data.source import SourceError
from fedpriv.errors import BadInput

CONTENT = np.random.default_rng(0).bytes(300_000)
PACKED = gzip.compress(CONTENT, mtime=0)
RIGHT = hashlib.sha256(CONTENT).hexdigest()
FILE = RawFile("toy.gz", RIGHT)
PATH = "/toys/toy.gz"


@pytest.fixture
def server(server):
    """The mirror, with the file."""
    server.files[PATH] = PACKED
    return server


def fetch(folder: Path, *mirrors: str, public: tuple[str, ...] = (), attempts: int = 3) -> Path:
    toys = Dataset("toys", (FILE,), public, decode=lambda raw: None, licence="", citation="")
    return source.fetch(toys, FILE, folder, mirrors, attempts=attempts, backoff=0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_of_a_mirror_arrives_whole_and_alone(server, tmp_path):
    path = fetch(tmp_path / "new" / "raw", server.url)
    assert path.read_bytes() == PACKED
    assert names(tmp_path / "new" / "raw") == ["toy.gz"]


def test_a_public_source_carries_its_own_base_and_is_asked_last(server, tmp_path):
    server.files["/pub/toy.gz"] = PACKED
    del server.files[PATH]
    fetch(tmp_path, server.url, public=(f"{server.url}/pub/",))
    assert server.asked == [(PATH, None), ("/pub/toy.gz", None)]


def test_a_mirror_without_the_file_is_asked_once_and_the_next_one_serves(server, tmp_path):
    path = fetch(tmp_path, f"{server.url}/empty", server.url)
    assert path.read_bytes() == PACKED
    assert server.asked == [("/empty" + PATH, None), (PATH, None)]


def test_a_server_error_is_tried_again(server, tmp_path):
    server.faults[PATH] = ["500", "500"]
    assert fetch(tmp_path, server.url).read_bytes() == PACKED
    assert len(server.asked) == 3


def test_a_cut_download_is_resumed_where_it_stopped(server, tmp_path):
    server.faults[PATH] = ["cut"]
    assert fetch(tmp_path, server.url).read_bytes() == PACKED
    (_, first), (_, second) = server.asked
    assert first is None and 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= len(PACKED) // 2


def test_a_server_that_cannot_resume_sends_everything_again(server, tmp_path):
    server.faults[PATH], server.resumes = ["cut"], False
    assert fetch(tmp_path, server.url).read_bytes() == PACKED
    assert len(server.asked) == 2


def test_what_a_cut_download_brought_waits_for_the_next_call_under_another_name(server, tmp_path):
    server.faults[PATH] = ["cut"]
    with pytest.raises(SourceError, match="IncompleteRead"):
        fetch(tmp_path, server.url, attempts=1)
    (part,) = tmp_path.iterdir()
    beginning = part.read_bytes()
    assert part.suffix == ".part" and len(beginning) > 100_000 and PACKED.startswith(beginning)

    fetch(tmp_path, server.url)
    assert server.asked[-1] == (PATH, f"bytes={len(beginning)}-")
    assert names(tmp_path) == ["toy.gz"]


def test_a_part_is_never_completed_from_another_place(server, tmp_path):
    repacked = gzip.compress(CONTENT, compresslevel=1, mtime=1)
    server.files["/other" + PATH] = repacked
    server.faults[PATH] = ["cut"]
    with pytest.raises(SourceError):
        fetch(tmp_path, server.url, attempts=1)
    assert fetch(tmp_path, f"{server.url}/other").read_bytes() == repacked
    assert names(tmp_path) == ["toy.gz"]


@pytest.mark.parametrize("left_over", [b"\x1f\x8b of an older file", PACKED, PACKED + b"more"])
def test_a_part_that_cannot_be_completed_is_dropped_and_loaded_anew(left_over, server, tmp_path):
    server.faults[PATH] = ["cut"]
    with pytest.raises(SourceError):
        fetch(tmp_path, server.url, attempts=1)
    (part,) = tmp_path.iterdir()
    part.write_bytes(left_over)
    assert fetch(tmp_path, server.url).read_bytes() == PACKED


def test_a_wrong_file_names_itself_both_hashes_and_the_way_out_and_leaves_nothing(server, tmp_path):
    server.files[PATH] = gzip.compress(b"something else")
    with pytest.raises(SourceError) as error:
        fetch(tmp_path, server.url)
    message = str(error.value)
    assert "toys/toy.gz" in message and "FEDPRIV_MIRROR" in message and "\n" not in message
    assert RIGHT in message and hashlib.sha256(b"something else").hexdigest() in message
    assert names(tmp_path) == []
    assert len(server.asked) == 1


ALSO = FILE._replace(also=("toys/toy", "Theirs/raw/toy"))


@pytest.mark.parametrize("name", ["toys/toy.gz", *ALSO.also])
@pytest.mark.parametrize("body", [PACKED, CONTENT])
def test_a_folder_may_keep_the_file_where_others_do_and_packed_or_not(name, body, tmp_path):
    toys = Dataset("toys", (ALSO,), (), decode=lambda raw: None, licence="", citation="")
    place = tmp_path / "mirror" / name
    place.parent.mkdir(parents=True)
    place.write_bytes(body)
    path = source.fetch(toys, ALSO, tmp_path / "raw", [str(tmp_path / "mirror")])
    assert path.name == "toy.gz" and source.decompressed(path) == CONTENT


def test_of_several_in_one_folder_a_wrong_one_does_not_stop_the_next(tmp_path):
    toys = Dataset("toys", (ALSO,), (), decode=lambda raw: None, licence="", citation="")
    for name, body in ((ALSO.also[0], b"wrong"), (ALSO.also[1], CONTENT)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(body)
    assert source.decompressed(source.fetch(toys, ALSO, tmp_path / "raw", [str(tmp_path)])) == CONTENT


def test_a_folder_that_has_it_nowhere_says_where_it_was_looked_for(tmp_path):
    toys = Dataset("toys", (ALSO,), (), decode=lambda raw: None, licence="", citation="")
    (tmp_path / "toys/toy").mkdir(parents=True)  # a folder of that name is no file
    with pytest.raises(
        SourceError, match=r"toys/toy\.gz: No such file .* as toys/toy\.gz or toys/toy or Theirs/raw/"
    ):
        source.fetch(toys, ALSO, tmp_path / "raw", [str(tmp_path)])


def test_a_damaged_gzip_is_refused(server, tmp_path):
    server.files[PATH] = PACKED[:-20]
    with pytest.raises(SourceError, match="damaged gzip"):
        fetch(tmp_path, server.url)
    assert names(tmp_path) == []


def test_a_wrong_file_of_one_mirror_does_not_stop_the_next(server, tmp_path, capsys):
    server.files["/bad" + PATH] = gzip.compress(b"something else")
    assert fetch(tmp_path, f"{server.url}/bad", server.url).read_bytes() == PACKED
    assert f"allowed: {RIGHT}" in capsys.readouterr().err


@pytest.mark.parametrize("body", [gzip.compress(CONTENT, compresslevel=1, mtime=7), CONTENT])
def test_any_gzip_of_the_right_contents_serves_and_so_does_an_unpacked_file(body, server, tmp_path):
    server.files[PATH] = body
    assert source.decompressed(fetch(tmp_path, server.url)) == CONTENT


def test_without_a_network_one_line_lists_every_source_and_its_failure(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(SourceError) as error:
        fetch(tmp_path, f"{url}/mirror", public=(f"{url}/public/",))
    message = str(error.value)
    assert f"{url}/mirror/toys/toy.gz: " in message and f"{url}/public/toy.gz: " in message
    assert message.count("Connection refused") == 2 and "`mirrors:`" in message and "\n" not in message
    assert names(tmp_path) == []


def test_a_file_that_is_there_is_checked_and_not_asked_for(server, tmp_path):
    (tmp_path / "toy.gz").write_bytes(PACKED)
    fetch(tmp_path, server.url)
    assert server.asked == []


def test_a_damaged_file_that_is_there_is_replaced(server, tmp_path):
    (tmp_path / "toy.gz").write_bytes(PACKED[:100])
    assert fetch(tmp_path, server.url).read_bytes() == PACKED


def test_a_folder_serves_as_a_mirror_and_is_not_touched(tmp_path):
    mirror = tmp_path / "mirror" / "toys" / "toy.gz"
    mirror.parent.mkdir(parents=True)
    mirror.write_bytes(PACKED)
    mirror.chmod(0o444)
    path = fetch(tmp_path / "raw", str(tmp_path / "mirror"))
    assert path.read_bytes() == mirror.read_bytes() == PACKED
    assert names(tmp_path / "raw") == ["toy.gz"]


def test_a_folder_without_the_file_or_with_a_wrong_one_leaves_it_to_the_next_source(server, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad" / "toys").mkdir(parents=True)
    (tmp_path / "bad" / "toys" / "toy.gz").write_bytes(b"something else")
    path = fetch(tmp_path / "raw", str(tmp_path / "empty"), str(tmp_path / "bad"), server.url)
    assert path.read_bytes() == PACKED
    assert names(tmp_path / "raw") == ["toy.gz"]


def test_a_wrong_file_of_a_folder_leaves_nothing(tmp_path):
    (tmp_path / "bad" / "toys").mkdir(parents=True)
    (tmp_path / "bad" / "toys" / "toy.gz").write_bytes(b"something else")
    with pytest.raises(SourceError, match=RIGHT):
        fetch(tmp_path / "raw", str(tmp_path / "bad"))
    assert names(tmp_path / "raw") == []


@pytest.mark.parametrize("mirror", ["no/such/folder", "ftp://example.org/data"])
def test_a_mirror_that_is_neither_folder_nor_url_is_bad_input(mirror, tmp_path):
    with pytest.raises(BadInput, match=f"mirrors: found {mirror}, allowed: a folder"):
        fetch(tmp_path, mirror)


def test_the_environment_goes_before_the_configured_mirrors(monkeypatch):
    monkeypatch.setenv("FEDPRIV_MIRROR", "/data, http://localhost:8000/m,")
    assert source.mirrors(["https://example.org"]) == [
        "/data",
        "http://localhost:8000/m",
        "https://example.org",
    ]
    monkeypatch.delenv("FEDPRIV_MIRROR")
    assert source.mirrors() == []


def test_progress_is_a_bar_on_a_terminal_and_plain_lines_elsewhere(server, tmp_path, monkeypatch, capsys):
    fetch(tmp_path / "plain", server.url)
    plain = capsys.readouterr().err
    assert plain == f"toys/toy.gz: from {server.url}{PATH}\n"

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fetch(tmp_path / "terminal", server.url)
    terminal = capsys.readouterr().err
    assert terminal.startswith(plain)
    assert re.search(r"0\.3 MB of 0\.3", re.sub(r"\x1b\[[\d;?]*\w", "", terminal))
