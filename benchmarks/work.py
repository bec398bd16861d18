"""Workload W1, said once: what every contender computes, and how it is counted, checked and timed.

Imported by every contender in its own interpreter, hence without fedpriv. Linux only: memory is in /proc.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CLIENTS, EXAMPLES = 100, 600  # examples a client, i.i.d., all of MNIST
COHORT = 30  # clients a round, without replacement; the public denominator of the mean
CLIP, NOISE = 1.0, 1.0  # norm bound of an update; noise std on the sum, in units of the bound
RATE = 0.1  # the server's learning rate on the noisy mean
WARM_UP = 2  # rounds before the clock starts
EVALUATE_EVERY = 10  # rounds, counted from the start of the clock
EVALUATION_CHUNK = 1000  # images
SEED = 0


class Mnist(NamedTuple):
    """Images uint8 [n, 28, 28] and labels int64 [n]; turned into floats a client at a time."""

    x_train: torch.Tensor
    y_train: torch.Tensor
    x_test: torch.Tensor
    y_test: torch.Tensor


class Network(nn.Module):
    """The CNN 16-32-128 as anybody writes it: standard layout, ReLU before pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 5, padding=2)
        self.dense1 = nn.Linear(32 * 7 * 7, 128)
        self.dense2 = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.dense2(F.relu(self.dense1(x.flatten(1))))


class Laps:
    """Counts the rounds of one contender, has it evaluate when it is due, and takes the time.

    The clock starts at the end of round `WARM_UP` and stops at the end of the last, evaluations included.
    What a contender reports of its updates is kept, so that equal work can be checked.
    """

    def __init__(self, rounds: int) -> None:
        self.rounds, self.round = rounds, 0
        self.seconds = self._started = 0.0
        self.accuracies: list[float] = []  # at the end of the warm-up, then at every evaluation
        self.norms: list[float] = []  # of updates after clipping, in the warm-up
        self.examples: list[list[int]] = [[]]  # of each client, by round

    @property
    def total(self) -> int:
        return WARM_UP + self.rounds

    @property
    def warming(self) -> bool:
        return self.round < WARM_UP

    def update(self, examples: int) -> None:
        """Note that a client of the current round has worked through `examples`."""
        self.examples[-1].append(examples)

    def after_round(self, evaluate: Callable[[], float]) -> None:
        """End a round; `evaluate` returns the accuracy on the test images and is called only if it is due."""
        self.round += 1
        self.examples.append([])
        timed = self.round - WARM_UP
        if timed >= 0 and timed % EVALUATE_EVERY == 0:
            self.accuracies.append(evaluate())
        if timed == 0:
            self._started = time.perf_counter()
        if timed == self.rounds:
            self.seconds = time.perf_counter() - self._started

    def report(self) -> dict[str, Any]:
        """Return what was done and how long it took, as plain data."""
        done = self.examples[: self.round]
        return {
            "rounds": self.rounds,
            "seconds": self.seconds,
            "clients": sorted({len(sizes) for sizes in done}),
            "examples": sorted({size for sizes in done for size in sizes}),
            "norms": len(self.norms),
            "largest_norm": max(self.norms, default=0.0),
            "accuracies": self.accuracies,
        }


def load(path: Path) -> Mnist:
    """Read mnist.npz as `fedpriv.data` writes it."""
    with np.load(path) as file:
        return Mnist(*(torch.from_numpy(file[name]) for name in Mnist._fields))


def split() -> np.ndarray:
    """Return who holds what, rows of the training images [clients, examples]."""
    order = np.random.default_rng(SEED).permutation(CLIENTS * EXAMPLES)
    return order.reshape(CLIENTS, EXAMPLES)


def cohort(round: int) -> np.ndarray:
    """Return the clients of a round, each at most once."""
    return np.random.default_rng([SEED, round]).choice(CLIENTS, COHORT, replace=False)


def network() -> Network:
    """Return the network with the same initial weights in every contender: He's, as fedpriv's."""
    torch.manual_seed(SEED)
    model = Network()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.kaiming_normal_(parameter, nonlinearity="relu")
        else:
            nn.init.zeros_(parameter)
    return model


def pixels(images: torch.Tensor) -> torch.Tensor:
    """Return uint8 images [n, 28, 28] as float32 [n, 1, 28, 28] in [0, 1]."""
    return images[:, None].float().div_(255)


def local_step(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, rate: float) -> None:
    """Take one full-batch gradient step in place."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    F.cross_entropy(model(pixels(images)), labels).backward()
    optimizer.step()


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of uint8 images that are labelled rightly."""
    with torch.no_grad():
        chunks = zip(images.split(EVALUATION_CHUNK), labels.split(EVALUATION_CHUNK), strict=True)
        right = sum(int((model(pixels(x)).argmax(1) == y).sum()) for x, y in chunks)
    return right / len(labels)


def flop_per_example() -> int:
    """Return the floating-point operations of one forward and backward pass; a multiply-add counts two.

    A layer multiplies each weight at each output position once forward, and twice backward: for the weights
    and for its input. Nobody needs the gradient of the images, so the first layer skips that one.
    Pooling, ReLU, biases and the loss are left out (below 1 %).
    """
    multiply_adds: list[int] = []

    def count(layer: nn.Module, _: Any, output: torch.Tensor) -> None:
        multiply_adds.append(layer.get_parameter("weight").numel() * output[0, 0].numel())

    model = Network()
    for layer in model.children():
        layer.register_forward_hook(count)
    model(torch.zeros(1, 1, 28, 28))
    return 2 * (3 * sum(multiply_adds) - multiply_adds[0])


def peak_mib() -> float:
    """Return the largest resident memory of this process since it started, MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) / 1024
