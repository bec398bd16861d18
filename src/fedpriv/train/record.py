"""Write what a finished run leaves behind: trace, distances, model, summary."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.torch import save_file

from fedpriv import partition
from fedpriv.config.run import RESULTS_VERSION, Probe, Run
from fedpriv.data.arrays import Arrays
from fedpriv.files import npz, parquet, summary
from fedpriv.files.atomic import remove_torn, writing
from fedpriv.files.seal import OPEN, of, seal
from fedpriv.files.summary import DISTANCES, FILES, SUMMARY, TRACE, WEIGHTS
from fedpriv.mechanisms.distances import pad_rounds
from fedpriv.trace import MISSING, columns_of
from fedpriv.train.state import RoundState


def summarise(
    run: Run,
    name: str,
    seed: int,
    state: RoundState,
    data: Arrays,
    clients: partition.Partition,
    labels: dict[str, Any],
) -> dict[str, Any]:
    """Return what a finished run says about itself as a whole.

    One that diverged has no accuracy, and neither has one that predicts numbers.
    """
    accuracy = state.rows[-1]["test_accuracy"]
    return labels | {
        "run": name,
        "seed": seed,
        "results_version": RESULTS_VERSION,
        "config": run.training(),
        "rounds": state.round,
        "rounds_wanted": run.rounds,
        "diverged": state.round if state.diverged else None,
        "parameters": len(state.flat),
        "test_accuracy": None if state.diverged or math.isnan(accuracy) else accuracy,
        "data": labels.get("data", {})
        | {
            "name": run.dataset if isinstance(run.dataset, str) else run.dataset.label,
            "train": len(data.y_train),
            "distinct": len(np.unique(data.content)),
            "test": len(data.y_test),
            "repetition": len(clients.indices) / len(data.y_train),
            "note": data.note,
        }
        | majority(data),
        "evaluated_on": "validation" if run.validation else "test",
        "seconds": sum(row["seconds"] for row in state.rows),
        "peak_mib": max(row["peak_mib"] for row in state.rows),
    }


def majority(data: Arrays) -> dict[str, float]:
    """Return the share of the largest class of the test split; of numbers to predict there is none."""
    counted = data.counted
    return {"majority": float(np.bincount(counted).max() / len(counted))} if len(counted) else {}


def trace(state: RoundState) -> pd.DataFrame:
    """Return the trace with exactly the columns and dtypes that `columns_of` has for such a run.

    Rounds of a state that older code saved lack the columns that came later.
    """
    rows = [MISSING | row for row in state.rows]
    of_run = columns_of(str(rows[-1]["mechanism"]), str(rows[-1]["sampling_law"]))
    types = {name: column.dtype for name, column in of_run.items()}
    return pd.DataFrame(rows, columns=pd.Index(types)).astype(types)


def write(out: Path, state: RoundState, probe: Probe, told: dict[str, Any]) -> None:
    """Write the four files of a run directory, each atomically; the summary last: it marks completion."""
    for name in FILES:
        remove_torn(out / name)
    parquet.save(trace(state), out / TRACE)
    arrays = {}
    for name, rows in state.samples.items():
        if name.startswith(("instance_", "canary_")):
            shape = tuple(np.max([row.shape for row in rows], axis=0))
        else:
            shape = (probe.panel if name.startswith("panel_") else probe.clients,)
        arrays[name] = pad_rounds(rows, shape)
    npz.save(out / DISTANCES, arrays, compressed=True)
    with writing(out / WEIGHTS) as path:
        save_file({"flat": state.model.cpu()}, path, metadata={"seal": OPEN})
        seal(path)
    seals = {name: of(out / name) for name in (TRACE, DISTANCES, WEIGHTS)}
    summary.save(out / SUMMARY, told | {"seals": seals})
