"""Two convolutions with max pooling and two dense layers; no batch normalisation.

Federated Learning with Bayesian Differential Privacy, section VI-A ("a simple CNN with two convolutional
layers and two fully connected layers").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from fedpriv.frozen import Thousands
from fedpriv.models.base import GREY, Example, Model, Params, pooled_twice

if TYPE_CHECKING:
    import torch

    from fedpriv.models.native.gradients import GradientEngine
    from fedpriv.models.native.small_net import Net


class Cnn(Model):
    """The CNN for images of any size; `widths` are (channels, channels, *dense units).

    Three widths give two dense layers as in the paper, four the wide variant 64-64-384-192, and two a
    single dense layer on the pooled features.
    """

    stacked: ClassVar[bool] = True
    name: Literal["cnn"] = "cnn"
    widths: tuple[Thousands, ...] = Field(default=(16, 32, 128), min_length=2, max_length=16)
    """Channels of both convolutions, then units of the dense layers."""
    kernel: Literal[3, 5] = 5
    """Pixels in a row of a convolution."""
    activation: Literal["relu", "tanh"] = "relu"
    """After every layer but the last."""

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

    def gradient_engine(self, classes: int) -> GradientEngine | None:
        from fedpriv.models.native import cnn

        return cnn.engine((*self.widths, classes), self.kernel, self.activation)

    def step_engine(self, classes: int) -> Net | None:
        from fedpriv.models.native.small_net import Net

        known = self.kernel == 3 and self.activation == "tanh" and len(self.widths) == 3
        return Net(self.widths[2], classes) if known and self.widths[:2] == (16, 16) else None

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
