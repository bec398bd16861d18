import shutil
from pathlib import Path

import pytest
from support.tiny import lay

from fedpriv.cli.run import train_run

RUNS = "results/tiny/tiny/runs/dp"


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with the tiny preset and two finished runs of it, trained once."""
    folder = lay(tmp_path_factory.mktemp("kept"))
    for seed in (0, 1):
        out = folder / RUNS / f"seed{seed}"
        train_run(folder / "config/tiny.yaml", "tiny", "dp", seed, out, folder / "resources", {})
    return folder


@pytest.fixture
def here(trained, tmp_path, monkeypatch):
    """The working folder: a copy of it that a test may change."""
    folder = Path(shutil.copytree(trained, tmp_path / "here"))
    monkeypatch.chdir(folder)
    return folder
