"""A linear softmax on features that are fixed before any private data are seen: few numbers to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fedpriv.frozen import Count, Positive
from fedpriv.models.base import Example, Params
from fedpriv.models.linear import LinearHead

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fedpriv.models.native.gradients import GradientEngine


class Softmax(LinearHead):
    """One linear map of the features of an image; `fedpriv.data.features.projected` computes them once.

    Its loss is convex: training starts at zero. The gradient at one example has a norm of at most
    √2 · √(1.5² + `constant`²), for features have norms of at most 1.5.
    """

    name: Literal["softmax"] = "softmax"
    transform: Literal["scattering"] = "scattering"  # of the pixels, made of no data
    basis: Literal["digits"] = "digits"  # the public images whose principal directions are kept
    directions: Count = 64  # how many of them: the width of the features
    constant: Positive = 0.2  # what a bias is multiplied by, as if it were one more feature

    @property
    def features(self) -> str:
        return f"{self.transform}-{self.basis}-k{self.directions}"

    @property
    def width(self) -> int:
        return self.directions

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        import torch

        return torch.zeros(classes * (example[0] + 1))

    def gradient_engine(self, classes: int) -> GradientEngine | None:
        from fedpriv.models.native import head

        return head.engine(self.width, classes, self.constant)

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight = params["head.weight"]
        return x.to(weight.dtype) @ weight.T + self.constant * params["head.bias"]
