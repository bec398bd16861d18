"""What the contenders share: the data, the network, a client's pass over its examples, what is counted.

Imported by every contender in its own interpreter, hence without fedpriv.
"""

from __future__ import annotations

import functools
import os
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from workload import SEED, Workload

EVALUATION_CHUNK = 1000  # images
DEVICE = torch.device(os.environ.get("RACED_DEVICE", "cpu"))  # of the plain loops and of fedpriv


class Data(NamedTuple):
    """Images uint8 [n, 28, 28] or features float16 [n, f], and labels int64 [n]; floats a batch at a time."""

    x_train: torch.Tensor
    y_train: torch.Tensor
    x_test: torch.Tensor
    y_test: torch.Tensor


class Network(nn.Module):
    """The CNN of a workload as anybody writes it: standard layout, the activation before pooling."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        (first, second, *dense), kernel = workload.widths, workload.kernel
        self.activate = getattr(torch, workload.activation)
        self.conv1 = nn.Conv2d(1, first, kernel, padding=kernel // 2)
        self.conv2 = nn.Conv2d(first, second, kernel, padding=kernel // 2)
        sizes = [second * 7 * 7, *dense, workload.classes]
        self.dense = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.activate(self.conv1(x)), 2)
        x = F.max_pool2d(self.activate(self.conv2(x)), 2).flatten(1)
        *hidden, last = self.dense
        for layer in hidden:
            x = self.activate(layer(x))
        return last(x)


class Head(nn.Linear):
    """The linear head of a workload on features."""

    def __init__(self, workload: Workload) -> None:
        (reads,) = workload.widths
        super().__init__(reads, workload.classes)


def module(workload: Workload) -> nn.Module:
    """Return the network of a workload as torch initialises it."""
    return Head(workload) if workload.model == "head" else Network(workload)


def load(path: Path) -> Data:
    """Read mnist.npz, or the features of photographs, as `fedpriv.data` writes them."""
    with np.load(path) as file:
        return Data(*(torch.from_numpy(file[name]).to(DEVICE) for name in Data._fields))


@functools.cache
def split(workload: Workload, images: int) -> np.ndarray:
    """Return who holds what, rows of the training examples [clients, each]; `images` are all originals.

    They are dealt with all their copies, and again where they do not suffice.
    """
    rng, copies = np.random.default_rng(SEED), workload.copies
    wanted = workload.clients * workload.each // copies
    dealt = np.concatenate([rng.permutation(images) for _ in range(-(-wanted // images))])[:wanted]
    return (dealt[:, None] * copies + np.arange(copies)).reshape(workload.clients, workload.each)


def shares(workload: Workload, data: Data) -> np.ndarray:
    """Return who holds what of the data."""
    return split(workload, len(data.y_train) // workload.copies)


def cohort(workload: Workload, round_number: int) -> np.ndarray:
    """Return the clients of a round, each at most once."""
    return np.random.default_rng([SEED, round_number]).choice(
        workload.clients, workload.cohort, replace=False
    )


def network(workload: Workload) -> nn.Module:
    """Return the network with the same initial weights in every contender: He's, as fedpriv's."""
    torch.manual_seed(SEED)
    model = module(workload)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.kaiming_normal_(parameter, nonlinearity="relu")
        else:
            nn.init.zeros_(parameter)
    return model.to(DEVICE)


def floats(inputs: torch.Tensor) -> torch.Tensor:
    """Return uint8 images [n, 28, 28] as float32 [n, 1, 28, 28] in [0, 1], features as float32."""
    return inputs[:, None].float().div_(255) if inputs.dim() == 3 else inputs.float()


def drawn(workload: Workload, rows: torch.Tensor) -> torch.Tensor:
    """Return the rows of a client's Poisson batch."""
    return rows[torch.rand(len(rows)) < workload.batch / workload.each]


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
        F.cross_entropy(model(floats(images[batch])), labels[batch]).backward()
        descent.step()


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of uint8 images that are labelled rightly."""
    with torch.no_grad():
        chunks = zip(images.split(EVALUATION_CHUNK), labels.split(EVALUATION_CHUNK), strict=True)
        right = sum(int((model(floats(x)).argmax(1) == y).sum()) for x, y in chunks)
    return right / len(labels)


def flop_per_example(workload: Workload) -> int:
    """Return the floating-point operations of one forward and backward pass; a multiply-add counts two.

    A layer multiplies each weight at each output position once forward, and twice backward: for the weights
    and for its input. Nobody needs the gradient of the inputs, so the first layer skips that one.
    Pooling, activations, biases, the loss and the optimiser are left out.
    """
    multiply_adds: list[int] = []

    def count(layer: nn.Module, _: Any, output: torch.Tensor) -> None:
        multiply_adds.append(layer.get_parameter("weight").numel() * output[0, 0].numel())

    model = module(workload)
    for layer in model.modules():
        if "weight" in dict(layer.named_parameters(recurse=False)):
            layer.register_forward_hook(count)
    model(torch.zeros(1, *((1, 28, 28) if workload.model != "head" else workload.widths)))
    return 2 * (3 * sum(multiply_adds) - multiply_adds[0])
