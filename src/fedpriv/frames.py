"""Data frames in parquet files: written whole and sealed, read whole or refused."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fedpriv.atomic import writing
from fedpriv.errors import BadInput
from fedpriv.seal import OPEN, check, seal


def save(frame: pd.DataFrame, path: Path) -> Path:
    """Write `frame`, without its index, atomically and sealed; return `path`."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with writing(path) as partial:
        with parquet.ParquetWriter(partial, table.schema) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"seal": OPEN})
        seal(partial)
    return path


def load(path: Path, columns: Iterable[str] = (), allowed: str = "a finished run") -> pd.DataFrame:
    """Read a file that must have `columns`; a missing, damaged or foreign one is BadInput naming it."""
    try:
        check(path)
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: {allowed}") from None
    # What pyarrow raises on bytes that are no parquet is one of these.
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(
            f"{path}: found an unreadable file ({reason}), allowed: {allowed}; delete it and rerun"
        ) from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: the columns in docs/architecture.md")
    return frame
