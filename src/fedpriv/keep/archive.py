"""An archive of kept runs: one sealed parquet file, a row a run, its traces and distances as lists.

Everything is kept to the last bit, so that whatever is computed from an archive, by an accountant of today or
of later, is what would be computed from the run. The columns of a trace are called `trace_<column>`, sampled
distances `distances_<name>`, whose type and shape `arrays` (JSON) tells; `summary` is JSON.
"""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from fedpriv.files import parquet
from fedpriv.keep.index import ALLOWED
from fedpriv.trace import MEASURED, TRACE

TRACED, SAMPLED = "trace_", "distances_"  # before the names of columns and of arrays


class Kept(NamedTuple):
    """What a finished run leaves, but for its weights."""

    run: str
    seed: int
    identity: str
    summary: dict[str, Any]
    trace: pd.DataFrame
    distances: dict[str, np.ndarray]


def write(path: Path, runs: Iterable[Kept]) -> Path:
    """Write an archive atomically and sealed; the same runs, in any order, give the same bytes."""
    rows = [row(one) for one in sorted(runs, key=lambda one: one[:3])]
    names = sorted({name for one in rows for name in one})
    table = pa.table({name: pa.array([one.get(name) for one in rows]) for name in names})
    # As parquet calls them: a list by its elements.
    called = {name: f"{name}.list.element" if name.startswith((TRACED, SAMPLED)) else name for name in names}
    numbers = [name for name in names if table.schema.field(name).type == pa.list_(pa.float64())]
    return parquet.save_table(
        table,
        path,
        compression="zstd",
        compression_level=19,  # seconds, for a twentieth less in git for good
        write_statistics=False,
        use_dictionary=[called[name] for name in names if name not in numbers],
        use_byte_stream_split=[called[name] for name in numbers],
    )


def row(one: Kept) -> dict[str, Any]:
    """Return a run as a row; a column that its trace does not have is left out."""
    arrays = {name: [array.dtype.name, array.shape] for name, array in one.distances.items()}
    return {
        "run": one.run,
        "seed": one.seed,
        "identity": one.identity,
        "summary": json.dumps(one.summary, allow_nan=False),
        "arrays": json.dumps(arrays),
        **{TRACED + str(name): values.tolist() for name, values in one.trace.items()},
        # A float64 holds any float32, and its bytes that are always zero take no place.
        **{SAMPLED + name: array.ravel().astype(np.float64) for name, array in one.distances.items()},
    }


def read(path: Path, wanted: Collection[str] | None = None) -> list[Kept]:
    """Return the runs of an archive, or only those of some identities; of one that is not there, none.

    A damaged archive is BadInput naming it.
    """
    if not path.exists():
        return []
    rows = parquet.load(path, ["run", "seed", "identity", "summary", "arrays"], ALLOWED)
    if wanted is not None:
        rows = rows.loc[rows["identity"].isin(list(wanted))]
    return [of_row({str(name): value for name, value in one.items()}) for one in rows.to_dict("records")]


def of_row(one: dict[str, Any]) -> Kept:
    """Return the run that was written as a row."""
    columns = {
        name.removeprefix(TRACED): values
        for name, values in one.items()
        if name.startswith(TRACED) and values is not None
    }
    ordered = sorted(columns, key=lambda name: [*TRACE, name].index(name))
    trace = pd.DataFrame({name: columns[name] for name in ordered})
    distances = {
        name: np.asarray(one[SAMPLED + name]).astype(dtype).reshape(shape)
        for name, (dtype, shape) in json.loads(one["arrays"]).items()
    }
    told = json.loads(one["summary"])
    known = {name: dtype for name, dtype in TRACE.items() if name in trace}
    return Kept(one["run"], one["seed"], one["identity"], told, trace.astype(known), distances)


def same(one: Kept, other: Kept) -> bool:
    """Return whether two runs are the same to the last bit, but for what was measured and where."""
    left, right = (run.trace.drop(columns=list(MEASURED), errors="ignore") for run in (one, other))
    arrays = [
        {name: (array.dtype, array.shape, array.tobytes()) for name, array in run.distances.items()}
        for run in (one, other)
    ]
    return one[:3] == other[:3] and left.equals(right) and arrays[0] == arrays[1]
