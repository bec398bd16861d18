"""Write a file whole or not at all."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from safetensors import SafetensorError


@contextmanager
def writing(path: Path) -> Generator[Path]:
    """Yield a temporary path beside `path`; move it there when the block ends well, remove it otherwise.

    At every moment `path` holds what it held before, or all that was written. A full disk is an OSError that
    names it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: writers choose their format by it. Two processes never share the rest, whatever
    # machines they run on.
    temporary = path.with_name(f".{path.stem}.{token_hex(4)}{path.suffix}")
    try:
        yield temporary
        move(temporary, path)
    except (OSError, SafetensorError) as error:  # safetensors has one of its own for a full disk
        raise OSError(f"{path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def move(temporary: Path, path: Path) -> None:
    """Give a finished file beside `path` that name; afterwards a loss of power takes nothing back."""
    flush(temporary)
    os.replace(temporary, path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk and not only in memory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
