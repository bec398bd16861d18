"""Files that are written whole or not at all, sealed, and read whole or refused.

A seal is the digest of a file's bytes in the file itself, so that a damaged one is known unread. Every
format that keeps a text of its writer's choice can carry one: parquet and safetensors in their metadata,
JSON in a key.
"""

import hashlib
import json
import mmap
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from tempfile import TemporaryFile
from typing import Any

from safetensors import SafetensorError

from fedpriv.errors import is_full


@contextmanager
def writing(path: Path) -> Generator[Path]:
    """Yield a temporary path beside `path`; move it there when the block ends well, remove it otherwise.

    At every moment `path` holds what it held before, or all that was written. Its mode is that of any new
    file, whatever its writer makes of it. What the disk refuses is an OSError that names `path`. The
    temporary path is absolute: writers may have a meaning of their own for `~` and `s3:`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept: writers choose their format by it. Two processes never share the rest, whatever
    # machines they run on.
    temporary = path.absolute().with_name(f".{path.stem}.{token_hex(4)}{path.suffix}")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)
        move(temporary, path)
    except (OSError, SafetensorError) as error:  # safetensors has one of its own for a full disk
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise OSError(f"{path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


ROOM = 1 << 20  # bytes, more than most runs leave


def existing_folder(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.is_dir())


def require_room(folder: Path) -> None:
    """Raise OSError where a full disk takes no file, before there is anything that would be lost.

    The folder is not made; what else is wrong with it whoever writes there finds out.
    """
    try:
        with TemporaryFile(dir=existing_folder(folder)) as file:
            file.write(bytes(ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if is_full(error):
            raise OSError(f"{folder}: no room for what a run leaves ({error}); it was not trained") from error


@contextmanager
def hold_lock(path: Path) -> Generator[None]:
    """Let one process at a time work on `path`, in a folder that is there; the others wait."""
    from filelock import FileLock  # what is quick to import locks nothing

    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            lock.unlink()  # who waits for it notices, and makes a new one


def remove_torn(path: Path) -> None:
    """Remove what killed writers of `path` have left beside it, and nothing else."""
    ours = re.compile(rf"\.{re.escape(path.stem)}\.[0-9a-f]{{8}}{re.escape(path.suffix)}")
    for file in path.parent.iterdir() if path.parent.is_dir() else ():
        if ours.fullmatch(file.name):
            file.unlink(missing_ok=True)


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


MARK = b"blake2b:"
OPEN = (MARK + b"0" * 64).decode()  # what a writer puts where the digest will stand
SEAL = re.compile(re.escape(MARK) + b".{64}", re.DOTALL)


class Broken(ValueError):
    """The bytes of a file are not those that were sealed."""


def seal(path: Path) -> None:
    """Write the digest of the file over the one `OPEN` in it."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        match = SEAL.search(content)
        if not match:
            raise ValueError(f"{path}: no place for a seal")
        content[match.start() : match.end()] = _digest(content, match.start())


def check_seal(path: Path) -> str:
    """Return the digest in the seal of a file that is as it was sealed.

    Broken is one that is not, or has no seal; OSError, one that cannot be opened.
    """
    if not S_ISREG(path.stat().st_mode):
        raise Broken("a folder or a device, and no file")
    with path.open("rb") as file:
        if not path.stat().st_size:
            raise Broken("an empty file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            match = SEAL.search(content)
            if not match:
                raise Broken("no seal")
            if match.group() != _digest(content, match.start()):
                raise Broken("its bytes are not those that were written")
            return match.group()[len(MARK) :].decode()


def seal_of(path: Path) -> str:
    """Return the digest in the seal of a file; empty where there is none that is as it was sealed."""
    try:
        return check_seal(path)
    except (FileNotFoundError, Broken):
        return ""


def digest(data: Any) -> str:
    """Return the digest of plain data, the same for equal ones."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _digest(content: mmap.mmap, start: int) -> bytes:
    """Return the seal of `content`, the bytes of the seal itself left out."""
    digest = hashlib.blake2b(digest_size=32)
    with memoryview(content) as view:
        digest.update(view[:start])
        digest.update(view[start + len(OPEN) :])
    return MARK + digest.hexdigest().encode()
