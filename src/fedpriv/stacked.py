"""Local work on a GPU: clients are a tensor axis, one launch works on a stack of them.

Clients of unequal size are padded; a padding example has weight zero, so it adds exactly nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch.func import grad_and_value, vmap
from torch.nn import functional as F

from fedpriv.config import FedAvg, LocalWork, Speed
from fedpriv.local import Client, Task, batches, optimise, pixels
from fedpriv.models.flat import unflatten

EVALUATION_CHUNK = 5000  # images


class Stacks:
    """Stacked launches over one task."""

    def __init__(self, task: Task, speed: Speed):
        self.task, self.stack = task, speed.stack
        self.dtype = getattr(torch, speed.dtype)
        self.device = task.images.device

    def close(self) -> None:
        """Nothing is held between launches."""

    def updates(
        self, work: LocalWork, flat: torch.Tensor, clients: Sequence[Client]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        one = partial(self._fedavg, work) if isinstance(work, FedAvg) else self._fedsgd
        parts = [
            one(flat, clients[start : start + self.stack]) for start in range(0, len(clients), self.stack)
        ]
        if not parts:
            return flat.new_zeros(0, len(flat)), flat.new_zeros(0)
        updates, losses = zip(*parts, strict=True)
        return torch.cat(updates), torch.cat(losses)

    def logits(self, flat: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            chunks = images.split(EVALUATION_CHUNK)
            return torch.cat([self._apply(flat, pixels(chunk)) for chunk in chunks])

    def _apply(self, flat: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        params = unflatten(flat.to(self.dtype), self.task.shapes)
        return self.task.model.apply(params, x).float()

    def _loss(self, flat: torch.Tensor, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor):
        return (F.cross_entropy(self._apply(flat, x), y, reduction="none") * weight).sum()

    def _gather(self, rows: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return images `[c, n, 1, 28, 28]`, labels and weights `[c, n]` padded to the longest client."""
        longest = max(1, *(len(one) for one in rows)) if rows else 1
        index = np.zeros((len(rows), longest), dtype=np.int64)
        weight = np.zeros((len(rows), longest), dtype=np.float32)
        for client, one in enumerate(rows):
            index[client, : len(one)] = one
            weight[client, : len(one)] = 1 / max(len(one), 1)
        where = torch.from_numpy(index).to(self.device)
        x = pixels(self.task.images[where.flatten()]).unflatten(0, where.shape)
        return x, self.task.labels[where], torch.from_numpy(weight).to(self.device)

    def _fedsgd(self, flat: torch.Tensor, clients: Sequence[Client]):
        x, y, weight = self._gather([client.rows for client in clients])
        gradients, losses = vmap(grad_and_value(self._loss), in_dims=(None, 0, 0, 0))(flat, x, y, weight)
        return -gradients, losses

    def _fedavg(self, work: FedAvg, flat: torch.Tensor, clients: Sequence[Client]):
        plans = [
            [client.rows[batch] for batch in batches(work, len(client.rows), client.rng)]
            if len(client.rows)
            else []
            for client in clients
        ]
        weights = flat.expand(len(clients), -1).clone()
        losses, memory = flat.new_zeros(len(clients)), {}
        nothing = np.empty(0, dtype=np.int64)
        for step in range(max(map(len, plans))):
            now = [plan[step] if step < len(plan) else nothing for plan in plans]
            x, y, weight = self._gather(now)
            gradients, loss = vmap(grad_and_value(self._loss))(weights, x, y, weight)
            # A client that has finished stays where it is, whatever its optimiser still remembers.
            active = torch.tensor([len(one) > 0 for one in now], device=self.device)
            before = weights.clone()
            optimise(work, weights, gradients, memory)
            weights = weights.where(active[:, None], before)
            losses = loss.where(active, losses)
        return weights - flat, losses
