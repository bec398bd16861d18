"""The state of a run between two rounds; saving it is the checkpoint, loading it is all of resume."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from fedpriv.atomic import writing


@dataclass
class RoundState:
    """What the next round needs and what the trace will be written from."""

    flat: torch.Tensor  # weights [d]
    velocity: torch.Tensor  # of the server's momentum [d]
    round: int = 0  # rounds completed
    rows: list[dict[str, Any]] = field(default_factory=list)  # of the trace
    samples: dict[str, list[np.ndarray]] = field(default_factory=dict)  # of distances, one array a round


def save(path: Path, identity: str, state: RoundState) -> None:
    """Write the state atomically into one file."""
    tensors = {"flat": state.flat.cpu(), "velocity": state.velocity.cpu()}
    samples = {name: [list(map(float, row)) for row in rows] for name, rows in state.samples.items()}
    # JSON keeps every float64 exactly, NaN and infinity included.
    book = {"round": state.round, "rows": state.rows, "samples": samples}
    with writing(path) as temporary:
        save_file(tensors, temporary, metadata={"identity": identity, "book": json.dumps(book)})


def load(path: Path, identity: str, device: torch.device) -> RoundState | None:
    """Return the saved state, or None if there is none, or it is of another config, or cannot be read."""
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("identity") != identity:
                return None
            book = json.loads(metadata["book"])
            flat, velocity = (file.get_tensor(name).to(device) for name in ("flat", "velocity"))
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError):
        return None
    samples = {name: [np.array(row) for row in rows] for name, rows in book["samples"].items()}
    return RoundState(flat, velocity, book["round"], book["rows"], samples)


def forget(path: Path) -> None:
    """Remove the state of a finished run and its folder, with what a killed writer may have left in it."""
    shutil.rmtree(path.parent, ignore_errors=True)
