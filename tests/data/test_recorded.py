import hashlib
from pathlib import Path

import pytest

from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.data.source import SourceError
from fedpriv.errors import BadInput

CONTENT, OTHER = b"TOY " + bytes(300_000), b"TOY of another version"
HASH, OTHER_HASH = (hashlib.sha256(content).hexdigest() for content in (CONTENT, OTHER))
PATH = "/toys/toy.db"


def problem(path: Path) -> str:
    return "" if path.read_bytes().startswith(b"TOY ") else "found no toy, allowed: a toy"


FILE = RawFile("toy.db", None, problem)


def fetch(folder: Path, *mirrors: str) -> Path:
    toys = Dataset("toys", (FILE,), (), decode=lambda raw: None, licence="", citation="")
    return source.fetch(toys, FILE, folder, mirrors, backoff=0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def server(server):
    server.files[PATH] = CONTENT
    return server


def test_the_hash_of_a_first_download_is_recorded_and_said_in_one_line(server, tmp_path, capsys):
    assert fetch(tmp_path, server.url).read_bytes() == CONTENT
    assert (tmp_path / "toy.db.sha256").read_text() == f"{HASH}  toy.db\n"
    assert names(tmp_path) == ["toy.db", "toy.db.sha256"]
    said = f"toys/toy.db: sha256 {HASH} recorded, could not be compared with a published one\n"
    assert capsys.readouterr().err.endswith(said)


def test_what_is_recorded_is_neither_asked_for_nor_recorded_again(server, tmp_path, capsys):
    fetch(tmp_path, server.url)
    before = (tmp_path / "toy.db.sha256").stat().st_mtime_ns
    capsys.readouterr()
    fetch(tmp_path, server.url)
    assert (tmp_path / "toy.db.sha256").stat().st_mtime_ns == before
    assert len(server.asked) == 1 and capsys.readouterr().err == ""


def test_a_file_that_was_put_there_is_recorded_without_asking_anybody(server, tmp_path):
    (tmp_path / "toy.db").write_bytes(CONTENT)
    fetch(tmp_path, server.url)
    assert HASH in (tmp_path / "toy.db.sha256").read_text() and server.asked == []


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(OTHER), lambda path: path.unlink()])
def test_a_file_that_no_longer_fits_its_record_is_fetched_again(damage, server, tmp_path):
    damage(fetch(tmp_path, server.url))
    assert fetch(tmp_path, server.url).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_source_that_has_changed_is_an_error_with_both_hashes_and_the_way_out(server, tmp_path):
    fetch(tmp_path, server.url).unlink()
    server.files[PATH] = OTHER
    with pytest.raises(SourceError) as error:
        fetch(tmp_path, server.url)
    said, record = str(error.value), tmp_path / "toy.db.sha256"
    assert "toys/toy.db" in said and HASH in said and OTHER_HASH in said and "\n" not in said
    assert f"delete {record}" in said and names(tmp_path) == ["toy.db.sha256"]

    record.unlink()
    assert fetch(tmp_path, server.url).read_bytes() == OTHER


def test_a_mirror_folder_must_hold_what_was_recorded_and_the_next_source_may(server, tmp_path):
    fetch(tmp_path / "raw", server.url).unlink()
    (tmp_path / "mirror/toys").mkdir(parents=True)
    (tmp_path / "mirror/toys/toy.db").write_bytes(OTHER)
    assert fetch(tmp_path / "raw", str(tmp_path / "mirror"), server.url).read_bytes() == CONTENT


def test_a_page_in_place_of_the_file_is_neither_kept_nor_recorded(server, tmp_path):
    server.files[PATH] = b"<html>not found</html>"
    with pytest.raises(SourceError, match="found no toy, allowed: a toy"):
        fetch(tmp_path, server.url)
    assert names(tmp_path) == []


def test_a_cut_download_is_resumed_before_it_is_recorded(server, tmp_path):
    server.faults[PATH] = ["cut"]
    fetch(tmp_path, server.url)
    assert server.asked[1][1] is not None and HASH in (tmp_path / "toy.db.sha256").read_text()


@pytest.mark.parametrize("damage", [b"", b"\xff", HASH[:-1].encode()])
def test_a_damaged_record_is_bad_input_naming_it(damage, server, tmp_path):
    fetch(tmp_path, server.url)
    (tmp_path / "toy.db.sha256").write_bytes(damage)
    with pytest.raises(BadInput, match=r"toy\.db\.sha256: found no hash, allowed: 64 .*delete it"):
        fetch(tmp_path, server.url)
