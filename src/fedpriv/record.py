"""Write what a finished run leaves behind: trace, distances, model, summary."""

from __future__ import annotations

import os
import platform
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file

from fedpriv import frames, provenance, summary
from fedpriv.atomic import writing
from fedpriv.data import npz
from fedpriv.probe import padded, width
from fedpriv.resume import RoundState
from fedpriv.seal import OPEN, check, seal
from fedpriv.trace import TRACE

KEPT = "resume"  # the folder that no workflow knows
FILES = ("trace.parquet", "distances.npz", "model.safetensors", "summary.json")  # of a finished run


def peak_mib(device: torch.device) -> float:
    """Return the largest memory used so far, MiB: of the process on a CPU, of the allocator on a GPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def environment(device: torch.device, dtype: str, threads: int) -> dict[str, Any]:
    """Return what the numbers were computed with."""
    if device.type == "cuda":
        hardware = torch.cuda.get_device_name(device)
    else:
        hardware = f"{processor()}, {threads} core{'s' if threads > 1 else ''}"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": device.type,
        "hardware": hardware,
        "threads": threads,
        "dtype": dtype,
        "code": provenance.code(),
        "libraries": provenance.libraries(),
    }


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def finished(out: Path) -> str | None:
    """Return the identity of the finished run in `out`, or None if there is none or a file of it is gone.

    Raises BadInput if the summary is damaged: nobody knows whose run it is.
    """
    if not all((out / name).exists() for name in FILES):
        return None
    return summary.load(out / "summary.json").get("identity")


def keep(out: Path) -> None:
    """Link the files of a finished run: a workflow removes its outputs before it runs a job again."""
    kept = out / KEPT
    kept.mkdir(exist_ok=True)
    for name in FILES:
        (kept / name).unlink(missing_ok=True)
        with suppress(OSError):  # a file system without links keeps nothing
            os.link(out / name, kept / name)


def restored(out: Path, identity: str) -> bool:
    """Put back the finished run of that identity, if all its files were kept and none is damaged."""
    kept = [out / KEPT / name for name in FILES]
    try:
        for path in kept:
            check(path)
        if summary.load(out / KEPT / "summary.json").get("identity") != identity:
            return False
    except (OSError, ValueError):
        return False
    for path in kept:
        with writing(out / path.name) as partial:
            os.link(path, partial)
    return True


def trace(state: RoundState) -> pd.DataFrame:
    """Return the trace with exactly the columns and dtypes of `TRACE`."""
    return pd.DataFrame(state.rows, columns=pd.Index(TRACE)).astype(TRACE)


def write(out: Path, state: RoundState, probe: int, panel: int, told: dict[str, Any]) -> None:
    """Write the four files of a run directory, each atomically; the summary last: it marks completion."""
    for torn in out.glob(".*.*"):  # left by a writer that was killed
        torn.unlink()
    frames.save(trace(state), out / "trace.parquet")
    arrays = {}
    for name, rows in state.samples.items():
        if name.startswith("instance_"):
            shape = tuple(np.max([row.shape for row in rows], axis=0))
        else:
            shape = (width(name, panel if name.startswith("panel_") else probe),)
        arrays[name] = padded(rows, shape)
    npz.save(out / "distances.npz", arrays, compressed=True)
    with writing(out / "model.safetensors") as path:
        save_file({"flat": state.flat.cpu()}, path, metadata={"seal": OPEN})
        seal(path)
    summary.save(out / "summary.json", told)
