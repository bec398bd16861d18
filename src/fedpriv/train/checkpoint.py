"""Saving the state of a run is the checkpoint, loading it is all of resume."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from fedpriv.errors import BadInput
from fedpriv.local.client import ClientState
from fedpriv.progress import print_stderr
from fedpriv.store.files import OPEN, Broken, check_seal, remove_torn, seal, writing
from fedpriv.trace import is_read
from fedpriv.train.record import RoundState

SAMPLES, CLIENTS, MEMORY = "samples.", "clients.", "memory."  # before the names of their tensors
OPTIONAL = ("second", "average")  # tensors that not every state has


@contextmanager
def lock_run(path: Path) -> Generator[None]:
    """Keep other processes away from the run whose state is at `path`; BadInput if one is there.

    Without a state nothing is left behind: a run that was refused leaves no folder. What stands where the
    folder, its lock or the state belongs is BadInput that names it.
    """
    run, file = path.parent.parent, path.with_name("lock")
    lock = FileLock(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        # Where a file system has no locks, the file says who made it, and a killed process leaves it.
        who = " ".join(file.read_text(errors="replace").split()) if file.is_file() else ""
        left = f" ({who}); delete {file} if that is gone" if who else ""
        raise BadInput(
            f"{run}: found another process that trains in it, allowed: one at a time{left}"
        ) from None
    except OSError as error:
        at = error.filename or file  # a lock that there is no room for has no name
        raise BadInput(f"{at}: {error.strerror}, allowed: a folder to train in, with locks (flock)") from None
    try:
        yield
    finally:
        if not path.exists():
            # While it is held: afterwards another process might hold it, and a third make a new one.
            file.unlink(missing_ok=True)
            with suppress(OSError):  # not empty: the run is finished
                path.parent.rmdir()
                run.rmdir()
        lock.release()


def save_state(path: Path, identity: str, engine: str, state: RoundState) -> None:
    """Write the state atomically into one file; `engine` says what has computed it."""
    tensors = {"flat": state.flat.cpu(), "velocity": state.velocity.cpu()}
    if state.clients:
        tensors |= {CLIENTS + name: part.cpu() for name, part in state.clients._asdict().items()}
    tensors |= {name: part.cpu() for name in OPTIONAL if (part := getattr(state, name)) is not None}
    tensors |= {MEMORY + name: part for name, part in state.memory.items()}
    for name, rows in state.samples.items():
        tensors[SAMPLES + name] = torch.from_numpy(np.concatenate([row.ravel() for row in rows]))
    shapes = {name: [row.shape for row in rows] for name, rows in state.samples.items()}
    # JSON keeps every float64 exactly, NaN and infinity included.
    book = {"round": state.round, "rows": state.rows, "shapes": shapes}
    metadata = {"identity": identity, "engine": engine, "book": json.dumps(book), "seal": OPEN}
    with writing(path) as temporary:
        save_file(tensors, temporary, metadata=metadata)
        seal(temporary)


def load_state(path: Path, identity: str, engine: str, device: torch.device) -> RoundState | None:
    """Return the saved state, or None if there is none, or what is there is damaged.

    Such a file is put aside, under a name that nothing has, and a line on stderr says so. Raises BadInput if
    it is the state of another config, or another engine has computed it: what came of both would be the
    result of neither.
    """
    metadata = sealed_metadata(path)
    if not metadata:
        if path.exists():
            names = (path.with_name(f"{path.name}.damaged{number or ''}") for number in count())
            aside = next(name for name in names if not os.path.lexists(name))
            path.rename(aside)
            print_stderr(f"{path}: found a damaged state, now {aside.name}; the training starts over")
        return None
    if (other := metadata["identity"]) != identity:
        raise BadInput(
            f"{path}: found the saved state of another config, {other}, allowed: {identity}; go on with "
            "that config, or move or delete the file to start over"
        )
    if (computed := metadata["engine"]) != engine:
        raise BadInput(
            f"{path}: found a state computed by {computed}, allowed: by {engine}, which is here; go on "
            "where that engine is, or delete the file to start over"
        )
    return read_state(path, json.loads(metadata["book"]), device)


def sealed_metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a state; none where there is no state, or a damaged one."""
    try:
        check_seal(path)
        with safe_open(path, framework="pt") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError, Broken):
        return {}


def read_state(path: Path, book: dict[str, Any], device: torch.device) -> RoundState:
    """Return the state in a file that was found whole."""
    with safe_open(path, framework="pt") as file:
        # Copied: in the file they lie anywhere, and some kernels sum in another order where a tensor
        # does not lie as torch lays it.
        flat, velocity = (file.get_tensor(name).clone().to(device) for name in ("flat", "velocity"))
        names = list(file.keys())
        optional = {name: file.get_tensor(name).clone().to(device) for name in OPTIONAL if name in names}
        kept, memory = (
            {
                name.removeprefix(prefix): file.get_tensor(name).clone().to(where)
                for name in names
                if name.startswith(prefix)
            }
            for prefix, where in ((CLIENTS, device), (MEMORY, "cpu"))
        )
        shapes_of = {name: shapes for name, shapes in book["shapes"].items() if is_read(name)}
        values = {name: file.get_tensor(SAMPLES + name).numpy() for name in shapes_of}
    samples = {}
    for name, shapes in shapes_of.items():
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        parts = np.split(values[name], ends)
        samples[name] = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    clients = ClientState(**kept) if kept else None
    state = flat, velocity, book["round"], list(book["rows"]), samples, memory
    return RoundState(*state, clients=clients, **optional)


def remove_state(path: Path, identity: str) -> None:
    """Remove the state of a finished run, and what a killed writer may have left of one; no other's."""
    if sealed_metadata(path).get("identity") == identity:
        path.unlink()
    remove_torn(path)
