"""Local steps in C: all mini-batches of a client in one call, where a model's engine knows its optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from fedpriv.local.client import ClientState, Task
from fedpriv.local.work import FedAvg
from fedpriv.models.native import mlp, small_net

Batches = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]  # images, labels, rows, sizes


def batches(task: Task, plan: list[np.ndarray]) -> Batches:
    """Return what the engines read: what the task holds, the rows of all mini-batches, and their sizes."""
    rows = torch.from_numpy(np.concatenate(plan).astype(np.int64))
    return task.inputs, task.labels, rows, torch.tensor([len(batch) for batch in plan])


def adam_steps(
    net: small_net.Net,
    work: FedAvg,
    given: Batches,
    flat: torch.Tensor,
    kept: ClientState,
    uniforms: torch.Tensor | None,
) -> float:
    """Take the steps of Adam in place, from `flat` `[d]`; return the loss on the last mini-batch."""
    memory = kept.memory
    before = int(memory.steps)
    memory.steps += len(given[-1])
    adam = small_net.Adam(work.learning_rate, *work.adam_betas, work.proximal, work.clip_gradient or 0.0)
    moments = memory.first, memory.second
    drawn = None if uniforms is None else uniforms[:-1]
    return small_net.train(net, *given, kept.weights, *moments, before, adam, flat, drawn)


def sgd_steps(
    net: mlp.Net,
    work: FedAvg,
    given: Batches,
    flat: torch.Tensor,
    kept: ClientState,
    uniforms: torch.Tensor | None,
) -> float:
    """Take the steps of plain SGD in place; return the loss on the last mini-batch."""
    return mlp.train(net, *given, kept.weights, work.learning_rate)


def is_plain_sgd(work: FedAvg) -> bool:
    """Say whether a step is the gradient times the rate, and nothing else."""
    return work.optimizer == "sgd" and not (work.momentum or work.proximal or work.clip_gradient)


class Unit(NamedTuple):
    """What a unit in C does for a client."""

    knows: Callable[[FedAvg], bool]  # whether `steps` takes the steps of this work
    steps: Callable[..., float]
    logits: Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]


UNITS = {
    "mlp": Unit(is_plain_sgd, sgd_steps, mlp.logits),
    "small_net": Unit(lambda work: work.optimizer == "adam", adam_steps, small_net.logits),
}
