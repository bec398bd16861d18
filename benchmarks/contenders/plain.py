"""The plain loop, as most papers' code has it: one process, the model deep-copied for each client."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
import work
from laps import Laps
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from workload import Workload


def local_update(
    workload: Workload, model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Return the change of the weights [d] that a client makes to its own copy of the model."""
    local = copy.deepcopy(model)
    work.train(workload, local, images, labels, workload.local_rate)
    with torch.no_grad():
        return parameters_to_vector(local.parameters()) - parameters_to_vector(model.parameters())


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train with torch's own number of threads."""
    data, shares, model = work.load(path), work.split(), work.network(workload)
    weights = start = parameters_to_vector(model.parameters()).detach()
    for round in range(laps.total):
        total = torch.zeros_like(weights)
        for client in work.cohort(workload, round):
            rows = torch.from_numpy(shares[client])
            images, labels = data.x_train[rows], data.y_train[rows]
            update = local_update(workload, model, images, labels)
            if workload.clip:
                update *= min(1.0, workload.clip / (float(update.norm()) + 1e-6))
            total += update
            laps.update(len(labels))
            if laps.warming:
                laps.norm(float(update.norm()))
        if workload.clip:
            total += workload.noise * workload.clip * torch.randn_like(total)
        weights = weights + workload.rate * total / workload.cohort
        vector_to_parameters(weights, model.parameters())
        laps.after_round(lambda: work.accuracy(model, data.x_test, data.y_test))
    return {"moved": float((weights - start).norm())}


def update(
    workload: Workload, path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`."""
    data, model = work.load(path), work.network(workload)
    vector_to_parameters(weights, model.parameters())
    return local_update(workload, model, data.x_train[rows], data.y_train[rows])
