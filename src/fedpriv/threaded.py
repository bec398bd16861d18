"""Local work on a CPU: one Python thread a core, each on its own clients.

Each thread runs its operators on one core, so there are no barriers inside an operator; torch and the native
kernel release the interpreter's lock. A client's result depends on nothing but the client, hence not on the
number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch.nn import functional as F

from fedpriv.allocator import keep_buffers
from fedpriv.config import FedAvg, LocalWork, Speed
from fedpriv.local import Client, Task, batches, optimise, pixels
from fedpriv.models.base import Params
from fedpriv.models.flat import unflatten

EVALUATION_CHUNK = 500  # images; no gradients are kept, so it may be larger than a training chunk


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Worker threads over one task."""

    def __init__(self, task: Task, speed: Speed):
        keep_buffers()
        torch.set_num_threads(1)
        self.task, self.chunk = task, speed.chunk
        self.dtype = getattr(torch, speed.dtype)
        workers = speed.threads or cores()
        self.pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)

    def updates(
        self, work: LocalWork, flat: torch.Tensor, clients: Sequence[Client]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        updates = torch.zeros(len(clients), len(flat))
        one = partial(self._fedavg, work) if isinstance(work, FedAvg) else self._fedsgd
        losses = self.pool.map(partial(one, flat), clients, updates)
        return updates, torch.tensor(list(losses))

    def logits(self, flat: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        params = {name: leaf.detach() for name, leaf in self._leaves(flat).items()}

        def one(chunk: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                return self.task.model.apply(params, pixels(chunk), native=True).float()

        return torch.cat(list(self.pool.map(one, images.split(EVALUATION_CHUNK))))

    def _leaves(self, flat: torch.Tensor) -> Params:
        """Return the weights as autograd leaves in the arithmetic's dtype, channels-last."""
        leaves = {}
        for name, view in unflatten(flat, self.task.shapes).items():
            leaf = view.to(self.dtype)
            if leaf.dim() == 4:
                leaf = leaf.contiguous(memory_format=torch.channels_last)
            leaves[name] = leaf.detach().requires_grad_()
        return leaves

    def _add_gradient(self, flat: torch.Tensor, rows: torch.Tensor, out: torch.Tensor, sign: float) -> float:
        """Add sign · (mean gradient over `rows`) to `out` `[d]`, chunk by chunk; return the mean loss."""
        leaves = self._leaves(flat)
        views = unflatten(out, self.task.shapes)
        total = 0.0
        for chunk in rows.split(self.chunk):
            x = pixels(self.task.images[chunk])
            logits = self.task.model.apply(leaves, x, native=True).float()
            loss = F.cross_entropy(logits, self.task.labels[chunk], reduction="sum") / len(rows)
            for view, gradient in zip(
                views.values(), torch.autograd.grad(loss, list(leaves.values())), strict=True
            ):
                view.add_(gradient, alpha=sign)
            total += float(loss.detach())
        return total

    def _fedsgd(self, flat: torch.Tensor, client: Client, out: torch.Tensor) -> float:
        return self._add_gradient(flat, torch.from_numpy(client.rows), out, sign=-1.0)

    def _fedavg(self, work: FedAvg, flat: torch.Tensor, client: Client, out: torch.Tensor) -> float:
        weights, memory, loss = flat.clone(), {}, 0.0
        rows = torch.from_numpy(client.rows)
        for batch in batches(work, len(rows), client.rng) if len(rows) else ():
            gradient = torch.zeros_like(flat)
            loss = self._add_gradient(weights, rows[torch.from_numpy(batch)], gradient, sign=1.0)
            optimise(work, weights, gradient, memory)
        out.copy_(weights - flat)
        return loss
