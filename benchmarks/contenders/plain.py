"""The plain loop, as most papers' code has it: one process, the model deep-copied for each client."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import work
from laps import Laps
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from workload import Workload

from contenders import private

# From a client's model and its examples to the change of the weights [d] that it sends, before any noise.
LocalUpdate = Callable[[Workload, torch.nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]


def local_update(
    workload: Workload, model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Return the change of the weights [d] that a client makes to its own copy of the model."""
    if workload.poisson:
        return private.local_update(workload, model, images, labels)
    local = copy.deepcopy(model)
    work.train(workload, local, images, labels, workload.local_rate)
    with torch.no_grad():
        return parameters_to_vector(local.parameters()) - parameters_to_vector(model.parameters())


def bounded(workload: Workload, update: torch.Tensor) -> torch.Tensor:
    """Return an update of norm at most the workload's bound, if it has one."""
    return update * min(1.0, workload.clip / (float(update.norm()) + 1e-6)) if workload.clip else update


def race(
    workload: Workload, path: Path, laps: Laps, dtype: str, local_update: LocalUpdate = local_update
) -> dict[str, Any]:
    """Train with torch's own number of threads."""
    data, model = work.load(path), work.network(workload)
    shares = work.shares(workload, data)
    weights = start = parameters_to_vector(model.parameters()).detach()
    for round_number in range(laps.total):
        sent: list[torch.Tensor] = []
        for client in work.cohort(workload, round_number):
            rows = torch.from_numpy(shares[client])
            rows = work.drawn(workload, rows) if workload.poisson else rows
            images, labels = data.x_train[rows], data.y_train[rows]
            update = bounded(workload, local_update(workload, model, images, labels))
            laps.update(len(labels))
            if laps.warming:
                laps.norm(float(update.norm()))
            if workload.poisson:
                update += workload.noise_std * torch.randn_like(update)
            sent.append(update)
        updates = torch.stack(sent)
        total = updates.sum(0)
        if workload.distances and not workload.poisson:
            private.distances(updates, torch.randperm(len(updates))[: workload.distances])
        if not workload.poisson:
            total += workload.noise_std * torch.randn_like(total)
        weights = weights + workload.rate * total / workload.cohort
        vector_to_parameters(weights, model.parameters())
        laps.after_round(lambda: work.accuracy(model, data.x_test, data.y_test))
    return {"moved": float((weights - start).norm())}


def update(
    workload: Workload,
    path: Path,
    weights: torch.Tensor,
    rows: np.ndarray,
    dtype: str,
    local_update: LocalUpdate = local_update,
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`, or whose batch they are; without noise."""
    data, model = work.load(path), work.network(workload)
    vector_to_parameters(weights, model.parameters())
    update = local_update(workload, model, data.x_train[rows], data.y_train[rows])
    return bounded(workload, update) if workload.poisson else update
