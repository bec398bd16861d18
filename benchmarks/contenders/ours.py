"""fedpriv, through its own loop: `LocalEngine` and `run_round`, the cohort drawn by its own law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from laps import Laps
from workload import CLIENTS, EXAMPLES, SEED, Workload

from fedpriv.config.run import Probe, Run
from fedpriv.data import arrays
from fedpriv.local.client import Client, Task
from fedpriv.local.engine import LocalEngine
from fedpriv.local.work import Speed
from fedpriv.models.native import available
from fedpriv.streams import Streams
from fedpriv.train import inputs
from fedpriv.train.evaluate import one as evaluate
from fedpriv.train.round import run_round
from fedpriv.train.state import RoundState, initial_state

GAMMA = 0.1  # of the randomised response on the bits of a binary network
CHUNKS = {"float32": 100, "bfloat16": 200}  # examples in one pass; a bfloat16 takes half the cache


def model(workload: Workload) -> dict[str, Any]:
    if workload.binary:
        return {"name": "bnn", "widths": workload.widths, "bn": "shared"}
    shape = {"widths": workload.widths, "kernel": workload.kernel, "activation": workload.activation}
    return {"name": "cnn"} | shape


def scheme(workload: Workload) -> dict[str, Any]:
    if workload.binary:
        return {"name": "dpfl_bnn", "gamma": GAMMA}
    if workload.clip:
        return {"name": "client_dp", "clip_l2": workload.clip, "noise_multiplier": workload.noise}
    return {"name": "none"}


def local(workload: Workload) -> dict[str, Any]:
    if workload.optimizer == "SGD":  # one full-batch step at rate 1: the gradient
        return {"name": "fedsgd"}
    steps = {"steps": workload.steps, "batch_size": workload.batch}
    return {"name": "fedavg", "optimizer": "adam", "learning_rate": workload.local_rate} | steps


def declared(workload: Workload, rounds: int) -> Run:
    """Return a workload as a run of fedpriv."""
    return Run.model_validate(
        {
            "dataset": "mnist",
            "partition": {"law": "iid", "clients": CLIENTS, "examples": EXAMPLES},
            "model": model(workload),
            "scheme": scheme(workload),
            "cohort": {"law": "fixed", "size": workload.cohort},
            "local": local(workload),
            "server": {"learning_rate": workload.rate},
            "rounds": rounds,
            "probe": {"clients": 0},
        }
    )


def speed(dtype: str) -> Speed:
    """Return the settings that are raced; threads: one a core."""
    return Speed.model_validate({"device": "cpu", "dtype": dtype, "chunk": CHUNKS[dtype]})


def task_of(run: Run, data: arrays.Arrays) -> Task:
    images, labels = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    return Task(run.model, data.classes, images, labels)


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train; the probe, which writes down norms after clipping, is on in the warm-up only."""
    run = declared(workload, laps.total)
    probed = run.model_copy(update={"probe": Probe(clients=workload.cohort)})
    data = arrays.load(path)
    clients, task = inputs.partition_for(run, data, SEED), task_of(run, data)
    test = torch.from_numpy(data.x_test), torch.from_numpy(data.y_test)
    streams = Streams(SEED, workload.name)
    state = initial_state(run, task, streams, CLIENTS)
    start = state.flat
    with LocalEngine(task, speed(dtype)) as engine:
        for _ in range(laps.total):
            row = run_round(probed if laps.warming else run, clients, engine, streams, state, laps.total)
            for _ in range(row["cohort_size"]):
                laps.update(EXAMPLES)
            if laps.warming:
                for norm in clipped(row, state):
                    laps.norm(norm)
            laps.after_round(lambda: evaluate(engine, state.flat, *test)[0])
    return {"moved": float((state.flat - start).norm()), "native": available()}


def clipped(row: dict[str, Any], state: RoundState) -> list[float]:
    """Return the norms of the round's updates after clipping, or only the extremes where nobody clips."""
    if "remove_sum" in state.samples:
        return state.samples["remove_sum"][-1].tolist()
    return [float(row["norm_min"]), float(row["norm_max"])]


def update(
    workload: Workload, path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`."""
    run = declared(workload, 1)
    with LocalEngine(task_of(run, arrays.load(path)), speed(dtype)) as engine:
        done = engine.train_clients(run.local, weights, [Client(rows, np.random.default_rng(0))])
    return done.updates[0]
