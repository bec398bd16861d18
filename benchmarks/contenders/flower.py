"""Flower: its simulation runtime on Ray, one actor a core; for noise its server-side fixed clipping.

Flower has no server learning rate. A client that steps at rate r and an update clipped at r·C give what a
gradient clipped at C and a server rate of r give, noise included, so both are scaled here.
"""

from __future__ import annotations

import functools
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import flwr.clientapp
import flwr.serverapp
import numpy as np
import torch
import work
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.simulation import run_simulation
from laps import Laps, peak_mib
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from workload import WORKLOADS, Workload

client_app = flwr.clientapp.ClientApp()
load = functools.cache(work.load)  # once an actor
network = functools.cache(work.network)


def fit(workload: Workload, path: Path, arrays: ArrayRecord, rows: np.ndarray) -> ArrayRecord:
    """Return the weights after a pass over `rows`; the module is kept between clients of an actor."""
    model, data = network(workload), load(path)
    model.load_state_dict(arrays.to_torch_state_dict())
    images, labels = data.x_train[rows], data.y_train[rows]
    work.train(workload, model, images, labels, workload.local_rate * workload.rate)
    return ArrayRecord(model.state_dict())


@client_app.train()
def train(message: Message, context: Context) -> Message:
    config = message.content.config_records["config"]
    workload, path = WORKLOADS[str(config["workload"])], Path(str(config["path"]))
    rows = work.shares(workload, load(path))[int(context.node_config["partition-id"])]
    arrays = fit(workload, path, message.content.array_records["arrays"], rows)
    metrics = {
        "num-examples": len(rows),
        "process": os.getpid(),
        "peak-mib": peak_mib(),
        "threads": torch.get_num_threads(),
    }
    content = {"arrays": arrays, "metrics": MetricRecord(metrics)}
    return Message(content=RecordDict(content), reply_to=message)


class Watched(FedAvg):
    """Federated averaging that notes what it is given: after the wrapper around it, updates are clipped."""

    def __init__(self, workload: Workload, laps: Laps) -> None:
        super().__init__(
            fraction_train=workload.cohort / workload.clients,
            fraction_evaluate=0.0,
            min_train_nodes=workload.cohort,  # else the first round is a share of who has registered by then
            min_available_nodes=workload.clients,
        )
        self.laps, self.rate, self.sent = laps, workload.rate, ArrayRecord()
        self.actors: dict[int, dict[str, float]] = {}  # the last metrics of each process

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any
    ) -> Iterable[Message]:
        self.sent = arrays
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        replies = list(replies)
        for reply in replies:
            metrics: Any = dict(reply.content.metric_records["metrics"])
            self.actors[metrics["process"]] = metrics
            self.laps.update(metrics["num-examples"])
            if self.laps.warming:
                change = vector(reply.content.array_records["arrays"]) - vector(self.sent)
                self.laps.norm(float(change.norm()) / self.rate)
        return super().aggregate_train(server_round, replies)


def vector(arrays: ArrayRecord) -> torch.Tensor:
    """Return all arrays as one float64 vector."""
    return torch.cat([array.flatten().double() for array in arrays.to_torch_state_dict().values()])


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train; torch has one thread in an actor, as Ray sets it, and all cores in the server."""
    logging.getLogger("flwr").setLevel(logging.ERROR)
    data, watched = work.load(path), Watched(workload, laps)
    start = ArrayRecord(work.network(workload).state_dict())
    strategy = watched
    if workload.clip:
        strategy = DifferentialPrivacyServerSideFixedClipping(
            watched, workload.noise, workload.clip * workload.rate, workload.cohort
        )
    ended: list[ArrayRecord] = []

    def evaluate(server_round: int, arrays: ArrayRecord) -> None:
        if server_round:  # Flower asks for the untrained model too
            laps.after_round(lambda: accuracy(arrays))

    def accuracy(arrays: ArrayRecord) -> float:
        model = work.network(workload)
        model.load_state_dict(arrays.to_torch_state_dict())
        return work.accuracy(model, data.x_test, data.y_test)

    server_app = flwr.serverapp.ServerApp()

    @server_app.main()
    def serve(grid: Any, context: Context) -> None:
        config = ConfigRecord({"workload": workload.name, "path": str(path)})
        result = strategy.start(grid, start, laps.total, train_config=config, evaluate_fn=evaluate)
        ended.append(result.arrays)

    cores = len(os.sched_getaffinity(0))
    scratch = tempfile.mkdtemp(prefix="ray-")
    os.environ["FLWR_HOME"] = scratch
    ray = {"num_cpus": cores, "include_dashboard": False, "_temp_dir": scratch}
    backend = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": ray}
    try:
        run_simulation(server_app, client_app, workload.clients, backend_config=backend)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {
        "library": f"flwr {version('flwr')}, ray {version('ray')}",
        "moved": float((vector(ended[0]) - vector(start)).norm()),
        "actors": len(watched.actors),
        "actor_threads": sorted({int(actor["threads"]) for actor in watched.actors.values()}),
        "actors_peak_mib": sum(actor["peak-mib"] for actor in watched.actors.values()),
    }


def update(
    workload: Workload, path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`, as the server would see it at a rate of 1."""
    model = work.network(workload)
    vector_to_parameters(weights, model.parameters())
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    end = fit(workload, path, ArrayRecord(start), rows).to_torch_state_dict()
    return parameters_to_vector([end[name] - start[name] for name in start]) / workload.rate
