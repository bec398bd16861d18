"""Gradients clipped one by one without being made: their norms and their sum, layer by layer.

The gradient of a layer at one example is a product of what the layer read and of the gradient of what it
gave: an outer product of a dense layer, a sum of outer products over the places of a convolution. So neither
norm nor sum needs the gradients themselves. Goodfellow 2015, Efficient per-example gradient computations; of
convolutions Bu et al. 2022, Scalable and efficient training of large convolutional neural networks with
differential privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from fedpriv.local.client import Task, as_read
from fedpriv.mechanisms.clipping import SHRINK
from fedpriv.models.base import Params
from fedpriv.models.flat import unflatten
from fedpriv.models.native.gradients import Gradients

# Of the largest square of a norm that a layer could have: what rounding in float32 may take from it.
SLACK = 1e-6


class Layer(NamedTuple):
    """A layer as a pass used it: its parameters by name, what it read `[n, i, p]` at each of p places."""

    weight: str
    bias: str | None
    read: Callable[[], torch.Tensor]
    gave: torch.Tensor  # [n, o, ...], in the graph
    versions: Callable[[], list[int]]  # of what it read and gave, which grow where either is changed in place
    at_first: list[int]


class Layers(TorchFunctionMode):
    """While it is active: notes the dense and convolutional layers that use `leaves`, and any other use."""

    def __init__(self, leaves: Params):
        super().__init__()
        self.names = {id(leaf): name for name, leaf in leaves.items()}
        self.found: list[Layer] = []
        self.other_use = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        used = [one for one in unpacked((*args, *(kwargs or {}).values())) if id(one) in self.names]
        if not used or getattr(func, "__name__", "") == "__get__":  # a shape or a dtype is no use
            return result
        if func is F.linear or func is F.conv2d:
            layer = self._layer(func is F.conv2d, result, *args, **(kwargs or {}))
        else:
            layer = None
        if layer is None:
            self.other_use = True
        else:
            self.found.append(layer)
        return result

    def _layer(
        self,
        convolution: bool,
        gave: torch.Tensor,
        input: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Layer | None:
        """Return the layer that a call of `F.linear` or `F.conv2d` is, or None of what is not known."""
        name, of_bias = self.names.get(id(weight)), self.names.get(id(bias))
        if name is None or id(input) in self.names or (bias is not None and of_bias is None):
            return None
        if not convolution:
            read = (lambda: input.detach()[..., None]) if input.dim() == 2 else None
        else:
            given = dict(zip(("stride", "padding", "dilation", "groups"), args, strict=False)) | kwargs
            usual = given.pop("groups", 1) == 1 and not isinstance(given.get("padding"), str)
            sides = tuple(weight.shape[2:])
            known = usual and input.dim() == 4
            read = (lambda: F.unfold(input.detach(), sides, **given)) if known else None

        def versions() -> list[int]:
            return [input._version, gave._version]

        return Layer(name, of_bias, read, gave, versions, versions()) if read else None

    def complete(self) -> bool:
        """Return whether every parameter was used by one layer, once, and by nothing else.

        And whether what a layer read or gave is still what it was: of what is changed in place, as by
        `ReLU(inplace=True)`, gradients are those after the change.
        """
        names = [name for one in self.found for name in (one.weight, one.bias) if name]
        kept = all(one.versions() == one.at_first for one in self.found)
        return not self.other_use and kept and sorted(names) == sorted(self.names.values())


def unpacked(values: Iterable[Any]) -> Iterable[Any]:
    """Yield values, and those of lists and tuples among them."""
    for one in values:
        if isinstance(one, list | tuple):
            yield from unpacked(one)
        else:
            yield one


def knows(task: Task) -> bool:
    """Return whether all that a pass of the task's model does with its parameters are layers known here."""
    if task.model.normalises or task.model.binary:
        return False
    leaves = {name: torch.zeros(shape, requires_grad=True) for name, shape in task.shapes.items()}
    with Layers(leaves) as seen:
        task.model.apply(leaves, as_read(task.inputs[:1]))
    return seen.complete()


def clipped(task: Task, weights: torch.Tensor, rows: torch.Tensor, l2: float) -> Gradients:
    """Return the sum of the gradients at the examples `rows`, each clipped to norm `l2`, in float32.

    A gradient that is not finite counts as zero. Nothing is sampled.
    """
    leaves = {name: one.detach().requires_grad_() for name, one in unflatten(weights, task.shapes).items()}
    with Layers(leaves) as seen:
        logits = task.model.apply(leaves, as_read(task.inputs[rows]))
    assert seen.complete()
    loss = F.cross_entropy(logits, task.labels[rows], reduction="sum")
    given = torch.autograd.grad(loss, [one.gave for one in seen.found], materialize_grads=True)
    parts = [
        (layer, layer.read(), gave.flatten(2) if gave.dim() > 2 else gave[..., None])
        for layer, gave in zip(seen.found, given, strict=True)
    ]
    squares = torch.stack([square(layer, read, gave) for layer, read, gave in parts]).sum(0)
    norms = squares.sqrt()
    finite, over = norms.isfinite(), norms > l2
    factors = torch.where(over, l2 / norms.clamp(min=l2) * (1 - SHRINK), 1.0).where(finite, 0.0).float()
    total: Params = {}
    for layer, read, gave in parts:
        share = gave * factors[:, None, None]
        if not finite.all():
            share, read = (one.where(finite[:, None, None], 0.0) for one in (share, read))
        total[layer.weight] = torch.einsum("nop,nip->oi", share, read)
        if layer.bias:
            total[layer.bias] = share.sum((0, 2))
    flattened = torch.cat([total[name].flatten() for name in task.shapes])
    return Gradients(flattened, weights.new_zeros(0, len(weights)), float(loss.detach()), int(over.sum()))


def square(layer: Layer, read: torch.Tensor, gave: torch.Tensor) -> torch.Tensor:
    """Return the squared norms `[n]` of a layer's gradients, float64, never below what they are.

    `read` is `[n, i, p]`, `gave` `[n, o, p]`: |Σ_p gave_p read_pᵀ|² is a sum over pairs of places.
    """
    if read.shape[2] == 1:
        found = most = read[..., 0].double().square().sum(1) * gave[..., 0].double().square().sum(1)
    else:
        first, second = read.mT @ read, gave.mT @ gave
        most = first.diagonal(0, 1, 2).sum(1).double() * second.diagonal(0, 1, 2).sum(1).double()
        found = (first * second).sum((1, 2), dtype=torch.float64).clamp(min=0)
    if layer.bias:
        found = found + gave.double().sum(2).square().sum(1)
    return found + SLACK * most
