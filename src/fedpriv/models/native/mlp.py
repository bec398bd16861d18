"""Train dense layers in C: all mini-batches of a client in one call, without Python or torch in between.

The network is that of `fedpriv.models.mlp` on images of 28x28 bytes; weights `[d]` have the order of its
shapes. Arithmetic is float32, and what is zero is left out of it: of pixels, and of what a ReLU gives.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import NamedTuple

import torch

from fedpriv.models.native.steps import POINTER, Functions, Tensors, functions, logits_of, mini_batches

LAYERS = 17  # as many as the C structure has room for
PIXELS = 784


class Net(NamedTuple):
    """Which network: the units of the hidden layers, then the classes."""

    widths: tuple[int, ...]

    unit = "mlp"

    @property
    def size(self) -> int:
        """Return d, the length of the flat weights."""
        return sum(a * b for a, b in itertools.pairwise((PIXELS, *self.widths)))


class _Net(ctypes.Structure):
    _fields_ = (("layers", ctypes.c_int64), ("widths", ctypes.c_int64 * (LAYERS + 1)))


def _functions() -> Functions:
    """Return the functions in C: the weights and the rate are their own options."""
    return functions(Net.unit, POINTER, ctypes.c_double)


def _struct(net: Net) -> _Net:
    """Return the C structure; raises ValueError for a network that C does not know."""
    if not 1 <= len(net.widths) <= LAYERS or min(net.widths) < 1:
        raise ValueError(f"widths: found {net.widths}, allowed are 1 to {LAYERS}, each 1 or more")
    return _Net(len(net.widths), (ctypes.c_int64 * (LAYERS + 1))(PIXELS, *net.widths))


def train(
    net: Net,
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    sizes: torch.Tensor,
    weights: torch.Tensor,
    rate: float,
) -> float:
    """Take one step of plain SGD for each mini-batch; return the mean loss on the last one, before its step.

    images, labels, rows and sizes are those of `mini_batches`. Weights `[d]` float32 are changed in place;
    those at zeros are left alone, whatever they are. Equal input gives equal bits, whatever other threads do.
    Raises ValueError for what C would misread, MemoryError, and RuntimeError where the unit mlp is not
    available.
    """
    structure = _struct(net)
    others: Tensors = {"weights": (weights, (net.size,), torch.float32)}
    given = mini_batches(images, labels, rows, sizes, net.widths[-1], others)
    loss = ctypes.c_double()
    if _functions().train(ctypes.byref(structure), *given, weights.data_ptr(), rate, loss):
        raise MemoryError("the dense layers found too little memory for a mini-batch")
    return loss.value


def logits(net: Net, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8; weights and errors as in `train`."""
    return logits_of(_functions(), _struct(net), images, weights, net.size, net.widths[-1])
