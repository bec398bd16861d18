"""A stored run: what a finished run leaves, but for its weights, in one sealed parquet file.

Everything is stored to the last bit, so that whatever is computed from the file, by an accountant of today or
of later, is what would be computed from the run. A row is a round: the columns of the trace, and sampled
distances as lists, `distances_<name>`. Of an array that has no row a round all is in the first. The metadata
of the file are JSON: `summary`; `trace`, with what a column says that is the same in all rounds, and null for
those that are columns of the file; `distances`, with their types and shapes.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.types import is_list

from fedpriv.errors import BadInput
from fedpriv.files import parquet
from fedpriv.trace import COLUMNS, MEASURED, is_read, own_columns

SAMPLED = "distances_"  # before the names of arrays
ALLOWED = "a stored run"
# What two summaries of the same run agree on; all else is measured, or said by the preset.
SAME = (
    "run",
    "seed",
    "identity",
    "config",
    "rounds",
    "diverged",
    "parameters",
    "test_accuracy",
    "evaluated_on",
)


class Stored(NamedTuple):
    """What a finished run leaves, but for its weights."""

    summary: dict[str, Any]
    trace: pd.DataFrame
    distances: dict[str, np.ndarray]


def write(path: Path, one: Stored) -> Path:
    """Write a run atomically and sealed; the same run gives the same bytes."""
    said = {str(name): constant(values) for name, values in one.trace.items()}
    changing = one.trace[[name for name, value in said.items() if value is None]]
    table = pa.Table.from_pandas(changing, preserve_index=False)
    for name, array in one.distances.items():
        table = table.append_column(SAMPLED + name, lists(array, len(one.trace)))
    shapes = {name: [array.dtype.name, array.shape] for name, array in one.distances.items()}
    metadata = {"summary": json.dumps(one.summary, allow_nan=False)}
    metadata |= {"trace": json.dumps(said), "distances": json.dumps(shapes)}
    # As parquet calls them: a list by its elements.
    columns = {field.name + ".list.element" * is_list(field.type): field.type for field in table.schema}
    numbers = [name for name, type in columns.items() if type in (pa.float64(), pa.list_(pa.float64()))]
    return parquet.save_table(
        table,
        path,
        metadata,
        compression="zstd",
        compression_level=19,  # slow, for a twentieth less in git for good
        write_statistics=False,
        store_schema=False,  # of pyarrow's own, larger than the trace of a short run
        use_dictionary=[name for name in columns if name not in numbers],
        use_byte_stream_split=numbers,
    )


def constant(column: pd.Series) -> Any:
    """Return what a column of a trace says in every round, or None: most say the same in all."""
    values = column.tolist()
    return values[0] if len(values) > 1 and len(set(map(repr, values))) == 1 else None


def lists(array: np.ndarray, rounds: int) -> Any:
    """Return an array as a column of lists; a float64 holds any float32, whose zero bytes take no place."""
    first, each = (0, array.size // rounds) if len(array) == rounds else (array.size, 0)
    ends = np.r_[0, first + each * np.arange(1, rounds + 1)]
    return pa.ListArray.from_arrays(ends.astype(np.int32), array.ravel().astype(np.float64))


def read(path: Path) -> Stored:
    """Return a stored run; a missing, damaged or foreign file is BadInput naming it."""
    return Stored(summary(path), trace(path), distances(path))


def remedy(path: Path) -> str:
    """Return what to do about a stored run that is not as it was stored: it comes with the code."""
    return f"`git checkout -- {path}` brings it back"


def told(path: Path, key: str) -> dict[str, Any]:
    """Return what a stored run says under a key of its metadata; no mapping is BadInput naming it."""
    text = parquet.said(path, key, ALLOWED, remedy(path))
    try:
        if isinstance(found := json.loads(text), dict):
            return found
    except (ValueError, RecursionError):
        pass
    raise BadInput(f"{path}: {key}: found no JSON object, allowed: {ALLOWED}; {remedy(path)}")


def summary(path: Path) -> dict[str, Any]:
    """Return the summary of a stored run, in a millisecond."""
    return told(path, "summary")


def column(path: Path, name: str) -> list[Any]:
    """Return one column of the trace of a stored run, in a millisecond."""
    if (constant := told(path, "trace").get(name)) is not None:
        return [constant] * parquet.length(path)
    return parquet.column(path, name, ALLOWED, remedy(path))


def trace(path: Path) -> pd.DataFrame:
    """Return the trace of a stored run."""
    said = told(path, "trace")
    only = [name for name, value in said.items() if value is None]
    frame = parquet.load(path, allowed=ALLOWED, only=only, remedy=remedy(path))
    known = COLUMNS | own_columns(said.get("mechanism", ""))

    def typed(name: str, value: Any) -> Any:
        """Return a column of its type; of all at once `astype` takes three times as long."""
        type: Any = known[name].dtype if name in known else None
        if value is None:
            return frame[name].astype(type) if type else frame[name]
        return value if type in (None, "str") else np.full(len(frame), value, type)

    return pd.DataFrame({name: typed(name, value) for name, value in said.items()}, index=frame.index)


def distances(path: Path) -> dict[str, np.ndarray]:
    """Return the sampled distances of a stored run; those of pairs that older ones have are passed over."""
    shapes = {name: shape for name, shape in told(path, "distances").items() if is_read(name)}
    only = [SAMPLED + name for name in shapes]
    frame = parquet.load(path, allowed=ALLOWED, only=only, remedy=remedy(path))
    try:
        return {
            name: np.concatenate(list(frame[SAMPLED + name])).astype(dtype).reshape(shape)
            for name, (dtype, shape) in shapes.items()
        }
    except (TypeError, ValueError) as error:
        raise BadInput(f"{path}: found other distances than it says ({error}); {remedy(path)}") from None


def same(one: Stored, other: Stored) -> bool:
    """Return whether two runs are the same to the last bit, but for what was measured and where."""
    left, right = (run.trace.drop(columns=list(MEASURED), errors="ignore") for run in (one, other))
    arrays = [
        {name: (array.dtype, array.shape, array.tobytes()) for name, array in run.distances.items()}
        for run in (one, other)
    ]
    who = [[run.summary.get(key) for key in SAME] for run in (one, other)]
    return who[0] == who[1] and left.equals(right) and arrays[0] == arrays[1]
