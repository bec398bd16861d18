"""Opacus in a plain loop: every example clipped, by its hooks or by ghost clipping."""

from __future__ import annotations

from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import work
from laps import Laps
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch.nn import functional as F
from workload import Workload

from contenders import plain


@cache
def hooked(model: torch.nn.Module, workload: Workload) -> tuple[Any, Any]:
    """Return the model with Opacus's hooks, and its optimiser, which clips; made once."""
    module = GradSampleModule(model, loss_reduction="sum")
    return module, DPOptimizer(**settings(model, workload))


@cache
def ghostly(model: torch.nn.Module, workload: Workload) -> tuple[Any, Any, Any]:
    """Return the model with the hooks of ghost clipping, its optimiser and its loss; made once."""
    bound: Any = workload.example_clip
    module = GradSampleModuleFastGradientClipping(model, loss_reduction="sum", max_grad_norm=bound)
    optimizer = DPOptimizerFastGradientClipping(**settings(model, workload))
    criterion = torch.nn.CrossEntropyLoss(reduction="sum")
    return module, optimizer, DPLossFastGradientClipping(module, optimizer, criterion, "sum")


def settings(model: torch.nn.Module, workload: Workload) -> dict[str, Any]:
    """Return what both optimisers are told; what they would add and step by is left to the loop."""
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    bound, batch = workload.example_clip, workload.batch
    return {
        "optimizer": sgd,
        "noise_multiplier": 0.0,
        "max_grad_norm": bound,
        "expected_batch_size": batch,
        "loss_reduction": "sum",
    }


def by_hooks(
    workload: Workload, model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Return minus the sum of clipped gradients over the public size of a batch [d]."""
    module, optimizer = hooked(model, workload)
    optimizer.zero_grad()
    F.cross_entropy(module(work.floats(images)), labels, reduction="sum").backward()
    optimizer.clip_and_accumulate()
    return summed(model, workload)


def by_ghosts(
    workload: Workload, model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    """Return the same, of norms found without any example's gradient."""
    module, optimizer, criterion = ghostly(model, workload)
    optimizer.zero_grad()
    criterion(module(work.floats(images)), labels).backward()
    optimizer.accumulate()
    return summed(model, workload)


def summed(model: torch.nn.Module, workload: Workload) -> torch.Tensor:
    parameters: list[Any] = list(model.parameters())
    parts = [parameter.summed_grad.flatten() for parameter in parameters]
    return -torch.cat(parts).detach() / workload.batch


def race(
    workload: Workload,
    path: Path,
    laps: Laps,
    dtype: str,
    local_update: plain.LocalUpdate = by_hooks,
) -> dict[str, Any]:
    """Train as the plain loop does."""
    return plain.race(workload, path, laps, dtype, local_update) | {"library": f"opacus {version('opacus')}"}


update = partial(plain.update, local_update=by_hooks)
