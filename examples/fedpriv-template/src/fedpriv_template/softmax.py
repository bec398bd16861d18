"""One dense layer on the pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fedpriv.models.base import Model, Params

if TYPE_CHECKING:
    import torch

PIXELS = 28 * 28


class Softmax(Model):
    """Multinomial logistic regression."""

    name: Literal["softmax"] = "softmax"

    def shapes(self, classes: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (PIXELS, classes), "bias": (classes,)}

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight, bias = params["weight"], params["bias"]
        return x.to(weight.dtype).flatten(1) @ weight + bias
