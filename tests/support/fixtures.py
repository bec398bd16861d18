"""What tests of the suite and of the packages beside it share: pytest reads it from their conftest.py."""

import os

# Before anything imports Triton: its kernels run on a CPU in its interpreter alone.
if os.environ.get("FEDPRIV_TEST_DEVICE", "cpu") == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

import pytest
from hypothesis import settings

from fedpriv import data, progress
from fedpriv.cli import app
from fedpriv.data import photographs
from support import tiny as small_preset
from support.made_run import write_noise
from support.photos import TINY, lay

# The same tree has the same verdict: `make explore` alone draws examples anew.
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("new")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The manifest of a dataset of twelve tiny photographs, four for testing, known by the name `tiny`."""
    monkeypatch.setitem(data.DATASETS, "tiny", TINY)
    lay(tmp_path / "resources/tiny/raw")
    path = tmp_path / "resources/tiny/images.json"
    photographs.write_manifest(TINY, [], path)
    return path


@pytest.fixture
def files(tmp_path):
    """The arrays of a dataset of noise, for the runs of `made_run`."""
    return write_noise(tmp_path / "noise.npz")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, empty but for a preset of one tiny run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDPRIV_MIRROR", raising=False)
    return small_preset.lay(tmp_path)


@pytest.fixture
def fedpriv(capsys):
    """Run the program; return its exit code and the lines on stdout and stderr."""

    def call(*words):
        capsys.readouterr()
        code = app.main(list(map(str, words)))
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err.splitlines()

    return call


@pytest.fixture(scope="session", autouse=True)
def committed():
    """Take every run for one of a commit: whoever works on a test has changed files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedpriv.workflow.archive.is_uncommitted", lambda code: False)
        yield


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget how wide the terminal is that the tests were started in: pytest-xdist tells its workers."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing last so long that it says how far it is, however slow the machine is."""
    monkeypatch.setattr(progress, "FIRST", 1e6)
