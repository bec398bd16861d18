"""fedpriv, through its own loop: `local_engine` and `run_round`, the cohort drawn by its own law."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import settings
import torch
from laps import Laps
from work import DEVICE
from workload import SEED, Workload

from fedpriv.config.run import Probe, Run
from fedpriv.data import arrays
from fedpriv.local.client import Client, LocalEngine, Task, local_engine
from fedpriv.local.work import Speed
from fedpriv.partition import Partition
from fedpriv.store.machine import keep_buffers, peak_mib
from fedpriv.streams import Streams
from fedpriv.train import inputs
from fedpriv.train.evaluate import evaluate_weights as evaluate
from fedpriv.train.record import RoundState, initial_state
from fedpriv.train.round import run_round


def declared(workload: Workload, rounds: int) -> Run:
    """Return a workload as a run of fedpriv."""
    return Run.model_validate(settings.run(workload, rounds))


def speed(dtype: str) -> Speed:
    """Return the settings that are raced; threads: one a core."""
    return Speed.model_validate({"device": DEVICE.type, "dtype": dtype, "chunk": settings.CHUNKS[dtype]})


def task_of(run: Run, data: arrays.Arrays) -> Task:
    images, labels = (torch.from_numpy(part).to(DEVICE) for part in (data.x_train, data.y_train))
    return Task(run.model, data.classes, images, labels)


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train; the probe, which writes down norms after clipping, is on in the warm-up only."""
    keep_buffers()
    run = declared(workload, laps.total)
    probed = run.model_copy(update={"probe": Probe(clients=workload.cohort)})
    data = arrays.load(path)
    clients, task = inputs.partition_for(run, data, SEED), task_of(run, data)
    test = [torch.from_numpy(part).to(DEVICE) for part in (data.x_test, data.y_test, data.owner_test)]
    streams = Streams(SEED, workload.name)
    state = initial_state(run, task, streams, workload.clients)
    start = state.flat
    with local_engine(task, speed(dtype)) as engine:
        name = engine.name
        for _ in range(laps.total):
            row = run_round(probed if laps.warming else run, clients, engine, streams, state, laps.total)
            for examples in worked_through(run, clients, streams, state.round):
                laps.update(examples)
            if laps.warming:
                for norm in clipped(row, state):
                    laps.norm(norm)
            laps.after_round(lambda: evaluate(engine, run.evaluation, state.flat, test)["test_accuracy"])
    return {"moved": float((state.flat - start).norm()), "engine": name, "gpu_mib": peak_mib(DEVICE)}


def rounds(run: Run, data_path: Path, partition_path: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the row of each round of a run, on a partition that an earlier job made, as in the workflow."""
    keep_buffers()
    data = arrays.load(data_path)
    clients = inputs.load_partition(run, data, SEED, partition_path)
    task, streams = task_of(run, data), Streams(SEED, name)
    state = initial_state(run, task, streams, clients.clients)
    with local_engine(task, speed("float32")) as engine:
        for _ in range(run.rounds):
            yield run_round(run, clients, engine, streams, state, run.rounds)


def worked_through(run: Run, clients: Partition, streams: Streams, round_number: int) -> list[int]:
    """Return how many examples each client of a past round took: its streams say so again."""
    cohort = run.cohort.draw(clients.clients, streams.numpy("cohort", round_number))
    batches = (
        Client(clients.client(one), streams.numpy("batches", round_number, int(one))).one_batch(
            run.local.batch_size
        )
        if run.local.one_gradient and run.local.batch_size
        else clients.client(one)
        for one in cohort
    )
    return list(map(len, batches))


def clipped(row: dict[str, Any], state: RoundState) -> list[float]:
    """Return the norms of the round's updates after clipping, or only the extremes where nobody clips."""
    if "remove_sum" in state.samples:
        return state.samples["remove_sum"][-1].tolist()
    return [float(row["norm_min"]), float(row["norm_max"])]


def update(
    workload: Workload, path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`, or whose batch they are; without noise."""
    run = declared(workload, 1)
    with local_engine(task_of(run, arrays.load(path)), speed(dtype)) as engine:
        return noise_free(engine, run, weights, rows)


def noise_free(engine: LocalEngine, run: Run, weights: torch.Tensor, rows: np.ndarray) -> torch.Tensor:
    """Return what a client with these rows would send at `weights`, but for its noise [d]."""
    client = Client(rows, np.random.default_rng(0), Streams(SEED, "update").noise("instance", 1, 0))
    private_gradient = run.scheme.gradient(run.local)
    return engine.train_clients(run.local, weights, [client], private_gradient, send_weights=False).clean[0]
