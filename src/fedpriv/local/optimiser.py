"""One step of a local optimiser, on the flat weights of one client or of a stack of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedpriv.local.work import FedAvg


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
    work: FedAvg, gradient: torch.Tensor, weights: torch.Tensor, sent: torch.Tensor, running: torch.Tensor
) -> torch.Tensor:
    """Add that of the proximal term to a gradient `[..., d]`, clip it if it is to be, and return it."""
    if work.proximal:
        gradient.add_(weights - sent, alpha=work.proximal)
        gradient[..., running] = 0
    if work.clip_gradient:
        norms = gradient.norm(dim=-1, keepdim=True)
        gradient.mul_(work.clip_gradient / norms.clamp(min=work.clip_gradient))
    return gradient


def optimise(work: FedAvg, weights: torch.Tensor, gradient: torch.Tensor, memory: OptimizerState) -> None:
    """Take one optimiser step in place, elementwise on flat weights `[..., d]`."""
    if work.optimizer == "sgd":
        if work.momentum:
            gradient = memory.first.mul_(work.momentum).add_(gradient)
        weights.add_(gradient, alpha=-work.learning_rate)
        return
    # Adam (Kingma and Ba, 2015, algorithm 1)
    (one, two), memory.steps = work.adam_betas, memory.steps.add_(1)
    steps = memory.steps.double()[..., None]
    memory.first.lerp_(gradient, 1 - one)
    memory.second.mul_(two).addcmul_(gradient, gradient, value=1 - two)
    root = (memory.second / (1 - two**steps).float()).sqrt_().add_(1e-8)
    weights.sub_(memory.first / root * (work.learning_rate / (1 - one**steps)).float())
