"""One dense layer on the pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from fedpriv.models.base import Model, Params

if TYPE_CHECKING:
    import torch


class Logistic(Model):
    """Multinomial logistic regression."""

    name: Literal["logistic"] = "logistic"

    def shapes(self, classes: int, example: tuple[int, ...] = (1, 28, 28)) -> dict[str, tuple[int, ...]]:
        return {"weight": (math.prod(example), classes), "bias": (classes,)}

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight, bias = params["weight"], params["bias"]
        return x.to(weight.dtype).flatten(1) @ weight + bias
