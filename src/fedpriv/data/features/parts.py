"""What an extraction has finished, as files beside its output: a killed one goes on from there."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from fedpriv.files.atomic import writing


def open_folder(folder: Path, identity: str) -> None:
    """Make `folder` one of this identity; the parts of any other are removed."""
    label = folder / "identity"
    if label.exists() and label.read_text() == identity:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with writing(label) as partial:
        partial.write_text(identity)


def save(folder: Path, number: int, rows: np.ndarray) -> None:
    """Keep the features of batch `number`, atomically."""
    with writing(folder / f"{number:06d}.npy") as partial, partial.open("wb") as file:
        np.save(file, rows)


def load(folder: Path, number: int, count: int) -> np.ndarray | None:
    """Return the features of batch `number`, or None if they are not there or not `count` whole rows."""
    try:
        rows = np.load(folder / f"{number:06d}.npy")
    except (OSError, ValueError, EOFError, MemoryError):
        return None
    return rows if rows.dtype == np.float16 and rows.ndim == 2 and len(rows) == count else None
