"""Local steps in C: all mini-batches of a client in one call, where a model's engine knows its optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from fedpriv.local.client import ClientState, Task
from fedpriv.local.work import FedAvg
from fedpriv.models.native import mlp, small_net


class Steps(NamedTuple):
    """The local steps of one client, which are taken in place."""

    task: Task
    work: FedAvg
    start: torch.Tensor  # [d], the weights that it was sent
    kept: ClientState
    plan: list[np.ndarray]  # the rows of every mini-batch
    uniforms: torch.Tensor | None  # [steps + 1, d], of stochastic signs

    @property
    def batches(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return images, labels, the rows of all mini-batches one after the other, and their sizes."""
        rows = torch.from_numpy(np.concatenate(self.plan).astype(np.int64))
        return self.task.inputs, self.task.labels, rows, torch.tensor([len(batch) for batch in self.plan])


def adam(net: small_net.Net, asked: Steps) -> float:
    """Take the steps of Adam; return the loss on the last mini-batch."""
    work, memory = asked.work, asked.kept.memory
    before = int(memory.steps)
    memory.steps += len(asked.plan)
    how = small_net.Adam(work.learning_rate, *work.adam_betas, work.proximal, work.clip_gradient or 0.0)
    state = asked.kept.weights, memory.first, memory.second, before
    drawn = None if asked.uniforms is None else asked.uniforms[:-1]
    return small_net.train(net, *asked.batches, *state, how, asked.start, drawn)


def plain_sgd(net: mlp.Net, asked: Steps) -> float:
    """Take the steps of plain SGD; return the loss on the last mini-batch."""
    return mlp.train(net, *asked.batches, asked.kept.weights, asked.work.learning_rate)


def is_plain_sgd(work: FedAvg) -> bool:
    """Say whether a step is the gradient times the rate, and nothing else."""
    return work.optimizer == "sgd" and not (work.momentum or work.proximal or work.clip_gradient)


class Unit(NamedTuple):
    """What a unit in C does for a client."""

    knows: Callable[[FedAvg], bool]  # whether `take` takes the steps of this work
    take: Callable[[Any, Steps], float]
    logits: Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]


UNITS = {
    "mlp": Unit(is_plain_sgd, plain_sgd, mlp.logits),
    "small_net": Unit(lambda work: work.optimizer == "adam", adam, small_net.logits),
}
