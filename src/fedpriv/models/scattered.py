"""Models of all scattering coefficients of an image, normalised: a linear map, and a small CNN.

Tramèr and Boneh 2021, Differentially private learning needs better features (or much more data): their
"ScatterNet + linear" and "ScatterNet + CNN", as in the released code.

DEVIATION: the authors bound an image's part in statistics by the median of private norms, at no cost. Here
bounds are medians over scikit-learn's digits, which are public.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from fedpriv.errors import BadInput
from fedpriv.frozen import Count, Positive
from fedpriv.models.base import Example, Model, Params, Shapes, Statistics
from fedpriv.models.linear import LinearHead

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fedpriv.models.native.gradients import GradientEngine

PATHS, SIDE = 81, 7  # of `fedpriv.data.features.scattering`, for images of 28 x 28
WIDTH = PATHS * SIDE**2


class OnScattering(Model):
    """A model of the scattering of an image, `[WIDTH]` numbers, that starts as PyTorch's layers do.

    Paths are normalised image by image, in `groups`, which costs nothing; or, with `statistics_noise`, each
    by its mean and variance over all training examples, which are released with noise and counted.
    """

    groups: Count = 27
    """Of neighbouring paths; 81 is one path each."""
    statistics_noise: Positive | None = None
    """σ of the mean and of the mean square of every path; null: paths are normalised in groups."""
    mean_l2: Positive = 0.18
    """Bound of an example's part in the mean, by `statistics_noise`."""
    square_l2: Positive = 0.075
    """And in the mean square; both are median norms of scikit-learn's digits."""

    @property
    def width(self) -> int:
        return WIDTH

    @property
    def features(self) -> str:
        return "scattering" if self.statistics_noise else f"scattering-g{self.groups}"

    @property
    def path_groups(self) -> int | None:
        return None if self.statistics_noise else self.groups

    @property
    def statistics(self) -> Statistics | None:
        if self.statistics_noise is None:
            return None
        return Statistics(PATHS, self.mean_l2, self.square_l2, self.statistics_noise)

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        """Return weights and biases drawn evenly from ± 1/√(what a unit reads), the default of PyTorch."""
        import torch

        tensors, reads = [], 1
        for shape in self.shapes(classes, example).values():
            reads = math.prod(shape[1:]) if len(shape) > 1 else reads  # a bias comes after its weight
            tensors.append(rng.uniform(-1, 1, math.prod(shape)) / math.sqrt(reads))
        return torch.cat([torch.from_numpy(one).float() for one in tensors])


class ScatterLinear(OnScattering, LinearHead):
    """One linear map of the scattering of an image."""

    name: Literal["scatter_linear"] = "scatter_linear"

    def gradient_engine(self, classes: int) -> GradientEngine | None:
        from fedpriv.models.native import head

        return head.engine(self.width, classes)


class ScatterCnn(OnScattering):
    """Two convolutions and two dense layers on the scattering of an image, with tanh between them."""

    name: Literal["scatter_cnn"] = "scatter_cnn"

    def shapes(self, classes: int, example: Example = (WIDTH,)) -> Shapes:
        if example != (WIDTH,):
            raise BadInput(
                f"model: found {self.name} with examples of shape {list(example)}, allowed: [{WIDTH}]"
            )
        return {
            "conv1.weight": (16, PATHS, 3, 3),
            "conv1.bias": (16,),
            "conv2.weight": (32, 16, 3, 3),
            "conv2.bias": (32,),
            "dense1.weight": (32, 32 * 4 * 4),
            "dense1.bias": (32,),
            "dense2.weight": (classes, 32),
            "dense2.bias": (classes,),
        }

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional as F

        x = x.to(params["conv1.weight"].dtype).unflatten(-1, (PATHS, SIDE, SIDE))
        x = F.conv2d(x, params["conv1.weight"], params["conv1.bias"], stride=2, padding=1).tanh()
        x = F.conv2d(x, params["conv2.weight"], params["conv2.bias"], padding=1).tanh().flatten(1)
        x = F.linear(x, params["dense1.weight"], params["dense1.bias"]).tanh()
        return F.linear(x, params["dense2.weight"], params["dense2.bias"])
