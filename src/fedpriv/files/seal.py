"""A seal: a file that says in its own bytes what their digest is, so that a damaged one is known unread.

Every format that keeps a text of its writer's choice can carry one: parquet and safetensors in their
metadata, JSON in a key.
"""

import hashlib
import json
import mmap
import re
from pathlib import Path
from stat import S_ISREG
from typing import Any

MARK = b"blake2b:"
OPEN = (MARK + b"0" * 64).decode()  # what a writer puts where the digest will stand
SEAL = re.compile(re.escape(MARK) + b".{64}", re.DOTALL)


class Broken(ValueError):
    """The bytes of a file are not those that were sealed."""


def seal(path: Path) -> None:
    """Write the digest of the file over the one `OPEN` in it."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        found = SEAL.search(content)
        if not found:
            raise ValueError(f"{path}: no place for a seal")
        content[found.start() : found.end()] = _digest(content, found.start())


def check(path: Path) -> None:
    """Raise Broken if the file is not as it was sealed, or has no seal; OSError if it cannot be opened."""
    if not S_ISREG(path.stat().st_mode):
        raise Broken("a folder or a device, and no file")
    with path.open("rb") as file:
        if not path.stat().st_size:
            raise Broken("an empty file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = SEAL.search(content)
            if not found:
                raise Broken("no seal")
            if found.group() != _digest(content, found.start()):
                raise Broken("its bytes are not those that were written")


def of(path: Path) -> str:
    """Return the digest in the seal of a file, or the empty string where there is no seal or no file."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = SEAL.search(content)
            return found.group()[len(MARK) :].decode(errors="replace") if found else ""
    except ValueError:  # an empty file cannot be mapped
        return ""


def digest(told: Any) -> str:
    """Return the digest of plain data, the same for equal ones."""
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _digest(content: mmap.mmap, start: int) -> bytes:
    """Return the seal of `content`, the place of the seal itself left out."""
    digest = hashlib.blake2b(digest_size=32)
    with memoryview(content) as view:
        digest.update(view[:start])
        digest.update(view[start + len(OPEN) :])
    return MARK + digest.hexdigest().encode()
