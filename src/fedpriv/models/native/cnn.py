"""Gradients of the CNN in C: those of a batch, clipped or not, in one call; an example in each lane.

The network is that of `fedpriv.models.cnn`; weights `[d]` have the order of its shapes. Arithmetic is
float32.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import torch

from fedpriv.models import native
from fedpriv.models.native.tensors import check, check_range

LAYERS = 20  # as many as the C structure has room for


class Net(NamedTuple):
    """Which network: the units of both convolutions, of the dense layers, the classes last."""

    widths: tuple[int, ...]
    kernel: int
    activation: str

    @property
    def unit(self) -> str:
        """Return the name of the C unit that knows this network."""
        return f"cnn{self.kernel}"

    @property
    def size(self) -> int:
        """Return d, the length of the flat weights."""
        first, second, *dense = self.widths
        taps, reads = self.kernel**2, [49 * second, *dense]
        terms = [taps, taps * first, *reads[:-1]]
        return sum((t + 1) * width for t, width in zip(terms, self.widths, strict=True))


class Gradients(NamedTuple):
    """What the gradients at the examples of a batch are."""

    total: torch.Tensor  # [d], their sum
    sampled: torch.Tensor  # [samples, d], those of the first examples
    loss: float  # the sum of the losses
    clipped: int  # how many were clipped


class _Net(ctypes.Structure):
    _fields_ = (
        ("layers", ctypes.c_int64),
        ("widths", ctypes.c_int64 * LAYERS),
        ("activation", ctypes.c_int),
    )


ACTIVATIONS = {"tanh": 0, "relu": 1}  # as in activation.h


class _Kernels(NamedTuple):
    gradient: Any
    logits: Any


@functools.cache
def _kernels(unit: str) -> _Kernels:
    """Return the C functions with their types declared; a call releases Python's global lock."""
    library = native.library(unit)
    kernels = _Kernels(library.cnn_gradient, library.cnn_logits)
    net, pointer, number = ctypes.POINTER(_Net), ctypes.c_void_p, ctypes.c_int64
    batch = [pointer, pointer, pointer, number, pointer]  # images, labels, rows, how many, weights
    found = [pointer, pointer, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(number)]
    kernels.gradient.argtypes = [net, *batch, ctypes.c_double, number, *found]
    kernels.logits.argtypes = [net, pointer, number, pointer, pointer]
    return kernels


def _struct(net: Net) -> _Net:
    if net.kernel not in (3, 5):
        raise ValueError(f"kernel: found {net.kernel}, allowed are 3 and 5")
    if net.activation not in ACTIVATIONS:
        raise ValueError(f"activation: found {net.activation!r}, allowed are {', '.join(ACTIVATIONS)}")
    if not 3 <= len(net.widths) < LAYERS or min(net.widths) < 1:
        raise ValueError(f"widths: found {net.widths}, allowed are 3 to {LAYERS - 1}, each 1 or more")
    return _Net(len(net.widths), (ctypes.c_int64 * LAYERS)(*net.widths), ACTIVATIONS[net.activation])


def available(net: Net) -> bool:
    """Say whether the engine can be called; the first call may compile it, a few seconds."""
    return native.available(net.unit)


def gradient(
    net: Net,
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    weights: torch.Tensor,
    clip: float = 0.0,
    samples: int = 0,
) -> Gradients:
    """Return the gradients of the cross-entropies at the examples `rows` `[n]`.

    images `[m, 28, 28]` uint8, labels `[m]` and rows int64, weights `[d]` float32. With `clip` every gradient
    is scaled to at most that norm before it counts; one that is not finite counts as zero then. Fewer rows
    than `samples` give fewer sampled gradients.

    The maximum of a pool is the first in reading order, but for rounding. Equal input gives equal bits,
    whatever other threads do. Raises ValueError for what C would misread, MemoryError, and RuntimeError where
    `available()` is False.
    """
    m, d = len(images), net.size
    struct = _struct(net)
    check(
        {
            "images": (images, (m, 28, 28), torch.uint8),
            "labels": (labels, (m,), torch.int64),
            "rows": (rows, (len(rows),), torch.int64),
            "weights": (weights, (d,), torch.float32),
        }
    )
    check_range("rows", rows, 0, m - 1)
    check_range("labels", labels[rows], 0, net.widths[-1] - 1)
    total, sampled = torch.empty(d), torch.empty(min(samples, len(rows)), d)
    loss, clipped = ctypes.c_double(), ctypes.c_int64()
    failed = _kernels(net.unit).gradient(
        struct,
        images.data_ptr(),
        labels.data_ptr(),
        rows.data_ptr(),
        len(rows),
        weights.data_ptr(),
        clip,
        len(sampled),
        total.data_ptr(),
        sampled.data_ptr(),
        loss,
        clipped,
    )
    if failed:
        raise MemoryError("the network found too little memory for a batch")
    return Gradients(total, sampled, loss.value, clipped.value)


def logits(net: Net, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8, weights `[d]` float32.

    Errors as in `gradient`.
    """
    check(
        {
            "images": (images, (len(images), 28, 28), torch.uint8),
            "weights": (weights, (net.size,), torch.float32),
        }
    )
    found = torch.empty(len(images), net.widths[-1])
    if _kernels(net.unit).logits(
        _struct(net), images.data_ptr(), len(images), weights.data_ptr(), found.data_ptr()
    ):
        raise MemoryError("the network found too little memory for its logits")
    return found
