import errno
import gzip
import hashlib
import re
import socket
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import requests

from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.data.source import SourceError
from fedpriv.errors import BadInput, is_full

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


def fetch(folder: Path, *mirrors: str, file: RawFile = FILE, public: tuple[str, ...] = (), attempts: int = 3):
    toys = Dataset("toys", (file,), public, decode=lambda raw: None, licence="", citation="")
    return source.fetch_file(toys, file, folder, mirrors, attempts=attempts, backoff=0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_mirrors_are_asked_once_in_their_order_and_a_public_source_with_its_own_base_last(server, tmp_path):
    server.files["/pub/toy.gz"] = server.files.pop(PATH)
    path = fetch(tmp_path / "new/raw", f"{server.url}/empty", server.url, public=(f"{server.url}/pub/",))
    assert path.read_bytes() == PACKED and names(tmp_path / "new/raw") == ["toy.gz"]
    assert server.asked == ["/empty" + PATH, PATH, "/pub/toy.gz"]
    path.write_bytes(PACKED[:100])  # is replaced; what is whole is not asked for
    for _ in range(2):
        assert fetch(path.parent, f"{server.url}/pub", public=(f"{server.url}/pub/",)).read_bytes() == PACKED
    assert len(server.asked) == 5


@pytest.mark.parametrize("faults", [["500", "500"], ["cut"]], ids=str)
def test_a_server_that_fails_or_breaks_off_is_asked_again_three_times_at_most(faults, server, tmp_path):
    server.faults[PATH] = [*faults]
    assert fetch(tmp_path, server.url).read_bytes() == PACKED
    assert len(server.asked) == len(faults) + 1
    server.asked.clear()
    server.faults[PATH] = ["cut"] * 3
    with pytest.raises(SourceError, match=f"{server.url}{PATH}: ProtocolError"):
        fetch(tmp_path / "other", server.url)
    assert len(server.asked) == 3 and names(tmp_path / "other") == []


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"LARGEST": len(PACKED) - 1}, "more than .* GiB"),
        ({"SECONDS": 0.0, "SLOWEST": 10**15}, "slower than .* kB a second"),
    ],
)
@pytest.mark.parametrize("fault", ["", "endless"])
def test_a_server_that_sends_too_much_or_too_slowly_is_given_up_for_the_next(
    fault, limits, reason, server, tmp_path, monkeypatch, capsys
):
    server.faults[PATH] = [fault] * 3
    for name, limit in limits.items():
        monkeypatch.setattr(source, name, limit)
    if "SECONDS" in limits:  # of what is asked for, too
        monkeypatch.setattr("requests.get", lambda url, timeout, get=requests.get, **how: get(url, **how))
    folder = tmp_path / "mirror"
    (folder / "toys").mkdir(parents=True)
    (folder / "toys/toy.gz").write_bytes(PACKED)
    assert fetch(tmp_path / "raw", server.url, str(folder)).read_bytes() == PACKED
    assert re.search(f"^toys/toy.gz: {reason}$", capsys.readouterr().err, re.MULTILINE)
    assert server.asked == [PATH] and names(tmp_path / "raw") == ["toy.gz"]


def test_on_a_full_disk_no_other_source_is_asked(server, tmp_path, monkeypatch):
    def fill(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", fill)
    (tmp_path / "mirror/toys").mkdir(parents=True)
    (tmp_path / "mirror/toys/toy.gz").write_bytes(PACKED)
    with pytest.raises(OSError, match=r"No space left on device: '.*/raw/toy.gz'") as raised:
        fetch(tmp_path / "raw", str(tmp_path / "mirror"), server.url)
    assert is_full(raised.value) and server.asked == [] and names(tmp_path / "raw") == []


def test_what_a_server_says_is_shown_and_no_password_is_in_any_message(server, tmp_path, capsys):
    url = server.url.replace("://", "://somebody:hunter2@")
    with pytest.raises(
        SourceError, match=r"http://127\.0\.0\.1:\d+/empty/toys/toy\.gz: HTTP 404 Not Found"
    ) as failed:
        fetch(tmp_path, f"{url}/empty")
    assert "hunter2" not in str(failed.value) + capsys.readouterr().err


def test_a_wrong_file_names_itself_both_hashes_and_the_way_out_and_is_left_to_the_next_source(
    server, tmp_path
):
    wrong = b"something else"
    server.files["/bad" + PATH] = gzip.compress(wrong)
    with pytest.raises(SourceError) as error:
        fetch(tmp_path / "raw", f"{server.url}/bad")
    message = str(error.value)
    assert "toys/toy.gz" in message and "FEDPRIV_MIRROR" in message and "\n" not in message
    assert RIGHT in message and hashlib.sha256(wrong).hexdigest() in message
    assert names(tmp_path / "raw") == [] and len(server.asked) == 1
    (tmp_path / "cut/toys").mkdir(parents=True)
    (tmp_path / "cut/toys/toy.gz").write_bytes(PACKED[:-20])
    fetch(tmp_path / "raw", str(tmp_path / "cut"), f"{server.url}/bad", server.url)
    assert names(tmp_path / "raw") == ["toy.gz"]


ALSO = FILE._replace(also=("toys/toy", "Theirs/raw/toy"))


@pytest.mark.parametrize("name", ["toys/toy.gz", *ALSO.also])
@pytest.mark.parametrize("body", [PACKED, CONTENT])
def test_a_folder_may_keep_the_file_where_others_do_and_packed_or_not(name, body, tmp_path):
    place = tmp_path / "mirror" / name
    for wrong in (tmp_path / "mirror" / ALSO.also[0], place):
        wrong.parent.mkdir(parents=True, exist_ok=True)
        wrong.write_bytes(b"wrong")  # does not stop the next one
    place.write_bytes(body)
    place.chmod(0o444)
    path = fetch(tmp_path / "raw", str(tmp_path / "mirror"), file=ALSO)
    assert path.name == "toy.gz" and source.decompress(path) == CONTENT
    assert place.read_bytes() == body and names(tmp_path / "raw") == ["toy.gz"]


@pytest.mark.parametrize("body", [PACKED, CONTENT])
def test_a_hash_is_of_the_decompressed_bytes_and_memory_holds_few_of_them(body, tmp_path):
    path = tmp_path / "toy"
    path.write_bytes(body * 64)  # gzip files one after the other are one of all
    known = hashlib.sha256(CONTENT * 64).hexdigest()
    tracemalloc.start()
    assert source.digest(path) == known
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(CONTENT)


def test_a_folder_that_has_it_nowhere_says_where_it_was_looked_for(tmp_path):
    (tmp_path / "toys/toy").mkdir(parents=True)  # a folder of that name is no file
    with pytest.raises(
        SourceError, match=r"toys/toy\.gz: No such file\)\. Put .* as toys/toy\.gz or toys/toy or Theirs/raw/"
    ):
        fetch(tmp_path / "raw", str(tmp_path), file=ALSO)


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


# --- files whose hash nobody has published ------------------------------------------------------------------

TOY, OTHER = b"TOY " + bytes(300_000), b"TOY of another version"
HASH, OTHER_HASH = (hashlib.sha256(content).hexdigest() for content in (TOY, OTHER))
OF_TOY = "/toys/toy.db"
NO_HASH = RawFile(
    "toy.db",
    None,
    lambda path: "" if path.read_bytes().startswith(b"TOY ") else "found no toy, allowed: a toy",
)


def test_the_hash_of_a_first_download_is_recorded_said_and_neither_asked_for_nor_recorded_again(
    server, tmp_path, capsys
):
    server.files[OF_TOY], server.faults[OF_TOY] = TOY, ["cut"]
    path, record = fetch(tmp_path, server.url, file=NO_HASH), tmp_path / "toy.db.sha256"
    assert path.read_bytes() == TOY and record.read_text() == f"{HASH}  toy.db\n"
    assert names(tmp_path) == ["toy.db", "toy.db.sha256"]
    said = f"toys/toy.db: sha256 {HASH} recorded, could not be compared with a published one\n"
    assert capsys.readouterr().err.endswith(said)
    before = record.stat().st_mtime_ns
    fetch(tmp_path, server.url, file=NO_HASH)
    assert record.stat().st_mtime_ns == before
    assert len(server.asked) == 2 and capsys.readouterr().err == ""
    record.unlink()  # as of a file that was put there
    fetch(tmp_path, file=NO_HASH)
    assert HASH in record.read_text()


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(OTHER), lambda path: path.unlink()])
def test_a_file_that_no_longer_fits_its_record_is_fetched_again_and_only_what_fits_is_taken(
    damage, server, tmp_path
):
    server.files[OF_TOY] = TOY
    (tmp_path / "mirror/toys").mkdir(parents=True)
    (tmp_path / "mirror/toys/toy.db").write_bytes(OTHER)
    damage(fetch(tmp_path / "raw", server.url, file=NO_HASH))
    assert fetch(tmp_path / "raw", str(tmp_path / "mirror"), server.url, file=NO_HASH).read_bytes() == TOY
    assert len(server.asked) == 2


def test_a_source_that_has_changed_is_an_error_with_both_hashes_and_the_way_out(server, tmp_path):
    server.files[OF_TOY] = TOY
    fetch(tmp_path, server.url, file=NO_HASH).unlink()
    server.files[OF_TOY] = b"<html>not found</html>"  # is seen at a glance
    with pytest.raises(SourceError, match="found sha256"):
        fetch(tmp_path, server.url, file=NO_HASH)
    server.files[OF_TOY] = OTHER
    with pytest.raises(SourceError) as error:
        fetch(tmp_path, server.url, file=NO_HASH)
    said, record = str(error.value), tmp_path / "toy.db.sha256"
    assert "toys/toy.db" in said and HASH in said and OTHER_HASH in said and "\n" not in said
    assert f"delete {record}" in said and names(tmp_path) == ["toy.db.sha256"]
    record.unlink()
    assert fetch(tmp_path, server.url, file=NO_HASH).read_bytes() == OTHER


@pytest.mark.parametrize("damage", [b"", HASH[:-1].encode()])
def test_a_damaged_record_is_bad_input_naming_it(damage, server, tmp_path):
    server.files[OF_TOY] = TOY
    fetch(tmp_path, server.url, file=NO_HASH)
    (tmp_path / "toy.db.sha256").write_bytes(damage)
    with pytest.raises(BadInput, match=r"toy\.db\.sha256: found no hash, allowed: 64 .*delete it"):
        fetch(tmp_path, server.url, file=NO_HASH)
