import json
import stat
from pathlib import Path

import pytest

from fedpriv.doctor import disk, kaggle

SECRET = "hush-hush-0123"


def in_environment(**names):
    return lambda home, monkeypatch: [monkeypatch.setenv(name, value) for name, value in names.items()]


def in_file(name, text):
    def write(home, monkeypatch):
        (home / ".kaggle" / name).write_text(text)
        (home / ".kaggle" / name).chmod(0o600)

    return write


JSON = json.dumps({"username": "somebody", "key": SECRET})
PLACES = {
    "KAGGLE_API_TOKEN": in_environment(KAGGLE_API_TOKEN=SECRET),
    "access_token": in_file("access_token", SECRET),
    "access_token.txt": in_file("access_token.txt", SECRET),
    "KAGGLE_USERNAME and KAGGLE_KEY": in_environment(KAGGLE_USERNAME="somebody", KAGGLE_KEY=SECRET),
    "kaggle.json": in_file("kaggle.json", JSON),
}


@pytest.mark.parametrize("place", PLACES)
def test_credentials_are_found_where_kagglehub_finds_them_and_not_shown(place, monkeypatch, tmp_path):
    from kagglehub import config

    # kagglehub looks up the home folder when it is imported.
    monkeypatch.setattr(config, "DEFAULT_KAGGLE_CREDENTIALS_FOLDER", str(tmp_path / "home/.kaggle"))
    assert config.get_kaggle_credentials() is None and kaggle.credentials() == ("", None, "")
    PLACES[place](tmp_path / "home", monkeypatch)
    used = config.get_kaggle_credentials()
    assert used is not None and SECRET in (used.key, used.api_key)
    found = kaggle.kaggle(Path("resources"))
    assert found.text.startswith("credentials in ") and f"{place}," in found.text
    assert SECRET not in repr(found) and "somebody" not in repr(found)


@pytest.mark.parametrize("place", ["access_token", "kaggle.json"])
def test_credentials_that_others_can_read_are_something_to_do(place, monkeypatch, tmp_path):
    PLACES[place](tmp_path / "home", monkeypatch)
    path = tmp_path / "home/.kaggle" / place
    path.chmod(stat.S_IRUSR | stat.S_IRGRP)
    found = kaggle.kaggle(Path("resources"))
    assert found.state == "to do" and f"chmod 600 {path}" in found.text


@pytest.mark.parametrize(
    ("lay", "words"),
    [
        (in_environment(KAGGLE_USERNAME="somebody"), "set KAGGLE_KEY too"),
        (in_environment(KAGGLE_KEY=SECRET), "set KAGGLE_USERNAME too"),
        (in_file("kaggle.json", SECRET), "not JSON with username and key"),
        (in_file("kaggle.json", f'["{SECRET}"]'), "not JSON with username and key"),
        (in_file("kaggle.json", json.dumps({"key": SECRET})), "not JSON with username and key"),
    ],
)
def test_half_of_the_credentials_are_something_to_do(lay, words, monkeypatch, tmp_path):
    lay(tmp_path / "home", monkeypatch)
    found = kaggle.kaggle(Path("resources"))
    assert found.state == "to do" and words in found.text and SECRET not in found.text


def test_without_credentials_it_says_how_to_get_them_unless_the_photographs_are_here(monkeypatch, tmp_path):
    found = kaggle.kaggle(Path("resources"))
    assert found.state == "to do" and "https://www.kaggle.com/settings" in found.text
    (tmp_path / "mirror/aptos").mkdir(parents=True)
    (tmp_path / "mirror/aptos/train.csv").touch()
    monkeypatch.setenv("FEDPRIV_MIRROR", "mirror")
    assert kaggle.kaggle(Path("resources")).state == "ok"


def test_no_room_for_the_photographs_is_something_to_do(monkeypatch):
    monkeypatch.setenv("KAGGLE_API_TOKEN", SECRET)
    monkeypatch.setattr(disk, "free", lambda folder: 12.0)
    found = kaggle.kaggle(Path("resources"))
    assert found.state == "to do" and "12 GB free for" in found.text and "set KAGGLEHUB_CACHE" in found.text
