"""The last layer of a network whose other layers are frozen: a linear map of its pooled features.

Federated Learning with Bayesian Differential Privacy, section VI-A: a ResNet-50 pre-trained on ImageNet, of
which only the last layer is trained. What lies below is computed once, by `fedpriv.data.features`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from fedpriv.models.linear import LinearHead

if TYPE_CHECKING:
    from fedpriv.models.native.gradients import GradientEngine

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
        from fedpriv.models.native import head

        return head.engine(self.width, classes)
