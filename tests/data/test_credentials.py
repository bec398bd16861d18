"""What is printed, logged and raised about Kaggle never holds what it wants to know."""

import json
import logging
import traceback

import pytest

from fedpriv.cli import app

USER, KEY = "mallory-7301", "hush-hush-0123456789"


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    """Kaggle is asked only where no folder has the images."""
    monkeypatch.delenv("FEDPRIV_MIRROR", raising=False)


@pytest.fixture
def told(tmp_path, monkeypatch, capsys, caplog):
    """Fetch APTOS, with --debug and without, and return all that can be seen of it, logs included."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("KAGGLEHUB_VERBOSITY", "debug")

    def fetch():
        words = ["fetch", "aptos", "--resources", str(tmp_path / "resources")]
        assert app.main(words) == 1
        raised = ""
        try:
            app.main([*words, "--debug"])
        except Exception as error:
            raised = "".join(traceback.format_exception(error))
        said = capsys.readouterr()
        lines = [line for line in said.err.splitlines() if line.startswith("fedpriv: ")]
        assert len(lines) == 1 and "FEDPRIV_MIRROR" in lines[0] and raised
        return "\n".join([said.out, said.err, caplog.text, raised])

    return fetch


def hidden(text):
    return USER not in text and KEY not in text


@pytest.fixture(params=["user and key", "token", "kaggle.json"])
def known(request, kaggle, monkeypatch, tmp_path):
    """Kaggle, and somebody whom it can know, from each of the usual places."""
    from kagglehub import config

    for name in ("KAGGLE_USERNAME", "KAGGLE_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(config, "DEFAULT_KAGGLE_CREDENTIALS_FOLDER", str(tmp_path))
    if request.param == "token":
        monkeypatch.setenv("KAGGLE_API_TOKEN", KEY)
    elif request.param == "kaggle.json":
        (tmp_path / "kaggle.json").write_text(json.dumps({"username": USER, "key": KEY}))
    else:
        monkeypatch.setenv("KAGGLE_USERNAME", USER)
        monkeypatch.setenv("KAGGLE_KEY", KEY)
    return kaggle


@pytest.mark.parametrize("status", [200, 401])  # with 200: what is no archive
def test_what_kaggle_refuses_shows_no_credentials(status, known, told):
    known.status, known.body = status, f"{USER} {KEY}".encode()
    assert hidden(told())
    assert known.asked and all(known.asked)


@pytest.mark.parametrize(
    "token",
    [f"{KEY}\n{KEY}", f"{KEY}\N{RIGHT SINGLE QUOTATION MARK}"],
    ids=["a line too many", "another alphabet"],
)
def test_a_token_that_cannot_be_sent_is_not_shown(token, nobody, told, monkeypatch):
    monkeypatch.setenv("KAGGLE_API_TOKEN", token)
    assert hidden(told())


@pytest.mark.parametrize("text", [f"{USER} {KEY}", json.dumps({"key": KEY})])
def test_a_damaged_kaggle_json_is_not_shown(text, nobody, told, monkeypatch, tmp_path):
    (tmp_path / "kaggle.json").write_text(text)
    assert hidden(told())
