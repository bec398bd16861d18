"""A small ResNet with group normalisation, as anybody might write it: nothing here knows of fedpriv."""

import torch
from torch import nn
from torch.nn import functional as F


def normalised(channels: int) -> nn.GroupNorm:
    """Return a normalisation of eight groups of channels, of every example by itself."""
    return nn.GroupNorm(min(8, channels), channels)


class Block(nn.Module):
    """Two 3x3 convolutions around a shortcut (He et al. 2016), normalised by group (Wu and He 2018)."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
        self.norm1 = normalised(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = normalised(width)
        same = stride == 1 and channels == width
        self.shortcut = nn.Identity() if same else nn.Conv2d(channels, width, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features `[n, width, h / stride, w / stride]`."""
        features = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(features)) + self.shortcut(x))


class ResNet(nn.Module):
    """A first convolution, stages of `blocks` blocks at 1, 2 and 4 times `width`, a mean, a linear layer."""

    def __init__(self, classes: int = 10, channels: int = 3, width: int = 16, blocks: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        self.norm = normalised(width)
        stages, reads = [], width
        for stage in range(3):
            for block in range(blocks):
                stages.append(Block(reads, width << stage, 2 if stage and not block else 1))
                reads = width << stage
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(reads, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of images `[n, channels, h, w]`."""
        features = self.stages(F.relu(self.norm(self.conv(x))))
        return self.head(features.mean((2, 3)))
