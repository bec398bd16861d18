"""Parameters as one flat vector: a scheme sees a matrix `[clients, p]`, a model sees named tensors."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from fedpriv.models.base import GREY, Example, Handling, Model, Params, Shapes

ORDER: tuple[Handling, ...] = ("protected", "clear", "kept")


class Layout(NamedTuple):
    """What lies where: `protected` numbers, which go through the scheme, then `clear`, then kept ones."""

    protected: int
    clear: int
    tensors: tuple[int, ...]  # sizes of the protected tensors, in order


def layout(model: Model, classes: int, example: Example = GREY) -> Layout:
    """Return the layout of a model's flat vector; parameters in another order are a ValueError."""
    shapes = model.shapes(classes, example)
    kinds: list[Handling] = [model.handling(name) for name in shapes]
    if kinds != sorted(kinds, key=ORDER.index):
        raise ValueError(f"{model.name}: its parameters are not in the order {', '.join(ORDER)}")
    sizes: dict[Handling, list[int]] = {kind: [] for kind in ORDER}
    for kind, shape in zip(kinds, shapes.values(), strict=True):
        sizes[kind].append(math.prod(shape))
    return Layout(sum(sizes["protected"]), sum(sizes["clear"]), tuple(sizes["protected"]))


def unflatten(flat: torch.Tensor, shapes: Shapes) -> Params:
    """Return named views `[..., *shape]` of `flat` `[..., d]`; writing to a view writes to the vector."""
    params, start = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        params[name] = flat[..., start : start + size].view(*flat.shape[:-1], *shape)
        start += size
    return params
