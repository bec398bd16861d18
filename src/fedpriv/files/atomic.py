"""Write a file whole or not at all, and one process at a time."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from filelock import FileLock
from safetensors import SafetensorError


@contextmanager
def writing(path: Path) -> Generator[Path]:
    """Yield a temporary path beside `path`; move it there when the block ends well, remove it otherwise.

    At every moment `path` holds what it held before, or all that was written. Its mode is that of any new
    file, whatever its writer makes of it. A full disk is an OSError that names it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: writers choose their format by it. Two processes never share the rest, whatever
    # machines they run on.
    temporary = path.with_name(f".{path.stem}.{token_hex(4)}{path.suffix}")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)
        move(temporary, path)
    except (OSError, SafetensorError) as error:  # safetensors has one of its own for a full disk
        raise OSError(f"{path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Let one process at a time work on `path`, in a folder that is there; the others wait."""
    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            lock.unlink()  # who waits for it notices, and makes a new one


def remove_torn(path: Path) -> None:
    """Remove what killed writers of `path` have left beside it, and nothing else."""
    ours = re.compile(rf"\.{re.escape(path.stem)}\.[0-9a-f]{{8}}{re.escape(path.suffix)}")
    for one in path.parent.iterdir() if path.parent.is_dir() else ():
        if ours.fullmatch(one.name):
            one.unlink(missing_ok=True)


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
