"""Networks as users write them: one that can be trained, and one for everything that is in the way."""

import torch
from torch import nn


class Good(nn.Module):
    """Convolution, group normalisation, a constant buffer, a frozen and a tied parameter."""

    def __init__(self, classes=10, channels=1, width=4):
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, stride=2)
        self.norm = nn.GroupNorm(2, width)
        self.same = self.norm
        self.frozen = nn.Parameter(torch.randn(width, 1, 1), requires_grad=False)
        self.register_buffer("scale", torch.linspace(0.5, 1.5, width)[:, None, None])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(torch.tanh(self.norm(self.conv(x)) * self.scale + self.frozen).mean((2, 3)))


class Spoiled(nn.Module):
    """A linear layer behind one thing that cannot be."""

    def __init__(self, how, classes=10):
        super().__init__()
        self.how = how
        self.norm = nn.BatchNorm2d(1, track_running_stats=how == "running") if "ing" in how else nn.Identity()
        self.drop = nn.Dropout(0.5 if how == "random" else 0.0)
        self.head = nn.LazyLinear(classes) if how == "lazy" else nn.Linear(28 * 28, classes)
        if how == "frozen":
            self.requires_grad_(False)
        if how == "leaves":
            raise SystemExit
        if how == "raises":
            raise RuntimeError("of its own")

    def forward(self, x):
        if self.how == "branches" and x.sum() > 0:
            x = x + 1
        found = self.head(self.drop(self.norm(x)).flatten(1))
        return (found, found) if self.how == "pair" else found


def number(classes):
    raise AssertionError("this was called")


class NoNetwork:
    def __init__(self, **_):
        raise AssertionError("this was called")
