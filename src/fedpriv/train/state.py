"""The state of a run between two rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.local.client import ClientState, Task
from fedpriv.local.optimiser import initial_optimizer_state
from fedpriv.schemes.base import Memory
from fedpriv.streams import Streams


@dataclass
class RoundState:
    """What the next round needs and what the trace will be written from."""

    flat: torch.Tensor  # weights [d]
    velocity: torch.Tensor  # of the server's momentum, or Adam's first moments [p]
    round: int = 0  # rounds completed
    rows: list[dict[str, Any]] = field(default_factory=list)  # of the trace
    samples: dict[str, list[np.ndarray]] = field(default_factory=dict)  # distances, an array a round
    memory: Memory = field(default_factory=dict)  # of the scheme
    second: torch.Tensor | None = None  # moments of the server's Adam [p], after its first round
    average: torch.Tensor | None = None  # of the weights of all rounds [d], where the server averages
    clients: ClientState | None = None  # of persistent clients, stacked: weights [clients, d] and memories

    @property
    def model(self) -> torch.Tensor:
        """Return the weights `[d]` that are evaluated and saved."""
        return self.flat if self.average is None else self.average

    @property
    def diverged(self) -> bool:
        """Whether weights are no longer finite, or nobody in the last cohort had a finite loss."""
        last = self.rows[-1] if self.rows else {"cohort_size": 0}
        lost = last["cohort_size"] > 0 and math.isnan(last["train_loss"])
        return lost or not bool(self.flat.isfinite().all())


def initial_weights(run: Run, task: Task, streams: Streams) -> torch.Tensor:
    """Return the weights `[d]` that a run starts from."""
    return run.model.initial(task.width, task.example, streams.numpy("init")).to(task.inputs.device)


def initial_state(run: Run, task: Task, streams: Streams, clients: int) -> RoundState:
    """Return the state before the first round; persistent clients start from the server's weights."""
    flat = initial_weights(run, task, streams)
    protected = task.layout.protected
    state = RoundState(flat, torch.zeros_like(flat[:protected]), memory=run.scheme.memory(protected))
    if run.local.keeps_clients:
        weights = flat.repeat(clients, 1)
        state.clients = ClientState(weights, initial_optimizer_state(weights))
    return state
