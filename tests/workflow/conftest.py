"""A tiny paper that was built, and a tiny preset that was trained, to look at or to change."""

import shutil
from pathlib import Path

import pytest
from support.once import once
from support.tiny import lay
from support.undisturbed import folder, laid, undisturbed  # noqa: F401
from support.workflow import snakemake, write_config

from fedpriv.cli.run import train_run

RUNS = "results/tiny/tiny/runs/dp"


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a folder in which everything of the tiny paper was built from nothing."""
    return once(
        tmp_path_factory,
        "built",
        lambda place: snakemake("--cores", "2", *write_config(place), cwd=place),
    )


@pytest.fixture
def copy(built, tmp_path):
    """Return a copy of the built folder that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "copy", symlinks=True))


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with the tiny preset and two finished runs of it, trained once."""
    place = lay(tmp_path_factory.mktemp("kept"))
    for seed in (0, 1):
        out = place / RUNS / f"seed{seed}"
        train_run(place / "config/tiny.yaml", "tiny", "dp", seed, out, place / "resources", {})
    return place


@pytest.fixture
def here(trained, tmp_path, monkeypatch):
    """The working folder: a copy of it that a test may change."""
    place = Path(shutil.copytree(trained, tmp_path / "here"))
    monkeypatch.chdir(place)
    return place
