"""Models of fixed features: a softmax in few public directions, and what reads all of a scattering.

Features that are fixed before any private data are seen cost no ε, and a softmax on few of them has few
numbers to send. They are computed once, by `fedpriv_studies.public` and `fedpriv_studies.photos`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import model_validator

from fedpriv.errors import BadInput
from fedpriv.frozen import Count, Positive, choice_error
from fedpriv.models.base import Engine, Example, Features, Model, Params, Shapes
from fedpriv.models.nets import LinearHead
from fedpriv.trace import Facts
from fedpriv_studies.statistics import Statistics, facts, normalise

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch

    from fedpriv.config.run import Run
    from fedpriv.streams import Streams


class OnPublicFeatures(LinearHead):
    """One linear map of features that are seen from public images, and have norms of at most 1.5.

    Its loss is convex: training starts at zero. The gradient at one example has a norm of at most
    √2 · √(1.5² + `constant`²).
    """

    stacked: ClassVar[bool] = True
    learns_from_public: ClassVar[bool] = True
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

    def gradient_engine(self, classes: int) -> Engine | None:
        return "head", self.width, classes, self.constant

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight = params["head.weight"]
        return x.to(weight.dtype) @ weight.mT + self.constant * params["head.bias"][..., None, :]


class OnSeenImages(OnPublicFeatures):
    """One linear map of the features of an image; `fedpriv_studies.public` computes them once.

    With `transform: none` it reads numbers that are features already.
    """

    transform: Literal["scattering", "none"] = "scattering"
    """Of the pixels, made of no data."""
    basis: Literal["digits", "digits_varied", "own"] = "digits"
    """The public images whose principal directions are kept; varied: with variants of each; own: `x_public`
    of an npz file of one's own.
    """

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

    def write_features(self, features: Features, out: Path) -> Path:
        from fedpriv_studies.basis import BASES, own_public
        from fedpriv_studies.public import extract_projected

        public = own_public(features.own) if features.own and self.basis == "own" else BASES[self.basis]()
        return extract_projected(features, self.transform, public, self.directions, out)


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
    """One linear map of the features of a photograph; `fedpriv_studies.photos` computes them once."""

    reads: ClassVar[Literal["images", "features"]] = "features"
    name: Literal["photo_softmax"] = "photo_softmax"
    backbone: Literal["efficientnet_lite0"] = "efficientnet_lite0"
    """Trained on ImageNet."""
    basis: Literal["fundus_even"] = "fundus_even"
    """Whose principal directions are kept: synthetic photographs, equally many of each grade."""

    @property
    def features(self) -> str:
        return f"{self.backbone}-{self.basis}-k{self.directions}"

    def write_features(self, features: Features, out: Path) -> Path:
        from fedpriv_studies.photos import extract_seen

        return extract_seen(features, self.backbone, self.basis, self.directions, out)


PATHS, SIDE = 81, 7  # of `fedpriv_studies.public`, for images of 28 x 28
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

    def write_features(self, features: Features, out: Path) -> Path:
        from fedpriv_studies.public import extract_whole

        return extract_whole(features, None if self.statistics_noise else self.groups, out)

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of all training examples, as they are released, by which features are normalised."""
        if self.statistics_noise is None:
            return None
        return Statistics(PATHS, self.mean_l2, self.square_l2, self.statistics_noise)

    def normalise(self, train: np.ndarray, test: np.ndarray, streams: Streams) -> None:
        if self.statistics:
            normalise(self.statistics, train, test, streams.noise("statistics"))

    def facts(self, round_number: int) -> Facts:
        return facts(self.statistics, round_number) if self.statistics else {}

    def refuses(self, run: Run) -> str:
        where, clients = "model.statistics_noise: found some", run.partition.clients
        if self.statistics_noise and (run.scheme.unit != "instance" or clients > 1):
            return f"{where} and {clients:,} clients, allowed: null, but with scheme instance and one client"
        if self.statistics_noise and run.secure_noise:
            return f"{where} and secure_noise, allowed: null, for a run that goes on would draw it again"
        return super().refuses(run)

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        """Return weights and biases drawn evenly from ± 1/√(what a unit reads), the default of PyTorch."""
        import torch

        tensors, reads = [], 1
        for shape in self.shapes(classes, example).values():
            reads = math.prod(shape[1:]) if len(shape) > 1 else reads  # a bias comes after its weight
            tensors.append(rng.uniform(-1, 1, math.prod(shape)) / math.sqrt(reads))
        return torch.cat([torch.from_numpy(tensor).float() for tensor in tensors])


class ScatterLinear(OnScattering, LinearHead):
    """One linear map of the scattering of an image."""

    name: Literal["scatter_linear"] = "scatter_linear"

    def gradient_engine(self, classes: int) -> Engine:
        return "head", self.width, classes


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
