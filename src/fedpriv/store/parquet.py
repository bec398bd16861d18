"""Data frames in parquet files: written whole and sealed, read whole or refused.

pyarrow and pandas have a meaning of their own for a path that begins with `~` or `s3:`. What they are given
is absolute, so that they read and write the file whose seal was looked at.
"""

import json
import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fedpriv.errors import BadInput
from fedpriv.store import files
from fedpriv.store.files import writing
from fedpriv.store.summary import remedy_of

SOURCES, MAKER = "made_from", "by"


def save_frame(frame: pd.DataFrame, path: Path, sources: Iterable[Path] = (), made_with: str = "") -> Path:
    """Write `frame`, without its index, atomically and sealed; return `path`.

    The seals of the files that it was made from are kept with it, by where they are from there, and what it
    was `made_with`.
    """
    folder = path.parent.resolve()
    made_from = {os.path.relpath(source.resolve(), folder): files.seal_of(source) for source in sources}
    metadata = {SOURCES: json.dumps(made_from)} | ({MAKER: made_with} if made_with else {})
    return save_table(pa.Table.from_pandas(frame, preserve_index=False), path, metadata)


def save_table(table: Any, path: Path, metadata: Mapping[str, str], **layout: Any) -> Path:
    """Write a table of pyarrow's, atomically and sealed, with this `metadata`; return `path`.

    `layout` says how its `ParquetWriter` lays it out.
    """
    with writing(path) as partial:
        with parquet.ParquetWriter(partial, table.schema, **layout) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"seal": files.OPEN, **metadata})
        files.seal(partial)
    return path


def load_frame(
    path: Path,
    columns: Iterable[str] = (),
    allowed: str = "a finished run",
    only: list[str] | None = None,
) -> pd.DataFrame:
    """Read a file that must have `columns`; a missing, damaged or foreign one is BadInput naming it.

    With `only` no other columns are read.
    """
    with sealed_file(path, allowed):
        frame = pd.read_parquet(path.absolute(), columns=only)
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: the columns that the workflow writes")
    return frame


def length(path: Path) -> int:
    """Return the number of rows of a file that is whole."""
    return int(parquet.read_metadata(path.absolute()).num_rows)


def metadata_text(path: Path, key: str, allowed: str) -> str:
    """Text under a key of a file's metadata; a file that is not whole is BadInput naming it."""
    with sealed_file(path, allowed):
        metadata = parquet.read_metadata(path.absolute()).metadata or {}
    if key.encode() not in metadata:
        raise BadInput(f"{path}: found nothing that is called {key}, allowed: {allowed}")
    return metadata[key.encode()].decode()


@contextmanager
def sealed_file(path: Path, allowed: str = "a finished run") -> Generator[None]:
    """Check the seal of a file that is read in the block; what goes wrong is BadInput naming it."""
    try:
        files.check_seal(path)
        yield
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: {allowed}") from None
    # What pyarrow raises on bytes that are no parquet is one of these.
    except (OSError, ValueError, pa.ArrowException) as error:
        what = f"an unreadable file ({str(error).splitlines()[0]})"
        raise BadInput(f"{path}: found {what}, allowed: {allowed}; {remedy_of(path)}") from None


def changed_source(path: Path) -> str:
    """Source of a file that has changed since it was made; empty where none has."""
    kept = parquet.read_metadata(path.absolute()).metadata or {}
    made_from = json.loads(kept.get(SOURCES.encode(), b"{}"))
    return next(
        (name for name, was in made_from.items() if was != files.seal_of(path.parent.resolve() / name)), ""
    )


def made_with(path: Path) -> str:
    """Mark of what a file was made with; empty where it says nothing, or cannot be read."""
    with suppress(OSError, ValueError, pa.ArrowException):
        return (parquet.read_metadata(path.absolute()).metadata or {}).get(MAKER.encode(), b"").decode()
    return ""
