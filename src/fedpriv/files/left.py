"""What a finished run has left, by its directory: what training wrote there, or the stored run it names.

The directory of a stored run has a summary that says under `stored`, from there, where the file is.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from fedpriv.files import npz, parquet, stored, summary
from fedpriv.trace import is_read

TRACE, DISTANCES, SUMMARY = "trace.parquet", "distances.npz", "summary.json"
ALLOWED = "the {} that a run wrote"


def sources(directory: Path) -> list[Path]:
    """Return the files in which the trace and the distances of a run are: two of its own, or a stored run."""
    own = [directory / TRACE, directory / DISTANCES]
    told = directory / SUMMARY
    if not told.exists() or own[0].exists() or not (place := summary.load(told).get("stored")):
        return own
    return [directory.resolve() / place]


def trace(directory: Path, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Return a run's trace, with these columns; a missing, damaged or foreign file is BadInput naming it."""
    path, *others = sources(directory)
    return parquet.load(path, columns, ALLOWED.format("trace")) if others else stored.trace(path)


def distances(directory: Path) -> dict[str, np.ndarray]:
    """Return the sampled distances of a run; a missing, damaged or foreign file is BadInput naming it.

    Those of pairs of clients that older runs have are passed over: such a run is the same as one without.
    """
    path, *others = sources(directory)
    if not others:
        return stored.distances(path)
    found = npz.everything(others[0], ALLOWED.format("distances"))
    return {name: array for name, array in found.items() if is_read(name)}
