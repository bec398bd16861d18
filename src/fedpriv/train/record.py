"""What a run carries from round to round, and what it writes down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file

from fedpriv import partition
from fedpriv.config.run import Probe, Run
from fedpriv.data.arrays import Arrays
from fedpriv.frozen import RESULTS_VERSION
from fedpriv.local.client import ClientState, Task, initial_client_state
from fedpriv.mechanisms.gaussian import pad_rounds
from fedpriv.schemes.base import Memory
from fedpriv.store import npz, parquet, summary
from fedpriv.store.files import OPEN, remove_torn, seal, seal_of, writing
from fedpriv.store.summary import DISTANCES, FILES, SUMMARY, TRACE, WEIGHTS
from fedpriv.streams import Streams
from fedpriv.trace import MISSING, columns_of


@dataclass
class RoundState:
    """What the next round needs and what the trace will be written from."""

    flat: torch.Tensor  # weights [d]
    velocity: torch.Tensor  # of the server's momentum, or Adam's first moments [p]
    round: int = 0  # rounds completed
    rows: list[dict[str, Any]] = field(default_factory=list)  # of the trace
    samples: dict[str, list[np.ndarray]] = field(default_factory=dict)  # distances, an array a round
    memory: Memory = field(default_factory=dict)  # of the scheme
    second: torch.Tensor | None = None  # moments of the server's Adam [p], after its first round
    average: torch.Tensor | None = None  # of the weights of all rounds [d], where the server averages
    clients: ClientState | None = None  # of persistent clients, stacked: weights [clients, d] and memories

    @property
    def model(self) -> torch.Tensor:
        """Return the weights `[d]` that are evaluated and saved."""
        return self.flat if self.average is None else self.average

    @property
    def diverged(self) -> bool:
        """Whether weights are no longer finite, or nobody in the last cohort had a finite loss."""
        last = self.rows[-1] if self.rows else {"cohort_size": 0}
        lost = last["cohort_size"] > 0 and math.isnan(last["train_loss"])
        return lost or not bool(self.flat.isfinite().all())


def initial_weights(run: Run, task: Task, streams: Streams) -> torch.Tensor:
    """Return the weights `[d]` that a run starts from."""
    return run.model.initial(task.width, task.example, streams.numpy("init")).to(task.inputs.device)


def initial_state(run: Run, task: Task, streams: Streams, clients: int) -> RoundState:
    """Return the state before the first round; persistent clients start from the server's weights."""
    flat = initial_weights(run, task, streams)
    protected = task.layout.protected
    state = RoundState(flat, torch.zeros_like(flat[:protected]), memory=run.scheme.memory(protected))
    if run.local.keeps_clients:
        state.clients = initial_client_state(flat.repeat(clients, 1), run.local)
    return state


def summarise(
    run: Run,
    name: str,
    seed: int,
    state: RoundState,
    data: Arrays,
    clients: partition.Partition,
    labels: dict[str, Any],
) -> dict[str, Any]:
    """Summary of a finished run.

    One that diverged has no accuracy, and neither has one that predicts numbers.
    """
    accuracy = state.rows[-1]["test_accuracy"]
    counted = data.counted  # labels of the test split; none of numbers to predict
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
        | ({"majority": float(np.bincount(counted).max() / len(counted))} if len(counted) else {}),
        "evaluated_on": "validation" if run.validation else "test",
        "seconds": sum(row["seconds"] for row in state.rows),
        "peak_mib": max(row["peak_mib"] for row in state.rows),
    }


def trace_of(state: RoundState) -> pd.DataFrame:
    """Return the trace with exactly the columns and dtypes that `columns_of` has for such a run.

    Rounds of a state that older code saved lack the columns that came later.
    """
    rows = [MISSING | row for row in state.rows]
    of_run = columns_of(str(rows[-1]["mechanism"]), str(rows[-1]["sampling_law"]))
    types = {name: column.dtype for name, column in of_run.items()}
    return pd.DataFrame(rows, columns=pd.Index(types)).astype(types)


def write_run(out: Path, state: RoundState, probe: Probe, summarised: dict[str, Any]) -> None:
    """Write the four files of a run directory, each atomically; the summary last: it marks completion."""
    for name in FILES:
        remove_torn(out / name)
    parquet.save_frame(trace_of(state), out / TRACE)
    arrays = {}
    for name, rows in state.samples.items():
        if name.startswith(("instance_", "canary_")):
            shape = tuple(np.max([row.shape for row in rows], axis=0))
        else:
            shape = (probe.panel if name.startswith("panel_") else probe.clients,)
        arrays[name] = pad_rounds(rows, shape)
    npz.save_npz(out / DISTANCES, arrays, compressed=True)
    with writing(out / WEIGHTS) as path:
        save_file({"flat": state.model.cpu()}, path, metadata={"seal": OPEN})
        seal(path)
    seals = {name: seal_of(out / name) for name in (TRACE, DISTANCES, WEIGHTS)}
    summary.save_summary(out / SUMMARY, summarised | {"seals": seals})
