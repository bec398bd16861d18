"""Parameters as one flat vector: a scheme sees a matrix `[clients, d]`, a model sees named tensors."""

from __future__ import annotations

import math

import torch

from fedpriv.models.base import Params

Shapes = dict[str, tuple[int, ...]]


def unflatten(flat: torch.Tensor, shapes: Shapes) -> Params:
    """Return named views of `flat` `[d]`; writing to a view writes to the vector."""
    params, start = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        params[name] = flat[start : start + size].view(shape)
        start += size
    return params


def initial(shapes: Shapes, generator: torch.Generator) -> torch.Tensor:
    """Return He-initialised weights (normal, variance 2 / fan-in) and zero biases, `[d]`, float32, on CPU."""
    flat = torch.zeros(sum(math.prod(shape) for shape in shapes.values()))
    for name, view in unflatten(flat, shapes).items():
        if name.endswith("weight"):
            fan_in = math.prod(view.shape[1:])
            view.normal_(0.0, math.sqrt(2.0 / fan_in), generator=generator)
    return flat
