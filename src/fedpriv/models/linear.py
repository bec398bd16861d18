"""What linear maps of fixed features have in common: the shapes of their weights, and a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fedpriv.errors import BadInput
from fedpriv.models.base import Example, Model, Params, Shapes

if TYPE_CHECKING:
    import torch


class LinearHead(Model):
    """One linear map of features `[f]`, with a bias a class."""

    stacked: ClassVar[bool] = True

    def shapes(self, classes: int, example: Example = ()) -> Shapes:
        example = example or (self.width,)
        if len(example) != 1:
            raise BadInput(f"model: found {self.name} with examples of shape {list(example)}, allowed: [f]")
        return {"head.weight": (classes, *example), "head.bias": (classes,)}

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight = params["head.weight"]
        return x.to(weight.dtype) @ weight.mT + params["head.bias"][..., None, :]
