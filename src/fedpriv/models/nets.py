"""The small networks of the papers, each a pure function of its parameters, and a head on frozen features.

Federated Learning with Bayesian Differential Privacy, section VI-A: a ResNet-50 pre-trained on ImageNet,
of which only the last layer is trained. What lies below is computed once, by `fedpriv.data.features`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from fedpriv.errors import BadInput
from fedpriv.frozen import Positive, Real, Thousands, unless
from fedpriv.models.base import (
    GREY,
    Engine,
    Example,
    Features,
    Handling,
    Model,
    Normalised,
    Params,
    Shapes,
    initial_weights,
    pooled_twice,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch

# How the last layer begins. With zeros every class is equally likely at first, and no gradient is long.
LastLayer = Literal["random", "zero"]


class Mlp(Model):
    """Dense layers with ReLU between them, and no biases; `widths` are the units of the hidden ones."""

    stacked: ClassVar[bool] = True
    name: Literal["mlp"] = "mlp"
    widths: tuple[Thousands, ...] = Field(default=(600, 100), min_length=1, max_length=16)
    """Units of the hidden layers."""

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        units = (math.prod(example), *self.widths, classes)
        return {f"dense{layer}.weight": (units[layer], units[layer - 1]) for layer in range(1, len(units))}

    def step_engine(self, classes: int) -> Engine:
        return "mlp", (*self.widths, classes)

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        first, *rest = params.values()
        x = x.to(first.dtype).flatten(first.ndim - 1) @ first.mT
        for weight in rest:
            x = x.relu() @ weight.mT
        return x


class Cnn(Model):
    """The CNN for images of any size; `widths` are (channels, channels, *dense units).

    Three widths give two dense layers as in the paper, four the wide variant 64-64-384-192, and two a
    single dense layer on the pooled features.

    DEVIATION: BDP section VI-A has two convolutional and two fully connected layers. Our runs of its tables
    have one dense layer, widths 8-16: a second one makes updates longer, so that a Bayesian ε is spent in
    fewer rounds (docs/hyper-parameters.md). Tables I and II with 100 clients are there with both. The wide
    variant has the widths of the tutorial that the paper names, and was tried with simulated cohorts only.
    """

    stacked: ClassVar[bool] = True
    name: Literal["cnn"] = "cnn"
    widths: tuple[Thousands, ...] = Field(default=(16, 32, 128), min_length=2, max_length=16)
    """Channels of both convolutions, then units of the dense layers."""
    kernel: Literal[3, 5] = 5
    """Pixels in a row of a convolution."""
    activation: Literal["relu", "tanh"] = "relu"
    """After every layer but the last."""
    last_layer: LastLayer = unless("random")
    """Weights of the last layer before training: random as all others, or zero."""

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        shapes = self.shapes(classes, example)
        last = f"dense{len(self.widths) - 1}.weight"
        return initial_weights(shapes, rng, zero=last if self.last_layer == "zero" else "")

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        first, second, *dense = self.widths
        channels, height, width = pooled_twice(self, example)
        square = (self.kernel, self.kernel)
        shapes: dict[str, tuple[int, ...]] = {
            "conv1.weight": (first, channels, *square),
            "conv1.bias": (first,),
            "conv2.weight": (second, first, *square),
            "conv2.bias": (second,),
        }
        # The first dense layer is a convolution of all that is left (7x7 of 28x28): the same, and CPUs
        # have a faster kernel for it.
        reads: tuple[int, ...] = (second, height, width)
        for number, units in enumerate([*dense, classes], start=1):
            shapes[f"dense{number}.weight"] = (units, *reads)
            shapes[f"dense{number}.bias"] = (units,)
            reads = (units, 1, 1)
        return shapes

    def gradient_engine(self, classes: int) -> Engine:
        return "cnn", (*self.widths, classes), self.kernel, self.activation

    def step_engine(self, classes: int) -> Engine | None:
        known = self.kernel == 3 and self.activation == "tanh" and len(self.widths) == 3
        return ("small_net", self.widths[2], classes) if known and self.widths[:2] == (16, 16) else None

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional as F

        from fedpriv.models.layers import convolution, dense

        activate = {"relu": F.relu, "tanh": F.tanh}[self.activation]
        x = x.to(params["conv1.weight"].dtype)
        # Both activations increase, so they commute with max: after pooling they are a quarter of the work.
        for layer in ("conv1", "conv2"):
            x = activate(convolution(x, params[f"{layer}.weight"], params[f"{layer}.bias"], pool=True))
        layers = len(self.widths) - 1
        for number in range(1, layers + 1):
            x = dense(x, params[f"dense{number}.weight"], params[f"dense{number}.bias"])
            if number < layers:
                x = activate(x)
        return x.flatten(params["conv1.weight"].ndim - 3)


class ConvNet2(Normalised):
    """The network for images.

    The statistics of its batch normalisations are averaged in the clear (`bn: shared`), if there are any.
    """

    stacked: ClassVar[bool] = True
    name: Literal["convnet2"] = "convnet2"
    bn: Literal["shared", "none"] = "shared"
    """Averaged in the clear, or none."""
    widths: tuple[Thousands, Thousands, Thousands] = (32, 64, 2048)
    """Channels of both convolutions, units of the dense layer."""
    mean: Real = 0.9637
    """Of the pixels in [0, 1], of which it is taken away; FEMNIST's."""
    std: Positive = 0.1592
    """Of the pixels, by which they are divided."""

    @property
    def normalises(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.bn != "none"

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        first, second, units = self.widths
        channels, height, width = pooled_twice(self, example)
        learned: dict[str, tuple[int, ...]] = {
            "conv1.weight": (first, channels, 5, 5),
            "conv1.bias": (first,),
            "norm1.weight": (first,),
            "norm1.bias": (first,),
            "conv2.weight": (second, first, 5, 5),
            "conv2.bias": (second,),
            "norm2.weight": (second,),
            "norm2.bias": (second,),
            "dense1.weight": (units, second * height * width),
            "dense1.bias": (units,),
            "dense2.weight": (classes, units),
            "dense2.bias": (classes,),
        }
        parts = ("mean", "variance")
        running = {f"norm{k}.{part}": (self.widths[k - 1],) for k in (1, 2) for part in parts}
        every = learned | running
        return {name: every[name] for name in every if self.normalises or not name.startswith("norm")}

    def handling(self, name: str) -> Handling:
        return "clear" if name.endswith((".mean", ".variance")) else "protected"

    def forward(
        self, params: Params, x: torch.Tensor, weight: torch.Tensor | None, statistics: Params
    ) -> torch.Tensor:
        from fedpriv.models.layers import convolution, linear, max_pool, normalise

        x = (x.to(params["conv1.weight"].dtype) - self.mean) / self.std
        for layer in (1, 2):
            x = convolution(x, params[f"conv{layer}.weight"], params[f"conv{layer}.bias"])
            x = normalise(params, f"norm{layer}", x, weight, statistics) if self.normalises else x
            x = max_pool(x.relu())
        # No convolutions, as those of `cnn` are: so many weights cost time in any layout but this.
        x = x.flatten(params["dense1.weight"].ndim - 1)
        x = linear(x, params["dense1.weight"], params["dense1.bias"]).relu()
        return linear(x, params["dense2.weight"], params["dense2.bias"])


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
    """The linear head on the pooled features of a frozen network, which `backbone` names.

    DEVIATION: BDP section VI-A re-trains the last layer of a ResNet-50. Our runs have the features of an
    EfficientNet-Lite0, whose ImageNet weights install as a package, and hold accuracies against its baseline.
    """

    reads: ClassVar[Literal["images", "features"]] = "features"
    name: Literal["resnet50_head"] = "resnet50_head"
    backbone: Literal["efficientnet_lite0", "imagenet", "random"] = "imagenet"
    """EfficientNet-Lite0, its ImageNet weights from a package; ResNet-50, torchvision's, a download; or
    ResNet-50, seeded random ones.
    """
    last_layer: LastLayer = unless("random")
    """Weights of the head before training: random, or zero."""

    def initial(self, classes: int, example: Example, rng: np.random.Generator) -> torch.Tensor:
        zero = "head.weight" if self.last_layer == "zero" else ""
        return initial_weights(self.shapes(classes, example), rng, zero)

    @property
    def features(self) -> str:
        return self.backbone

    def write_features(self, features: Features, out: Path) -> Path:
        from fedpriv.data.features.extract import extract

        how = features.device, features.threads
        return extract(features.listed, features.photos, self.backbone, out, *how)

    @property
    def width(self) -> int:
        return WIDTHS[self.backbone]

    def gradient_engine(self, classes: int) -> Engine:
        return "head", self.width, classes
