"""fedpriv, through its own loop: `Workshop` and `one_round`, the cohort drawn by its own law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import work

from fedpriv import inputs
from fedpriv.config import FedSGD, Probe, Run, Speed
from fedpriv.data import arrays
from fedpriv.local import Client, Task, Workshop
from fedpriv.models.flat import initial
from fedpriv.native import available
from fedpriv.resume import RoundState
from fedpriv.streams import Streams
from fedpriv.train import evaluate, one_round

CHUNKS = {"float32": 100, "bfloat16": 200}  # examples in one pass; a bfloat16 takes half the cache


def declared(rounds: int) -> Run:
    """Return W1 as a run of fedpriv."""
    return Run.model_validate(
        {
            "dataset": "mnist",
            "partition": {"law": "iid", "clients": work.CLIENTS, "examples": work.EXAMPLES},
            "model": {"name": "cnn"},
            "scheme": {"name": "client_dp", "clip_l2": work.CLIP, "noise_multiplier": work.NOISE},
            "cohort": {"law": "fixed", "size": work.COHORT},
            "server": {"learning_rate": work.RATE},
            "rounds": rounds,
            "probe": {"clients": 0},
        }
    )


def speed(dtype: str) -> Speed:
    """Return the settings that are raced; threads: one a core."""
    return Speed.model_validate({"device": "cpu", "dtype": dtype, "chunk": CHUNKS[dtype]})


def race(path: Path, laps: work.Laps, dtype: str) -> dict[str, Any]:
    """Train; the probe, which writes down norms after clipping, is on in the warm-up only."""
    run = declared(laps.total)
    probed = run.model_copy(update={"probe": Probe(clients=work.COHORT)})
    data = arrays.load(path)
    clients = inputs.partition_for(run, data, work.SEED)
    streams = Streams(work.SEED, "w1")
    images, labels, *test = (torch.from_numpy(array) for array in data[:4])
    shapes = run.model.shapes(data.classes)
    start = initial(shapes, streams.torch("init"))
    state = RoundState(start, torch.zeros_like(start))
    with Workshop(Task(run.model, shapes, images, labels), speed(dtype)) as workshop:
        for _ in range(laps.total):
            row = one_round(probed if laps.warming else run, clients, workshop, streams, state, laps.total)
            for _ in range(row["cohort_size"]):
                laps.update(work.EXAMPLES)
            laps.after_round(lambda: evaluate(workshop, state.flat, *test)["test_accuracy"])
    laps.norms.extend(np.concatenate(state.samples["remove_sum"][: work.WARM_UP]).tolist())
    return {"moved": float((state.flat - start).norm()), "native": available()}


def update(path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`."""
    run, data = declared(1), arrays.load(path)
    images, labels = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    task = Task(run.model, run.model.shapes(data.classes), images, labels)
    with Workshop(task, speed(dtype)) as workshop:
        updates, _ = workshop.updates(FedSGD(), weights, [Client(rows, np.random.default_rng(0))])
    return updates[0]
