"""Free space, against what the presets take."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fedpriv.doctor.finding import Finding

# GB of data and results together, while it runs: demo, search, laptop and binary as measured, rounded up;
# paper reckoned from the size of its models and data. Photographs from Kaggle come on top.
NEEDS = {
    "demo": 0.1,
    "search": 0.2,
    "readings": 0.3,
    "laptop": 0.4,
    "guarantees_search": 0.4,
    "guarantees": 0.5,
    "binary": 0.6,
    "handcrafted": 2.4,
    "paper": 6.0,
}


def existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(one for one in (folder, *folder.parents) if one.exists())


def free(folder: Path) -> float:
    """Return the free space, GB, where `folder` is or would be made."""
    return shutil.disk_usage(existing(folder)).free / 1e9


def size(gigabytes: float) -> str:
    """Return a size in words."""
    return f"{gigabytes:.1f} GB" if gigabytes < 10 else f"{gigabytes:,.0f} GB"


def disk(resources: Path, results: Path) -> Finding:
    """Say which presets there is room for, where data and results are written."""
    locked = [str(folder) for folder in (resources, results) if not os.access(existing(folder), os.W_OK)]
    if locked:
        said = f"{', '.join(locked)} cannot be written; take a folder of your own"
        return Finding("disk", "missing", said)
    rooms = {folder: free(folder) for folder in (resources, results)}
    least = min(rooms.values())
    said = ", ".join(f"{size(room)} free for {folder}" for folder, room in rooms.items())
    fits = [name for name, need in NEEDS.items() if need <= least]
    wanting = [f"{name} ({size(need)})" for name, need in NEEDS.items() if need > least]
    if not fits:
        return Finding("disk", "missing", f"{said}; make room: even the demo takes {size(NEEDS['demo'])}")
    if wanting:
        return Finding(
            "disk", "to do", f"{said}: enough for {', '.join(fits)}; make room for {', '.join(wanting)}"
        )
    return Finding("disk", "ok", f"{said}: enough for every preset (paper: {size(NEEDS['paper'])})")
