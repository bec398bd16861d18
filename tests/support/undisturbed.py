"""The run of `small`: nothing done yet, trained, accounted, or all of it and nothing went wrong."""

import shutil
from pathlib import Path

import pytest

from fedpriv.cli import app
from support.small import ACCOUNT, TRAIN, lay, render


@pytest.fixture(scope="session")
def laid(tmp_path_factory) -> Path:
    """The preset, its paper and its data."""
    return lay(tmp_path_factory.mktemp("laid"))


@pytest.fixture(scope="session")
def undisturbed(laid, tmp_path_factory) -> Path:
    """A folder in which everything was done and nothing went wrong."""
    folder = shutil.copytree(laid, tmp_path_factory.mktemp("undisturbed"), dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert app.main(TRAIN) == 0
        assert app.main(ACCOUNT) == 0
        render()
    return folder


@pytest.fixture
def folder(laid, tmp_path, monkeypatch) -> Path:
    """The current folder: a preset, its paper and its data, and nothing done yet."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(laid, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def trained(undisturbed, folder) -> Path:
    """The current folder, with a finished run that was not accounted."""
    shutil.copytree(undisturbed / "out", folder / "out")
    (folder / "out/ledger.parquet").unlink()
    return folder


@pytest.fixture
def accounted(undisturbed, folder) -> Path:
    """The current folder, with a finished run and its ledger, from which nothing was rendered."""
    shutil.copytree(undisturbed / "out", folder / "out")
    return folder
