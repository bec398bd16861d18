"""Arrays in npz files: written whole and sealed, read whole or refused."""

import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.store.files import OPEN, check_seal, seal, writing


def save_npz(path: Path, arrays: Mapping[str, np.ndarray], compressed: bool = False) -> Path:
    """Write `arrays` to `path` atomically, sealed, and return it; equal arrays give equal bytes."""
    write = np.savez_compressed if compressed else np.savez
    with writing(path) as partial:
        with partial.open("wb") as file:
            write(file, **dict(arrays))  # pyright: ignore[reportArgumentType]
        with zipfile.ZipFile(partial, "a") as archive:
            archive.comment = OPEN.encode()
        seal(partial)
    return path


def load_npz(
    path: Path, keys: tuple[str, ...], defaults: Mapping[str, np.ndarray] = MappingProxyType({})
) -> list[np.ndarray]:
    """Return the arrays named `keys`, of which those with a default may be missing.

    A missing, corrupt or foreign file is BadInput naming it.
    """
    allowed = f"an npz file with exactly {', '.join(keys)}"
    members = load_all(path, allowed)
    arrays = {**defaults, **members}
    if set(arrays) != set(keys):
        raise BadInput(
            f"{path}: found {', '.join(members) or 'nothing'}, allowed: {allowed}; delete it and rerun"
        )
    return [arrays[key] for key in keys]


def part(file: np.lib.npyio.NpzFile, key: str) -> np.ndarray:
    """Return one array of an open file; a member that is no .npy is a ValueError."""
    try:
        array: Any = file[key]
    except ValueError as error:
        words = "; save words by .astype(str)" if "allow_pickle" in str(error) else ""
        raise ValueError(f"{key}: {error}{words}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{key} is no array, as np.savez writes it")
    return array


def load_all(
    path: Path, allowed: str, ours: bool = True, only: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Return all arrays of a file, by name; a missing or corrupt one is BadInput naming it.

    So is one that `save` has not written, unless it need not be `ours`. With `only` no other array is read.
    """
    try:
        if ours:
            check_seal(path)
        with path.open("rb") as opened:
            if opened.read(2) != b"PK":
                raise ValueError("no archive, as np.savez writes it")
        with np.load(path) as file:
            return {key: part(file, key) for key in file.files if not only or key in only}
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: {allowed}") from None
    except Exception as error:  # NumPy and zipfile have many for damaged bytes
        remedy = "; delete it and rerun" if ours else ""
        raise BadInput(f"{path}: found an unreadable file ({error}), allowed: {allowed}{remedy}") from error
