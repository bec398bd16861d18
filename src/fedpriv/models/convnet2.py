"""FederatedScope's network for FEMNIST: two convolutions with batch normalisation and two dense layers.

FederatedScope, federatedscope/cv/model, ConvNet2, as its configuration for FEMNIST sets it (the document runs
that one): 5x5 convolutions of 32 and 64 channels, 2,048 hidden units, no dropout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Positive, Real, Thousands
from fedpriv.models.base import GREY, Example, Handling, Normalised, Params, pooled_twice

if TYPE_CHECKING:
    import torch


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
        self, params: Params, x: torch.Tensor, weight: torch.Tensor | None, found: Params
    ) -> torch.Tensor:
        from fedpriv.models.layers import convolution, linear, max_pool
        from fedpriv.models.normalise import normalise

        x = (x.to(params["conv1.weight"].dtype) - self.mean) / self.std
        for layer in (1, 2):
            x = convolution(x, params[f"conv{layer}.weight"], params[f"conv{layer}.bias"])
            x = normalise(params, f"norm{layer}", x, weight, found) if self.normalises else x
            x = max_pool(x.relu())
        # No convolutions, as those of `cnn` are: so many weights cost time in any layout but this.
        x = x.flatten(params["dense1.weight"].ndim - 1)
        x = linear(x, params["dense1.weight"], params["dense1.bias"]).relu()
        return linear(x, params["dense2.weight"], params["dense2.bias"])
