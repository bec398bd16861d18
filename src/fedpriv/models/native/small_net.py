"""Train the small network in C: all mini-batches of a client in one call, without Python or torch in between.

The network is that of `fedpriv.models.cnn` with widths (16, 16, hidden), 3x3 kernels and tanh, or, if
`binary`, that of `fedpriv.models.bnn`; weights `[d]` have the order of their models' shapes. Arithmetic is
float32.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import torch

from fedpriv.models.native.steps import (
    NUMBER,
    POINTER,
    Functions,
    Tensors,
    functions,
    logits_of,
    mini_batches,
)

CLASSES = 64


class Net(NamedTuple):
    """Which network: the last three matter only if `binary`, and the threshold if the input is binarised."""

    hidden: int
    classes: int
    binary: bool = False
    norm: bool = False
    binarise_input: bool = False
    threshold: float = 0.5

    unit = "small_net"

    @property
    def bits(self) -> int:
        """Return how many weights come before those of the normalisations."""
        convolutions = 16 * 9 + 16 * 16 * 9 + (0 if self.binary else 32)
        return convolutions + (784 + 1) * self.hidden + (self.hidden + 1) * self.classes

    @property
    def size(self) -> int:
        """Return d, the length of the flat weights."""
        return self.bits + (4 * (32 + self.hidden + self.classes) if self.norm else 0)


class Adam(NamedTuple):
    """How a client steps: Adam with epsilon 1e-8 (Kingma and Ba 2015), on the gradient of the mean loss.

    The gradient of proximal/2 · ‖weights - start‖² is added, then the whole is clipped to the norm `clip`; 0
    switches either off.
    """

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    proximal: float = 0.0
    clip: float = 0.0


class _Net(ctypes.Structure):
    _fields_ = (
        ("hidden", ctypes.c_int64),
        ("classes", ctypes.c_int64),
        ("binary", ctypes.c_int),
        ("norm", ctypes.c_int),
        ("bright", ctypes.c_int),
    )


class _Adam(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_double) for name in Adam._fields)


def _functions() -> Functions:
    """Return the functions in C: state, optimiser, start and uniforms are their own options."""
    state = [POINTER, POINTER, POINTER, NUMBER]  # weights, both moments, steps before
    options = [POINTER, POINTER, POINTER, NUMBER]  # Adam, start, uniforms and the length of a row of them
    return functions(Net.unit, *state, *options)


def _check(net: Net) -> None:
    """Raise ValueError for a network that C does not know."""
    if net.hidden < 1:
        raise ValueError(f"hidden: found {net.hidden}, allowed is 1 or more")
    if not 1 <= net.classes <= CLASSES:
        raise ValueError(f"classes: found {net.classes}, allowed are 1 to {CLASSES}")
    if net.norm and not net.binary:
        raise ValueError("norm: found True, allowed is False, because the network is not binary")


def _struct(net: Net) -> _Net:
    bright = -1
    if net.binary and net.binarise_input:
        # The first grey that is not below the threshold in float32, as PyTorch compares.
        bright = int((torch.arange(256) / 255 - net.threshold < 0).sum())
    return _Net(net.hidden, net.classes, net.binary, net.norm, bright)


def train(
    net: Net,
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    sizes: torch.Tensor,
    weights: torch.Tensor,
    first_moment: torch.Tensor,
    second_moment: torch.Tensor,
    steps_before: int,
    adam: Adam,
    start: torch.Tensor | None = None,
    uniforms: torch.Tensor | None = None,
) -> float:
    """Take one step for each mini-batch; return the mean loss on the last one, before its step.

    images, labels, rows and sizes are those of `mini_batches`. Weights and both moments, all `[d]` float32,
    are changed in place; steps_before counts the steps that made the moments. Start `[d]` is where the
    proximal term draws to. Of a binary network the signs of the weights are used or, with uniforms `[steps,
    d]` in [0, 1), +1 where u < (1 + weight)/2, and weights are clamped to [-1, 1] after each step; the
    gradient ignores all signs. With `norm` a batch is normalised by its own statistics (epsilon 1e-5), and
    the running ones move a tenth of the way towards them, the variance to the unbiased one.

    The maximum of a pool is the first in reading order. A dense bias before a normalisation gets the gradient
    zero, which it has but for rounding. Equal input gives equal bits, whatever other threads do. Raises
    ValueError for what C would misread, MemoryError, and RuntimeError where the unit small_net is not
    available.
    """
    d = (net.size,)
    others: Tensors = {
        "weights": (weights, d, torch.float32),
        "first_moment": (first_moment, d, torch.float32),
        "second_moment": (second_moment, d, torch.float32),
    }
    if adam.proximal:
        if start is None:
            raise ValueError(f"start: found None, allowed are weights where proximal is {adam.proximal}")
        others["start"] = (start, d, torch.float32)
    if uniforms is not None:
        others["uniforms"] = (uniforms, (len(sizes), net.size), torch.float32)
    _check(net)
    given = mini_batches(images, labels, rows, sizes, net.classes, others)
    if steps_before < 0:
        raise ValueError(f"steps_before: found {steps_before}, allowed is 0 or more")
    loss = ctypes.c_double()
    failed = _functions().train(
        ctypes.byref(_struct(net)),
        *given,
        weights.data_ptr(),
        first_moment.data_ptr(),
        second_moment.data_ptr(),
        steps_before,
        ctypes.byref(_Adam(*adam)),
        None if start is None else start.data_ptr(),
        None if uniforms is None else uniforms.data_ptr(),
        net.size,
        loss,
    )
    if failed:
        raise MemoryError("the small network found too little memory for a mini-batch")
    return loss.value


def logits(net: Net, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8, normalised by running statistics.

    Weights `[d]` float32; of a binary network their signs are used. Errors as in `train`.
    """
    _check(net)
    return logits_of(_functions(), _struct(net), images, weights, net.size, net.classes)
