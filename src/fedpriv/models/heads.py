"""Models of fixed features: the last layer of a frozen network, a softmax in few directions, scattering.

Federated Learning with Bayesian Differential Privacy, section VI-A: a ResNet-50 pre-trained on ImageNet,
of which only the last layer is trained. What lies below is computed once, by `fedpriv.data.features`. A
softmax on features that are fixed before any private data are seen has few numbers to send.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import model_validator

from fedpriv.errors import BadInput
from fedpriv.frozen import Count, Positive, choice_error
from fedpriv.models.base import Example, Model, Params, Shapes, Statistics

if TYPE_CHECKING:
    import numpy as np
    import torch

    from fedpriv.config.run import Run
    from fedpriv.models.native.gradients import GradientEngine


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


WIDTHS = {"efficientnet_lite0": 1280, "imagenet": 2048, "random": 2048}  # of the pooled features


class Resnet50Head(LinearHead):
    """The linear head on the pooled features of a frozen network, which `backbone` names."""

    reads: ClassVar[Literal["images", "features"]] = "features"
    name: Literal["resnet50_head"] = "resnet50_head"
    backbone: Literal["efficientnet_lite0", "imagenet", "random"] = "imagenet"
    """EfficientNet-Lite0, its ImageNet weights from a package; ResNet-50, torchvision's, a download; or
    ResNet-50, seeded random ones.
    """

    @property
    def features(self) -> str:
        return self.backbone

    @property
    def width(self) -> int:
        return WIDTHS[self.backbone]

    def gradient_engine(self, classes: int) -> GradientEngine | None:
        from fedpriv.models.native import gradients

        return gradients.head_engine(self.width, classes)


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
        from fedpriv.models.native import gradients

        return gradients.head_engine(self.width, classes, self.constant)

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight = params["head.weight"]
        return x.to(weight.dtype) @ weight.mT + self.constant * params["head.bias"][..., None, :]


class OnSeenImages(OnPublicFeatures):
    """One linear map of the features of an image; `fedpriv.data.features.public` computes them once.

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

    def refuses(self, run: Run) -> str:
        if self.basis == "own" and not hasattr(run.dataset, "npz"):
            return "model.basis: found own, allowed: digits, or dataset {npz: FILE} of a file with x_public"
        return super().refuses(run)

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


PATHS, SIDE = 81, 7  # of `fedpriv.data.features.public`, for images of 28 x 28
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

    def refuses(self, run: Run) -> str:
        found, clients = "model.statistics_noise: found some", run.partition.clients
        if self.statistics_noise and (run.scheme.unit != "instance" or clients > 1):
            return f"{found} and {clients:,} clients, allowed: null, but with scheme instance and one client"
        if self.statistics_noise and run.secure_noise:
            return f"{found} and secure_noise, allowed: null, for a run that goes on would draw it again"
        return super().refuses(run)

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
        from fedpriv.models.native import gradients

        return gradients.head_engine(self.width, classes)


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
