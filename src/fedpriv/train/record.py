"""Write what a finished run leaves behind: trace, distances, model, summary."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.torch import save_file

from fedpriv import partition
from fedpriv.config.run import RESULTS_VERSION, Probe, Run
from fedpriv.data.arrays import Arrays
from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, summary
from fedpriv.files.atomic import remove_torn, writing
from fedpriv.files.seal import OPEN, Broken, check, seal
from fedpriv.mechanisms.distances import distance_count, pad_rounds
from fedpriv.trace import TRACE
from fedpriv.train.state import RoundState

KEPT = "resume"  # the folder that no workflow knows
FILES = ("trace.parquet", "distances.npz", "model.safetensors", "summary.json")  # of a finished run


def finished(out: Path) -> str | None:
    """Return the identity of the finished run in `out`, or None if there is none or a file of it is gone.

    Raises BadInput if a file has the name of one of its files and was not written by training, or is no
    longer what was written: nobody knows whose it is, and nothing is written over it.
    """
    there = [out / name for name in FILES if (out / name).exists()]
    for path in there:
        try:
            check(path)
        except (OSError, Broken) as error:
            raise BadInput(
                f"{path}: found a file that is not what training writes ({error}), allowed: a run, whole; "
                "move it away or delete it, and train again"
            ) from None
    return summary.load(out / "summary.json").get("identity") if len(there) == len(FILES) else None


def link_outputs(out: Path) -> None:
    """Link the files of a finished run: a workflow removes its outputs before it runs a job again."""
    kept = out / KEPT
    kept.mkdir(exist_ok=True)
    for name in FILES:
        (kept / name).unlink(missing_ok=True)
        with suppress(OSError):  # a file system without links keeps nothing
            os.link(out / name, kept / name)


def restore_outputs(out: Path, identity: str) -> bool:
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
            partial.unlink()
            os.link(path, partial)
    return True


def summarise(
    run: Run,
    name: str,
    seed: int,
    state: RoundState,
    data: Arrays,
    clients: partition.Partition,
    labels: dict[str, Any],
) -> dict[str, Any]:
    """Return what a finished run says about itself as a whole; a diverged one has no accuracy."""
    return labels | {
        "run": name,
        "seed": seed,
        "results_version": RESULTS_VERSION,
        "config": run.training(),
        "rounds": state.round,
        "rounds_wanted": run.rounds,
        "diverged": state.round if state.diverged else None,
        "parameters": len(state.flat),
        "test_accuracy": None if state.diverged else state.rows[-1]["test_accuracy"],
        "data": labels.get("data", {})
        | {
            "name": run.dataset,
            "train": len(data.y_train),
            "test": len(data.y_test),
            "repetition": len(clients.indices) / len(data.y_train),
            "note": data.note,
        },
        "evaluated_on": "validation" if run.validation else "test",
        "seconds": sum(row["seconds"] for row in state.rows),
        "peak_mib": max(row["peak_mib"] for row in state.rows),
    }


def trace(state: RoundState) -> pd.DataFrame:
    """Return the trace with exactly the columns and dtypes of `TRACE`."""
    return pd.DataFrame(state.rows, columns=pd.Index(TRACE)).astype(TRACE)


def write(out: Path, state: RoundState, probe: Probe, told: dict[str, Any]) -> None:
    """Write the four files of a run directory, each atomically; the summary last: it marks completion."""
    for name in FILES:
        remove_torn(out / name)
    parquet.save(trace(state), out / "trace.parquet")
    arrays = {}
    for name, rows in state.samples.items():
        if name.startswith("instance_"):
            shape = tuple(np.max([row.shape for row in rows], axis=0))
        else:
            shape = (distance_count(name, probe.panel if name.startswith("panel_") else probe.clients),)
        arrays[name] = pad_rounds(rows, shape)
    npz.save(out / "distances.npz", arrays, compressed=True)
    with writing(out / "model.safetensors") as path:
        save_file({"flat": state.flat.cpu()}, path, metadata={"seal": OPEN})
        seal(path)
    summary.save(out / "summary.json", told)
