"""Dense layers on pixels or features, without biases: of MNIST 784-600-100-10.

The network of Geyer et al.'s released code, whose work SecretFlow's document on global DP implements.

DEVIATION: the authors' code draws first weights from a truncated normal of standard deviation 1/√fan-in; here
they have the variance 2/fan-in of every other model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from fedpriv.frozen import Thousands
from fedpriv.models.base import GREY, Example, Model, Params

if TYPE_CHECKING:
    import torch

    from fedpriv.models.native.mlp import Net


class Mlp(Model):
    """Dense layers with ReLU between them, and no biases; `widths` are the units of the hidden ones."""

    stacked: ClassVar[bool] = True
    name: Literal["mlp"] = "mlp"
    widths: tuple[Thousands, ...] = Field(default=(600, 100), min_length=1, max_length=16)
    """Units of the hidden layers."""

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        units = (math.prod(example), *self.widths, classes)
        return {f"dense{layer}.weight": (units[layer], units[layer - 1]) for layer in range(1, len(units))}

    def step_engine(self, classes: int) -> Net:
        from fedpriv.models.native.mlp import Net

        return Net((*self.widths, classes))

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        first, *rest = params.values()
        x = x.to(first.dtype).flatten(first.ndim - 1) @ first.mT
        for weight in rest:
            x = x.relu() @ weight.mT
        return x
