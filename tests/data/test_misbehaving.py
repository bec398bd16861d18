"""Whatever one mirror does, the next one is asked; and nothing doubtful is taken for the truth."""

import gzip
import hashlib
import os
from pathlib import Path

import pytest
from support.scripted import dripping, endless, http, scripted

from fedpriv.cli import app
from fedpriv.data import download, source
from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.data.source import SourceError
from fedpriv.progress import aside

CONTENT = bytes(range(256)) * 1000
PACKED = gzip.compress(CONTENT, mtime=0)
RIGHT = hashlib.sha256(CONTENT).hexdigest()
WHOLE = http(PACKED, Content_Length=str(len(PACKED)))
LONG = "x" * 100_000
CHUNKED = {"Transfer_Encoding": "chunked"}

ANSWERS = {
    "nothing": b"",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x28",
    "a reason that is not printable": http(status="404 \x1b[2J"),
    "a status line without end": b"HTTP/1.1 200 " + LONG.encode() + b"\r\n\r\n",
    "not modified": http(b"", "304 Not Modified"),
    "a part that nobody asked for": http(status="206 Part", Content_Range="bytes 0-3/4", Content_Length="4"),
    "two lengths": http(Content_Length="4, 5"),
    "a length that no disk has": http(Content_Length="9" * 30),
    "a length that is a lie": http(Content_Length="9"),
    "a length that it does not wait for": http(Content_Length="2"),
    "no length": http(),
    "a chunk that is cut": http(b"ffffffffff\r\nevil", **CHUNKED),
    "no gzip": http(Content_Length="4", Content_Encoding="gzip"),
    "half a gzip": http(gzip.compress(CONTENT)[:50], Content_Length="50", Content_Encoding="gzip"),
    "a thousand encodings": http(Content_Length="4", Content_Encoding=", ".join(["gzip"] * 1000)),
    "a header without end": http(X=LONG),
    "a way to itself": http(status="302 Round", Location="/", Content_Length="0"),
    "a way to nowhere": http(status="302 Away", Location="", Content_Length="0"),
    "a way to a long name": http(status="302 Away", Location=f"http://{LONG[:999]}/", Content_Length="0"),
    "a way to a file": http(status="302 Away", Location="file:///etc/hostname", Content_Length="0"),
}
ENDLESS = {
    "a file without end": endless(http(b""), bytes(2**16)),
    "chunks without end": endless(http(b"", **CHUNKED), b"10000\r\n" + bytes(2**16) + b"\r\n"),
    "a zipped file without end": endless(
        http(b"", Content_Encoding="gzip"), gzip.compress(bytes(2**24), mtime=0)
    ),
}
SLOW = {
    "silence": dripping(b"", b""),
    "headers by and by": dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "goes on for ever": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a file by and by": dripping(http(b"", Content_Length="99999"), b"xx"),
    "chunks by and by": dripping(http(b"", **CHUNKED), b"2\r\nxx\r\n"),
}
EVERY = ANSWERS | ENDLESS | SLOW
# The first is where TLS is spoken by nobody.
URLS = ["https://{address}", "http://127.0.0.1:99999", "http://[::1", "http:///path", "http://host\x00name"]
URLS += [f"http://{'x' * 64}.invalid", "http://\udcff", "http://user:pass@"]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Let nothing leave this machine, and nobody wait for long."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(download, "SECONDS", 0.4)


@pytest.fixture
def small_chunks(monkeypatch):
    """Let what comes be kept in small pieces."""
    monkeypatch.setattr(download, "CHUNK", 100)


def fetch(folder: Path, *mirrors: str, sha256: str | None = RIGHT, attempts: int = 1) -> Path:
    file = RawFile("toy.gz", sha256, largest=2**20)
    toys = Dataset("toys", (file,), (), decode=lambda raw: None, licence="", citation="")
    return source.fetch(toys, file, folder, mirrors, attempts=attempts, backoff=0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


TOLD = dict.fromkeys(ENDLESS, r"found more than 1,048,576 bytes") | dict.fromkeys(SLOW, r"too slow|timed out")
TAKEN = "a length that it does not wait for"  # is what the server says that it is, if nobody knows better


@pytest.mark.parametrize("what", EVERY)
def test_a_mirror_that_misbehaves_is_given_up_in_one_line_and_the_next_one_is_asked(what, tmp_path):
    with scripted(EVERY[what]) as bad, scripted(WHOLE) as good:
        if what != TAKEN:
            with pytest.raises(SourceError, match=TOLD.get(what, ".")) as error:
                fetch(tmp_path, bad.url, sha256=RIGHT if what in ENDLESS else None)
            assert "\n" not in str(error.value) and str(error.value).isprintable()
            assert not (tmp_path / "toy.gz").exists() and not (tmp_path / "toy.gz.sha256").exists()
        assert fetch(tmp_path, bad.url, good.url).read_bytes() == PACKED
        assert bad.asked and len(good.asked) == 1
    assert names(tmp_path) == ["toy.gz"]


@pytest.mark.parametrize("url", URLS)
def test_after_a_url_that_is_none_the_next_one_is_asked(url, tmp_path):
    with scripted(WHOLE) as good:
        assert fetch(tmp_path, url.format(address=good.address), good.url).read_bytes() == PACKED


@pytest.mark.parametrize("name", ["../../evil", "/evil", "..\\evil"])
def test_the_name_that_a_server_gives_its_answer_is_not_used(name, tmp_path):
    with scripted(http(Content_Disposition=f'attachment; filename="{name}"', Content_Length="4")) as server:
        assert fetch(tmp_path / "a/b/raw", server.url, sha256=None) == tmp_path / "a/b/raw/toy.gz"
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"a/b/raw/toy.gz", "a/b/raw/toy.gz.sha256"}


def test_what_a_server_says_is_seen_and_not_obeyed_and_no_password_is_in_any_message(tmp_path, capsys):
    talker = scripted(http(status="404 gone\x1b[2J\x9b31m\x07", Content_Length="4"))
    with talker as server, pytest.raises(SourceError) as failed:
        fetch(tmp_path, f"http://somebody:hunter2@{server.address}")
    aside("\n".join(app.explain(failed.value)[0]))
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err and "somebody" not in said.out + said.err
    told = [line for line in said.err.split("\n") if "gone" in line]
    assert len(told) == 2 and all("gone\\x1b[2J\\x9b31m\\x07" in line for line in told)


def test_a_gzip_that_unpacks_without_end_is_refused_before_it_fills_the_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(source, "LARGEST", 10_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10_001)))
    with pytest.raises(ValueError, match="more than"):
        source.digest(path)
    path.write_bytes(gzip.compress(bytes(10_000)))
    assert source.digest(path)


def test_a_file_that_says_it_is_too_large_is_not_begun(tmp_path):
    with scripted(http(Content_Length="1048577")) as bad, pytest.raises(SourceError, match=r"more than"):
        fetch(tmp_path, bad.url)


def test_a_server_that_leads_elsewhere_is_followed_and_what_else_it_says_is_not_read(tmp_path):
    with scripted(WHOLE) as good:
        beginning = http(b"", "302 There", Location=good.url, Content_Length="9" * 15)
        with scripted(endless(beginning, bytes(2**16))) as talker:
            assert fetch(tmp_path, talker.url).read_bytes() == PACKED


CUT = http(PACKED[:100], Content_Length=str(len(PACKED)), ETag='"one"')
SIZE = f"{len(PACKED) - 1}/{len(PACKED)}"
REST = {"Content_Length": str(len(PACKED) - 100), "Content_Range": f"bytes 100-{SIZE}"}
RESUMED = http(PACKED[100:], "206 Part", ETag='"one"', **REST)
DOUBTFUL = {
    "from the beginning": {"Content_Range": f"bytes 0-{SIZE}"},
    "of another size": {"Content_Range": f"bytes 100-199/{len(PACKED)}"},
    "of letters": {"Content_Range": "bytes a-b/c"},
    "of nothing": {"Content_Range": ""},
    "encoded": {"Content_Encoding": "gzip"},
}


@pytest.mark.parametrize("what", DOUBTFUL)
def test_a_part_that_is_not_what_was_asked_for_is_dropped_and_all_is_asked_for(what, small_chunks, tmp_path):
    wrong = http(b"x" * (len(PACKED) - 100), "206 Part", ETag='"one"', **REST | DOUBTFUL[what])
    with scripted(CUT, wrong, WHOLE) as server:
        assert fetch(tmp_path, server.url, attempts=3).read_bytes() == PACKED
        asked = ["Range: bytes=100-" in one for one in server.asked]
    assert asked == [False, True, False]


@pytest.mark.parametrize("etag", [{}, {"ETag": '"two"'}])
def test_without_a_hash_a_part_counts_only_under_the_servers_own_name_for_the_whole(
    etag, small_chunks, tmp_path
):
    unnamed = http(PACKED[100:], "206 Part", **REST | etag)
    with scripted(CUT, unnamed, WHOLE) as server:
        assert fetch(tmp_path, server.url, sha256=None, attempts=3).read_bytes() == PACKED
        assert ["Range: bytes=100-" in one for one in server.asked] == [False, True, False]


def test_without_a_hash_a_cut_file_is_gone_on_with_if_it_is_still_the_same(small_chunks, tmp_path):
    with scripted(CUT, RESUMED) as server:
        assert fetch(tmp_path, server.url, sha256=None, attempts=2).read_bytes() == PACKED
        assert 'If-Range: "one"' in server.asked[1]


@pytest.mark.parametrize("etag", [{}, {"ETag": 'W/"one"'}])
def test_without_a_hash_and_a_name_of_what_came_all_is_asked_for_again(etag, small_chunks, tmp_path):
    cut = http(PACKED[:100], Content_Length=str(len(PACKED)), **etag)
    with scripted(cut, WHOLE) as server:
        assert fetch(tmp_path, server.url, sha256=None, attempts=2).read_bytes() == PACKED
        assert "Range" not in server.asked[1]


def test_without_a_hash_what_an_earlier_process_left_is_not_gone_on_with(small_chunks, tmp_path):
    with scripted(CUT, WHOLE) as server:
        with pytest.raises(SourceError):
            fetch(tmp_path, server.url, sha256=None)
        assert len(names(tmp_path)) == 1
        assert fetch(tmp_path, server.url, sha256=None).read_bytes() == PACKED
        assert "Range" not in server.asked[1]


@pytest.mark.parametrize("what", ["a pipe", "a device", "a folder", "too large"])
def test_what_is_no_plain_file_of_a_folder_is_left_to_the_next_source(what, tmp_path):
    place = tmp_path / "mirror/toys/toy.gz"
    place.parent.mkdir(parents=True)
    if what == "a pipe":
        os.mkfifo(place)
    elif what == "a device":
        place.symlink_to("/dev/zero")
    elif what == "a folder":
        place.mkdir()
    else:
        with place.open("wb") as file:
            file.truncate(2**20 + 1)
    with scripted(WHOLE) as good:
        assert fetch(tmp_path / "raw", str(tmp_path / "mirror"), good.url).read_bytes() == PACKED
