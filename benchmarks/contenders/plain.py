"""The plain loop, as most papers' code has it: one process, the model deep-copied for each client."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
import work
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def local_update(model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the change of the weights [d] that a client makes to its own copy of the model."""
    local = copy.deepcopy(model)
    work.local_step(local, images, labels, rate=1.0)
    with torch.no_grad():
        return parameters_to_vector(local.parameters()) - parameters_to_vector(model.parameters())


def race(path: Path, laps: work.Laps, dtype: str) -> dict[str, Any]:
    """Train with torch's own number of threads."""
    data, shares, model = work.load(path), work.split(), work.network()
    weights = start = parameters_to_vector(model.parameters()).detach()
    for round in range(laps.total):
        total = torch.zeros_like(weights)
        for client in work.cohort(round):
            rows = torch.from_numpy(shares[client])
            images, labels = data.x_train[rows], data.y_train[rows]
            update = local_update(model, images, labels)
            update *= min(1.0, work.CLIP / (float(update.norm()) + 1e-6))
            total += update
            laps.update(len(labels))
            if laps.warming:
                laps.norms.append(float(update.norm()))
        total += work.NOISE * work.CLIP * torch.randn_like(total)
        weights = weights + work.RATE * total / work.COHORT
        vector_to_parameters(weights, model.parameters())
        laps.after_round(lambda: work.accuracy(model, data.x_test, data.y_test))
    return {"moved": float((weights - start).norm())}


def update(path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`."""
    data, model = work.load(path), work.network()
    vector_to_parameters(weights, model.parameters())
    return local_update(model, data.x_train[rows], data.y_train[rows])
