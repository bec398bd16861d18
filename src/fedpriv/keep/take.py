"""Stored runs are taken where they are: a run directory gets a summary that names the file."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fedpriv.files import left, stored, summary
from fedpriv.paper.read import merge
from fedpriv.train.outputs import FILES, finished


def take(path: Path, out: Path, labels: Mapping[str, Any]) -> Path:
    """Make `out` the directory of the run that is stored in `path`; return it.

    Its summary says the `labels` of the preset that asks. Nothing of another run is left in `out`.
    """
    told = merge(stored.summary(path), dict(labels))
    for name in FILES:
        (out / name).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    summary.save(out / left.SUMMARY, told | {"stored": os.path.relpath(path.resolve(), out.resolve())})
    return out


@contextmanager
def run_directory(path: Path) -> Generator[Path]:
    """Yield a run directory, or of a stored run one that is removed when the block ends."""
    if not path.is_file():
        yield path
        return
    with TemporaryDirectory() as folder:
        yield take(path, Path(folder, path.parent.name), {})


def forget(out: Path) -> None:
    """Remove what `take` has written to `out`, if it has, so that the run can be trained."""
    if finished(out) and summary.load(out / left.SUMMARY).get("stored"):
        (out / left.SUMMARY).unlink()
