"""A linear softmax on features that are computed from public images alone: few numbers to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import model_validator

from fedpriv.frozen import Count, Positive, choice_error
from fedpriv.models.base import Example, Params
from fedpriv.models.linear import LinearHead

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fedpriv.models.native.gradients import GradientEngine


class OnPublicFeatures(LinearHead):
    """One linear map of features that are seen from public images, and have norms of at most 1.5.

    Its loss is convex: training starts at zero. The gradient at one example has a norm of at most
    √2 · √(1.5² + `constant`²).
    """

    stacked: ClassVar[bool] = True
    directions: Count = 64
    """How many principal directions of the public images: the width of the features."""
    constant: Positive = 0.2
    """What a bias is multiplied by, as if it were one more feature."""

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
        return x.to(weight.dtype) @ weight.mT + self.constant * params["head.bias"][..., None, :]


class OnSeenImages(OnPublicFeatures):
    """One linear map of the features of an image; `fedpriv.data.features.projected` computes them once.

    With `transform: none` it reads numbers that are features already.
    """

    transform: Literal["scattering", "none"] = "scattering"
    """Of the pixels, made of no data."""
    basis: Literal["digits", "own"] = "digits"
    """The public images whose principal directions are kept; own: `x_public` of an npz file of one's own."""

    @model_validator(mode="after")
    def _alike(self) -> OnSeenImages:
        if self.transform == "none" and self.basis != "own":
            raise choice_error("basis", [self.basis], "own, with transform none")
        return self

    @property
    def features(self) -> str:
        return f"{self.transform}-{self.basis}-k{self.directions}"

    @property
    def transform_name(self) -> str:
        return self.transform

    @property
    def seen_in(self) -> tuple[str, int]:
        return self.basis, self.directions


class Softmax(OnSeenImages):
    """One linear map, of real weights."""

    name: Literal["softmax"] = "softmax"


class BinarySoftmax(OnSeenImages):
    """One linear map whose weights are plus and minus one: what a client sends is a bit a weight.

    Clients train real weights in [-1, 1] and use their signs (`fedpriv.models.bnn`); zeros are plus one.
    """

    binary: ClassVar[bool] = True
    name: Literal["binary_softmax"] = "binary_softmax"

    def gradient_engine(self, classes: int) -> None:
        return None


class PhotoSoftmax(OnPublicFeatures):
    """One linear map of the features of a photograph; `fedpriv.data.features.extract` computes them once."""

    reads: ClassVar[Literal["images", "features"]] = "features"
    name: Literal["photo_softmax"] = "photo_softmax"
    backbone: Literal["efficientnet_lite0"] = "efficientnet_lite0"
    """Trained on ImageNet."""
    basis: Literal["fundus_even"] = "fundus_even"
    """Whose principal directions are kept: synthetic photographs, equally many of each grade."""

    @property
    def features(self) -> str:
        return f"{self.backbone}-{self.basis}-k{self.directions}"

    @property
    def network(self) -> str:
        return self.backbone

    @property
    def seen_in(self) -> tuple[str, int]:
        return self.basis, self.directions
