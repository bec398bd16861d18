"""The CNN of TensorFlow Privacy's MNIST tutorial, which Tramèr, Boneh and others took over."""

import torch
from torch import nn


class TutorialCNN(nn.Module):
    """Two strided convolutions and two dense layers: logits `[n, 10]` of images `[n, 1, 28, 28]`.

    Weights are drawn as Keras does by default (Glorot, uniform) and biases are zero.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, stride=1)),
            *(nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, stride=1)),
            *(nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10)),
        )
        for name, parameter in self.named_parameters():
            if name.endswith("weight"):
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of images."""
        return self.layers(x)
