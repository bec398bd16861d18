"""Write what a finished run leaves behind: trace, distances, model, summary."""

from __future__ import annotations

import json
import platform
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file

from fedpriv.atomic import writing
from fedpriv.probe import padded, width
from fedpriv.resume import RoundState
from fedpriv.trace import TRACE


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
        hardware = f"{processor()}, {threads} cores"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": device.type,
        "hardware": hardware,
        "threads": threads,
        "dtype": dtype,
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
    """Return the identity of the finished run in `out`, or None if there is none."""
    try:
        return json.loads((out / "summary.json").read_text())["identity"]
    except (OSError, json.JSONDecodeError, KeyError):
        return None


def trace(state: RoundState) -> pd.DataFrame:
    """Return the trace with exactly the columns and dtypes of `TRACE`."""
    return pd.DataFrame(state.rows, columns=pd.Index(TRACE)).astype(TRACE)


def write(out: Path, state: RoundState, probe: int, panel: int, summary: dict[str, Any]) -> None:
    """Write the four files of a run directory, each atomically; the summary last: it marks completion."""
    for torn in out.glob(".*.*"):  # left by a writer that was killed
        torn.unlink()
    frame = trace(state)
    with writing(out / "trace.parquet") as path:
        frame.to_parquet(path, index=False)
    arrays = {}
    for name, rows in state.samples.items():
        if name.startswith("instance_"):
            shape = tuple(np.max([row.shape for row in rows], axis=0))
        else:
            shape = (width(name, panel if name.startswith("panel_") else probe),)
        arrays[name] = padded(rows, shape)
    with writing(out / "distances.npz") as path:
        np.savez_compressed(path, **arrays)
    with writing(out / "model.safetensors") as path:
        save_file({"flat": state.flat.cpu()}, path)
    with writing(out / "summary.json") as path:
        path.write_text(json.dumps(summary, indent=2) + "\n")
