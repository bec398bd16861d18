"""Data frames in parquet files: written whole and sealed, read whole or refused."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fedpriv.errors import BadInput
from fedpriv.files import made, seal
from fedpriv.files.atomic import writing

SOURCES = "made_from"


def save(frame: pd.DataFrame, path: Path, sources: Iterable[Path] = (), made_with: str = "") -> Path:
    """Write `frame`, without its index, atomically and sealed; return `path`.

    The seals of the files that it was made from are kept with it, by their names, and what it was
    `made_with` (`fedpriv.files.made`).
    """
    return save_table(pa.Table.from_pandas(frame, preserve_index=False), path, sources, made_with)


def save_table(
    table: Any, path: Path, sources: Iterable[Path] = (), made_with: str = "", **layout: Any
) -> Path:
    """Do the same with a table of pyarrow's; `layout` says how its `ParquetWriter` lays it out."""
    made_from = {source.name: seal.of(source) for source in sources}
    told = {"seal": seal.OPEN, SOURCES: json.dumps(made_from)} | ({"by": made_with} if made_with else {})
    with writing(path) as partial:
        with parquet.ParquetWriter(partial, table.schema, **layout) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(told)
        seal.seal(partial)
    return path


def load(
    path: Path,
    columns: Iterable[str] = (),
    allowed: str = "a finished run",
    only: list[str] | None = None,
) -> pd.DataFrame:
    """Read a file that must have `columns`; a missing, damaged or foreign one is BadInput naming it.

    With `only` no other columns are read.
    """
    try:
        seal.check(path)
        frame = pd.read_parquet(path, columns=only)
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


def stale(path: Path) -> str:
    """Return what a file was not made with as it is now, or nothing: a file beside it, or our own code."""
    kept = parquet.read_metadata(path).metadata or {}
    made_from = json.loads(kept.get(SOURCES.encode(), b"{}"))
    others = (name for name, was in made_from.items() if was != seal.of(path.with_name(name)))
    return next(others, "version of the code" if made.by_other_code(path) else "")
