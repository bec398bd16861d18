"""What the contenders share: the data, the network, a client's pass over its examples, what is counted.

Imported by every contender in its own interpreter, hence without fedpriv.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from workload import CLIENTS, EXAMPLES, SEED, Workload

EVALUATION_CHUNK = 1000  # images


class Mnist(NamedTuple):
    """Images uint8 [n, 28, 28] and labels int64 [n]; turned into floats a batch at a time."""

    x_train: torch.Tensor
    y_train: torch.Tensor
    x_test: torch.Tensor
    y_test: torch.Tensor


class Network(nn.Module):
    """The CNN of a workload as anybody writes it: standard layout, the activation before pooling."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        (first, second, units), kernel = workload.widths, workload.kernel
        self.activate = getattr(torch, workload.activation)
        self.conv1 = nn.Conv2d(1, first, kernel, padding=kernel // 2)
        self.conv2 = nn.Conv2d(first, second, kernel, padding=kernel // 2)
        self.dense1 = nn.Linear(second * 7 * 7, units)
        self.dense2 = nn.Linear(units, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.activate(self.conv1(x)), 2)
        x = F.max_pool2d(self.activate(self.conv2(x)), 2)
        return self.dense2(self.activate(self.dense1(x.flatten(1))))


def load(path: Path) -> Mnist:
    """Read mnist.npz as `fedpriv.data` writes it."""
    with np.load(path) as file:
        return Mnist(*(torch.from_numpy(file[name]) for name in Mnist._fields))


def split() -> np.ndarray:
    """Return who holds what, rows of the training images [clients, examples]."""
    order = np.random.default_rng(SEED).permutation(CLIENTS * EXAMPLES)
    return order.reshape(CLIENTS, EXAMPLES)


def cohort(workload: Workload, round: int) -> np.ndarray:
    """Return the clients of a round, each at most once."""
    return np.random.default_rng([SEED, round]).choice(CLIENTS, workload.cohort, replace=False)


def network(workload: Workload) -> Network:
    """Return the network with the same initial weights in every contender: He's, as fedpriv's."""
    torch.manual_seed(SEED)
    model = Network(workload)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.kaiming_normal_(parameter, nonlinearity="relu")
        else:
            nn.init.zeros_(parameter)
    return model


def pixels(images: torch.Tensor) -> torch.Tensor:
    """Return uint8 images [n, 28, 28] as float32 [n, 1, 28, 28] in [0, 1]."""
    return images[:, None].float().div_(255)


def optimizer(workload: Workload) -> type[torch.optim.Optimizer]:
    """Return the optimiser of a client, with torch's own constants."""
    return getattr(torch.optim, workload.optimizer)


def train(
    workload: Workload, model: nn.Module, images: torch.Tensor, labels: torch.Tensor, rate: float
) -> None:
    """Pass once over the examples, shuffled, with a fresh optimiser; the weights change in place."""
    descent = optimizer(workload)(model.parameters(), lr=rate)  # pyright: ignore[reportCallIssue]
    for batch in torch.randperm(len(labels)).split(workload.batch):
        descent.zero_grad()
        F.cross_entropy(model(pixels(images[batch])), labels[batch]).backward()
        descent.step()


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of uint8 images that are labelled rightly."""
    with torch.no_grad():
        chunks = zip(images.split(EVALUATION_CHUNK), labels.split(EVALUATION_CHUNK), strict=True)
        right = sum(int((model(pixels(x)).argmax(1) == y).sum()) for x, y in chunks)
    return right / len(labels)


def flop_per_example(workload: Workload) -> int:
    """Return the floating-point operations of one forward and backward pass; a multiply-add counts two.

    A layer multiplies each weight at each output position once forward, and twice backward: for the weights
    and for its input. Nobody needs the gradient of the images, so the first layer skips that one.
    Pooling, activations, biases, the loss and the optimiser are left out.
    """
    multiply_adds: list[int] = []

    def count(layer: nn.Module, _: Any, output: torch.Tensor) -> None:
        multiply_adds.append(layer.get_parameter("weight").numel() * output[0, 0].numel())

    model = Network(workload)
    for layer in model.children():
        layer.register_forward_hook(count)
    model(torch.zeros(1, 1, 28, 28))
    return 2 * (3 * sum(multiply_adds) - multiply_adds[0])
