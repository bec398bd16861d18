"""The last layer of a ResNet-50 whose other layers are frozen: a linear map of its pooled features.

Federated Learning with Bayesian Differential Privacy, section VI-A: pre-trained on ImageNet, and only the
last layer is trained. What lies below is computed once, by `fedpriv.data.features`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.errors import BadInput
from fedpriv.models.base import Example, Model, Params

if TYPE_CHECKING:
    import torch

    from fedpriv.models.native.gradients import GradientEngine

WIDTH = 2048  # of a ResNet-50's pooled features


class Resnet50Head(Model):
    """The linear head on ResNet-50 features; `backbone` says whose features: ImageNet's or a random net's."""

    reads: ClassVar[Literal["images", "features"]] = "features"
    name: Literal["resnet50_head"] = "resnet50_head"
    # torchvision's weights, or a seeded random network, which needs no download
    backbone: Literal["imagenet", "random"] = "imagenet"

    @property
    def features(self) -> str:
        return self.backbone

    def shapes(self, classes: int, example: Example = (WIDTH,)) -> dict[str, tuple[int, ...]]:
        if len(example) != 1:
            raise BadInput(f"model: found {self.name} with examples of shape {list(example)}, allowed: [f]")
        return {"head.weight": (classes, *example), "head.bias": (classes,)}

    def gradient_engine(self, classes: int) -> GradientEngine | None:
        from fedpriv.models.native import head

        return head.engine(WIDTH, classes)

    def apply(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        weight = params["head.weight"]
        return x.to(weight.dtype) @ weight.T + params["head.bias"]
