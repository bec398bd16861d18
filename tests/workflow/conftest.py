"""A tiny paper that was built, for tests to look at or to change."""

import shutil
from pathlib import Path

import pytest
from support.once import once
from support.workflow import snakemake, write_config


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a folder in which everything of the tiny paper was built from nothing."""
    return once(
        tmp_path_factory,
        "built",
        lambda folder: snakemake("--cores", "2", *write_config(folder), cwd=folder),
    )


@pytest.fixture
def copy(built, tmp_path):
    """Return a copy of the built folder that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "copy", symlinks=True))
