"""What a model is: shapes, and a pure function of parameters and inputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Frozen

if TYPE_CHECKING:
    import torch

Params = dict[str, "torch.Tensor"]


class Model(Frozen):
    """A frozen description; the weights live outside, in one flat vector `[d]` (`fedpriv.models.flat`)."""

    reads: ClassVar[Literal["images", "features"]] = "images"
    name: str

    def shapes(self, classes: int) -> dict[str, tuple[int, ...]]:
        """Return each parameter's shape, in the order of the flat vector."""
        raise NotImplementedError

    def apply(self, params: Params, x: torch.Tensor, native: bool = False) -> torch.Tensor:
        """Return the logits `[n, classes]` of images `[n, 1, 28, 28]` or features `[n, f]`.

        They have the dtype of `params`.

        `native` allows our own CPU kernels.
        """
        raise NotImplementedError

    def size(self, classes: int) -> int:
        """Return the number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes(classes).values())
