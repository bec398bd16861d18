"""The binary network: weights and activations of plus and minus one.

Binary Federated Learning with Client-Level Differential Privacy, section IV-A, with what its released code
adds: batch normalisation before every tanh, and an input that is binarised.

DEVIATION: the paper's "two fully connected layers with 784 and 100 units" is read as the authors' code has
it: 784 is the width after the second pooling.
DEVIATION: the sign of zero is +1, because it has to be sent as one bit; the authors' code keeps zeros.
DEVIATION: a bias below a normalisation gets the gradient zero, which it has up to rounding. In the authors'
code Adam makes whole steps of that rounding.
DEVIATION: without normalisation every sum is divided by the root of its number of terms, or tanh would
saturate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.frozen import Real, Thousands
from fedpriv.models.base import GREY, Engine, Example, Handling, Normalised, Params, pooled_twice

if TYPE_CHECKING:
    import torch

    from fedpriv.config.run import Run


class Bnn(Normalised):
    """Two 3x3 convolutions and two dense layers on images; `widths` are channels, channels, units.

    `bn` says who knows the batch normalisation: it is averaged in the clear (`shared`), stays with its
    client (`local`) or is left out (`none`). With `sign: stochastic` binary weights are drawn in every step.
    """

    binary: ClassVar[bool] = True
    stacked: ClassVar[bool] = True
    name: Literal["bnn"] = "bnn"
    widths: tuple[Thousands, Thousands, Thousands] = (16, 16, 100)
    """Channels of both convolutions, units of the dense layer."""
    sign: Literal["deterministic", "stochastic"] = "deterministic"
    """Of a real weight: its sign, or random with a mean of the weight."""
    bn: Literal["shared", "local", "none"] = "shared"
    """Who knows the batch normalisation, or none."""
    binarise_input: bool = True
    """Pixels above `threshold` become 1, all others −1."""
    threshold: Real = 0.1307
    """Between dark and light pixels in [0, 1]; MNIST's mean."""

    @property
    def normalises(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.bn != "none"

    @property
    def stochastic(self) -> bool:
        return self.sign == "stochastic"

    def refuses(self, run: Run) -> str:
        if self.bn == "local" and not run.local.keeps_clients:
            return (
                "model.bn: found local, allowed: local.persistent: true, for only then clients have weights "
                "of their own"
            )
        return super().refuses(run)

    def shapes(self, classes: int, example: Example = GREY) -> dict[str, tuple[int, ...]]:
        from fedpriv.models import layers

        first, second, units = self.widths
        channels, height, width = pooled_twice(self, example)
        shapes = {
            "conv1.weight": (first, channels, 3, 3),
            "conv2.weight": (second, first, 3, 3),
            "dense1.weight": (units, second, height, width),
            "dense1.bias": (units,),
            "dense2.weight": (classes, units, 1, 1),
            "dense2.bias": (classes,),
        }
        for layer, outputs in enumerate([*self.widths, classes] if self.normalises else (), start=1):
            shapes |= layers.shapes(f"norm{layer}", outputs)
        return shapes

    def handling(self, name: str) -> Handling:
        if not name.startswith("norm"):
            return "protected"
        return "clear" if self.bn == "shared" else "kept"

    def step_engine(self, classes: int) -> Engine | None:
        if self.widths[:2] != (16, 16):
            return None
        how = True, self.normalises, self.binarise_input, self.threshold
        return "small_net", self.widths[2], classes, *how

    def forward(
        self, params: Params, x: torch.Tensor, weight: torch.Tensor | None, statistics: Params
    ) -> torch.Tensor:
        from fedpriv.models.layers import convolution, dense, max_pool, normalise, signs, straight_through

        def normal(layer: int, name: str, z: torch.Tensor) -> torch.Tensor:
            if not self.normalises:
                return z / math.sqrt(params[f"{name}.weight"].shape[-3:].numel())
            return normalise(params, f"norm{layer}", z, weight, statistics)

        def bias(layer: str) -> torch.Tensor:
            own = params[f"{layer}.bias"]
            # A normalisation takes it out again: no gradient, not even of the size of rounding.
            return own.detach() + 0.0 * own if self.normalises else own

        x = x.to(params["conv1.weight"].dtype)
        x = signs(x - self.threshold) if self.binarise_input else x
        # Affine maps may fall, so pooling comes after them; tanh increases and comes after pooling.
        x = max_pool(normal(1, "conv1", convolution(x, params["conv1.weight"])))
        x = straight_through(x.tanh())
        x = max_pool(normal(2, "conv2", convolution(x, params["conv2.weight"])))
        x = dense(x.tanh(), params["dense1.weight"], bias("dense1"))
        x = straight_through(normal(3, "dense1", x).tanh())
        x = dense(x, params["dense2.weight"], bias("dense2"))
        return normal(4, "dense2", x).flatten(params["conv1.weight"].ndim - 3)
