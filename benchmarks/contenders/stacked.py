"""fedpriv's way of working on a GPU, vmap over clients, run on a CPU; for gradients only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from workload import Workload

from contenders.ours import declared, noise_free, speed, task_of
from fedpriv.data import arrays
from fedpriv.local.stacks import GpuBackend


def update(
    workload: Workload, path: Path, weights: torch.Tensor, rows: np.ndarray, dtype: str
) -> torch.Tensor:
    """Return the update [d] of the client that holds `rows`, or whose batch they are; without noise."""
    run = declared(workload, 1)
    stacks = GpuBackend(task_of(run, arrays.load(path)), speed(dtype))
    return noise_free(stacks, run, weights, rows)
