import errno
import os
from types import SimpleNamespace

import pytest
from support.photos import lay

from fedpriv import data
from fedpriv.cli import app
from fedpriv.data import photographs
from fedpriv.data.source import SourceError
from fedpriv.errors import is_full


def test_the_folder_of_the_first_mirror_that_has_it_is_read_in_place(tmp_path):
    (tmp_path / "empty").mkdir()
    folder = lay(tmp_path / "full/aptos")
    mirrors = ["https://example.org/mirror", str(tmp_path / "empty"), str(tmp_path / "full")]
    assert (
        photographs.find_aptos(mirrors, tmp_path / "resources")
        == photographs.find_aptos([str(folder)], tmp_path)
        == folder
    )
    assert not (tmp_path / "resources").exists()


def test_the_first_500_rows_are_the_test_split(tmp_path):
    lay(tmp_path / "aptos", 503, ".jpg")
    (path,) = data.fetch_dataset("aptos", tmp_path / "resources", [str(tmp_path)])
    listed = data.photographs.load_manifest(path)
    assert [image.test for image in listed.images] == 500 * [True] + 3 * [False]
    assert "503 rows: 500 test and 3 training images" in data.describe_files("aptos", [str(path)])


class Refusal(Exception):
    """What kagglehub raises: an answer with a status, and words that may hold what nobody should see."""

    def __init__(self, status):
        super().__init__("hush-hush")
        self.response = SimpleNamespace(status_code=status)


def test_without_a_mirror_kagglehub_downloads_it(tmp_path, monkeypatch, capsys):
    folder, asked = lay(tmp_path / "cache", 503), []

    def download(competition):
        print("of kagglehub")
        asked.append(competition)
        return str(folder)

    monkeypatch.setattr("kagglehub.competition_download", download)
    (path,) = data.fetch_dataset("aptos", tmp_path / "resources", [])
    assert len(data.photographs.load_manifest(path).images) == 503
    assert asked == [photographs.COMPETITION] and capsys.readouterr().out == ""


def test_no_room_for_what_kaggle_gives_is_no_refusal_of_kaggle(tmp_path, monkeypatch):
    def fill(_):
        raise OSError(errno.ENOSPC, "hush-hush")

    monkeypatch.setattr("kagglehub.competition_download", fill)
    with pytest.raises(OSError, match=r"aptos: the folder of kagglehub: \[Errno 28\] No space") as raised:
        photographs.find_aptos([], tmp_path)
    assert is_full(raised.value) and raised.value.__context__ is None


@pytest.mark.parametrize(
    ("error", "found"),
    [(Refusal(403), "HTTP 403"), (Refusal(401), "HTTP 401"), (ValueError("hush-hush"), "ValueError")],
    ids=str,
)
def test_what_kaggle_refuses_is_one_line_that_says_what_to_do_and_no_word_of_its_own(
    error, found, tmp_path, monkeypatch
):
    def refuse(_):
        raise error

    monkeypatch.setattr("kagglehub.competition_download", refuse)
    with pytest.raises(SourceError) as raised:
        photographs.find_aptos([], tmp_path)
    said = str(raised.value)
    words = [found, "KAGGLE_API_TOKEN", "kaggle.json", "FEDPRIV_MIRROR"]
    words += ["https://www.kaggle.com/settings", f"competitions/{photographs.COMPETITION}/rules"]
    assert all(word in said for word in words) and "\n" not in said
    assert "hush" not in said and raised.value.__context__ is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "train_images/p7.jpg").unlink(), ["1 missing: p7"]),
        (lambda folder: relabel(folder / "train.csv"), ["train.csv, line 9", "diagnosis 7 of p7", "0 to 4"]),
    ],
    ids=["missing", "label"],
)
def test_bad_photographs_are_one_line_and_exit_code_2(change, words, tmp_path, capsys):
    change(lay(tmp_path / "aptos", 503, ".jpg"))
    resources = tmp_path / "resources"
    assert app.main(["fetch", "aptos", "--mirror", str(tmp_path), "--resources", str(resources)]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fedpriv: ")]
    assert len(said) == 1 and all(word in said[0] for word in words)


def relabel(table):
    table.write_text(table.read_text().replace("\np7,2\n", "\np7,7\n"))


@pytest.mark.skipif("FEDPRIV_MIRROR" not in os.environ, reason="FEDPRIV_MIRROR names no mirror")
def test_the_real_photographs_have_the_known_duplicates(tmp_path):
    (path,) = data.fetch_dataset("aptos", tmp_path, data.source.mirrors())
    counts = data.photographs.load_manifest(path).counts
    assert (counts.test, counts.train, counts.missing, counts.unreadable) == (500, 3162, 0, 0)
    assert (counts.identical_groups, counts.identical_images, counts.conflicting_groups) == (123, 251, 30)
