"""One step of a local optimiser, on the flat weights of one client or of a stack of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fedpriv.local.work import FedAvg
from fedpriv.machine.gpus import kernels

Pieces = Sequence[torch.Tensor]  # `[..., d_i]`, which one after the other are a flat tensor `[..., d]`


@dataclass
class OptimizerState:
    """What an optimiser remembers of weights `[..., d]`: two moments, and its steps so far `[...]`, int64."""

    first: torch.Tensor
    second: torch.Tensor
    steps: torch.Tensor


def initial_optimizer_state(weights: torch.Tensor) -> OptimizerState:
    """Return the memory before the first step."""
    steps = torch.zeros(weights.shape[:-1], dtype=torch.int64, device=weights.device)
    return OptimizerState(torch.zeros_like(weights), torch.zeros_like(weights), steps)


def add_penalty(
    work: FedAvg, gradient: Pieces, weights: torch.Tensor, sent: torch.Tensor, running: torch.Tensor
) -> Pieces:
    """Return a gradient `[..., d]` with that of the proximal term, and clipped, if it is to be."""
    if not work.proximal and not work.clip_gradient:
        return gradient
    whole = torch.cat([*gradient], dim=-1)
    if work.proximal:
        whole.add_(weights - sent, alpha=work.proximal)
        whole[..., running] = 0
    if work.clip_gradient:
        norms = whole.norm(dim=-1, keepdim=True)
        whole.mul_(work.clip_gradient / norms.clamp(min=work.clip_gradient))
    return [whole]


def optimise(work: FedAvg, weights: torch.Tensor, gradient: Pieces, memory: OptimizerState) -> None:
    """Take one optimiser step in place, elementwise on flat weights `[..., d]`.

    Piece by piece: to put the gradient of a large network together costs more than the step.
    """
    sizes = [one.shape[-1] for one in gradient]
    parts = weights.split(sizes, dim=-1)
    if work.optimizer == "sgd":
        if work.momentum:
            kept = memory.first.split(sizes, dim=-1)
            gradient = [one.mul_(work.momentum).add_(new) for one, new in zip(kept, gradient, strict=True)]
        for part, one in zip(parts, gradient, strict=True):
            part.add_(one, alpha=-work.learning_rate)
        return
    # Adam (Kingma and Ba, 2015, algorithm 1)
    (one, two), memory.steps = work.adam_betas, memory.steps.add_(1)
    steps = memory.steps.double()[..., None]
    rate, whole = (work.learning_rate / (1 - one**steps)).float(), (1 - two**steps).float()
    if weights.device.type == "cuda" and (engine := kernels()):
        engine.adam(weights, memory.first, memory.second, gradient[0], rate, whole, (one, two))
        return
    moments = (memory.first.split(sizes, dim=-1), memory.second.split(sizes, dim=-1))
    for part, first, second, new in zip(parts, *moments, gradient, strict=True):
        first.lerp_(new, 1 - one)
        second.mul_(two).addcmul_(new, new, value=1 - two)
        part.sub_(first / (second / whole).sqrt_().add_(1e-8) * rate)
