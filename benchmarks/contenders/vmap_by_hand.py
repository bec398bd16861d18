"""What an expert writes in an afternoon: `torch.func.vmap` over a stack of clients, gradients by `grad`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import work
from laps import Laps
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from workload import Workload

from contenders import private

STACK = {"w1": 10, "w2": 100, "w4": 25, "w6": 100}  # clients at once: the fastest of some, on an H100


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train; `tf32` lets convolutions multiply in TF32, as torch does unless told."""
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    data, model = work.load(path), work.network(workload)
    shares = work.shares(workload, data)
    flat = start = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    for round_number in range(laps.total):
        stacks = torch.from_numpy(work.cohort(workload, round_number)).split(STACK[workload.name])
        rows = (torch.from_numpy(shares[stack.numpy()]).to(work.DEVICE) for stack in stacks)
        updates = torch.cat([*local_updates(workload, data, model, flat, rows)])
        for _ in updates:
            laps.update(workload.each)
        if workload.clip:
            updates *= (workload.clip / (updates.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1)
        if laps.warming:
            for norm in updates.norm(dim=1).tolist():
                laps.norm(norm)
        if workload.distances:
            chosen = torch.randperm(len(updates), device=work.DEVICE)[: workload.distances]
            private.distances(updates, chosen)
        total = updates.sum(0)
        total = total + workload.noise_std * torch.randn_like(total)
        flat = flat + workload.rate * total / workload.cohort
        torch.nn.utils.vector_to_parameters(flat, model.parameters())
        if work.DEVICE.type == "cuda" and laps.round + 1 in (laps.warm_up, laps.total):
            torch.cuda.synchronize()
        laps.after_round(lambda: work.accuracy(model, data.x_test, data.y_test))
    return {"moved": float((flat - start).norm())}


def local_updates(
    workload: Workload,
    data: work.Data,
    model: torch.nn.Module,
    flat: torch.Tensor,
    rows: Iterator[torch.Tensor],
) -> Iterator[torch.Tensor]:
    """Yield the updates `[c, d]` of stacks of clients that hold `rows` `[c, each]`."""
    names, shapes = zip(*((name, one.shape) for name, one in model.named_parameters()), strict=True)
    sizes = [shape.numel() for shape in shapes]

    def loss(flat: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        parts = [part.view(shape) for part, shape in zip(flat.split(sizes), shapes, strict=True)]
        return F.cross_entropy(functional_call(model, dict(zip(names, parts, strict=True)), (x,)), y)

    def batch(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return work.floats(data.x_train[rows.flatten()]).unflatten(0, rows.shape), data.y_train[rows]

    shared, own = (vmap(grad(loss), in_dims=(where, 0, 0)) for where in (None, 0))
    for held in rows:
        if workload.steps == 1:
            yield -workload.local_rate * shared(flat, *batch(held))
            continue
        held = held.gather(1, torch.rand(held.shape, device=work.DEVICE).argsort(1))
        weights = flat.expand(len(held), -1).clone()
        first, second = torch.zeros_like(weights), torch.zeros_like(weights)
        for step, some in enumerate(held.split(workload.batch, 1), start=1):  # Adam
            gradient = own(weights, *batch(some))
            first.lerp_(gradient, 0.1)
            second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            divisor = (second / (1 - 0.999**step)).sqrt_().add_(1e-8)
            weights.addcdiv_(first, divisor, value=-workload.local_rate / (1 - 0.9**step))
        yield weights - flat
