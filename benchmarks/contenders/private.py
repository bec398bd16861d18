"""Private gradients on a client, as anybody writes them: a mean, and single examples by vmap."""

from __future__ import annotations

import torch
import work
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from workload import Workload


def local_update(
    workload: Workload, model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Return minus the sum of gradients over the public size of a batch [d]: of each example clipped, or not.

    Unless examples are clipped, the leave-one-out distances of some of them are taken too.
    """
    x = work.floats(images)
    if workload.example_clip:
        rows = example_gradients(model, x, labels)
        return -clipped(rows, workload.example_clip).sum(0) / workload.batch
    loss = F.cross_entropy(model(x), labels, reduction="sum") / workload.batch
    total = torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(model.parameters()))])
    chosen = torch.randperm(len(x))[: workload.distances]
    rows = example_gradients(model, x[chosen], labels[chosen]) / workload.batch
    leave_one_out(total, rows, len(x), workload.clip or 0.0)
    return -total


def example_gradients(model: torch.nn.Module, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the gradient of every example [n, d]."""
    parameters = {name: one.detach() for name, one in model.named_parameters()}

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(functional_call(model, parameters, (x[None],)), label[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, labels)
    return torch.cat([one.flatten(1) for one in found.values()], dim=1)


def clipped(rows: torch.Tensor, l2: float) -> torch.Tensor:
    """Return rows [n, d] of norm at most `l2`."""
    return rows * (l2 / rows.norm(dim=1, keepdim=True)).clamp(max=1)


def distances(updates: torch.Tensor, chosen: torch.Tensor) -> list[torch.Tensor]:
    """Return how far the chosen of the updates [n, d] move their sum, and their mean; and pairs of them."""
    rows = updates[chosen]
    others = (updates.sum(0) - rows) / (len(updates) - 1)
    pairs = rows[: len(rows) // 2 * 2].unflatten(0, (-1, 2))
    return [rows.norm(dim=1), (rows - others).norm(dim=1), (pairs[:, 0] - pairs[:, 1]).norm(dim=1)]


def leave_one_out(total: torch.Tensor, rows: torch.Tensor, size: int, l2: float) -> list[torch.Tensor]:
    """Return how far each of `rows` [m, d] moves the clipped total of its batch of `size`, as `distances`."""
    here = clipped(total[None], l2)
    without = total - rows
    pairs = len(rows) // 2
    replaced = without[: 2 * pairs : 2] + rows[1 : 2 * pairs : 2]
    neighbours = (without, without * (size / max(size - 1, 1)), replaced)
    return [(here - clipped(one, l2)).norm(dim=1) for one in neighbours]
