"""Train dense layers in C: all mini-batches of a client in one call, without Python or torch in between.

The network is that of `fedpriv.models.mlp` on images of 28x28 bytes; weights `[d]` have the order of its
shapes. Arithmetic is float32, and what is zero is left out of it: of pixels, and of what a ReLU gives.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from typing import Any, NamedTuple

import torch

from fedpriv.models import native
from fedpriv.models.native.tensors import check, check_range

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


class _Kernels(NamedTuple):
    train: Any
    logits: Any


@functools.cache
def _kernels() -> _Kernels:
    """Return the C functions with their types declared; a call releases Python's global lock."""
    library = native.library("mlp")
    kernels = _Kernels(library.mlp_train, library.mlp_logits)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    net, loss = ctypes.POINTER(_Net), ctypes.POINTER(ctypes.c_double)
    batches = [pointer, pointer, pointer, pointer, number]  # images, labels, rows, sizes, how many sizes
    kernels.train.argtypes = [net, *batches, pointer, ctypes.c_double, loss]
    kernels.logits.argtypes = [net, pointer, number, pointer, pointer]
    return kernels


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

    images `[n, 28, 28]` uint8, labels `[n]` int64; rows int64: the examples of all mini-batches one after the
    other; sizes int64: the lengths of these. Weights `[d]` float32 are changed in place; those at zeros are
    left alone, whatever they are. Equal input gives equal bits, whatever other threads do. Raises ValueError
    for what C would misread, MemoryError, and RuntimeError where the unit mlp is not available.
    """
    structure, n = _struct(net), len(images)
    check(
        {
            "images": (images, (n, 28, 28), torch.uint8),
            "labels": (labels, (n,), torch.int64),
            "rows": (rows, (len(rows),), torch.int64),
            "sizes": (sizes, (len(sizes),), torch.int64),
            "weights": (weights, (net.size,), torch.float32),
        }
    )
    check_range("sizes", sizes, 1, len(rows))
    check_range("rows", rows, 0, n - 1)
    check_range("labels", labels[rows], 0, net.widths[-1] - 1)
    if not len(sizes) or int(sizes.sum()) != len(rows):
        raise ValueError(
            f"sizes: found {len(sizes)} with sum {int(sizes.sum())}, allowed is the sum {len(rows)}"
        )
    loss = ctypes.c_double()
    batches = [one.data_ptr() for one in (images, labels, rows, sizes)]
    if _kernels().train(structure, *batches, len(sizes), weights.data_ptr(), rate, loss):
        raise MemoryError("the dense layers found too little memory for a mini-batch")
    return loss.value


def logits(net: Net, images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8; weights and errors as in `train`."""
    structure, n = _struct(net), len(images)
    check(
        {
            "images": (images, (n, 28, 28), torch.uint8),
            "weights": (weights, (net.size,), torch.float32),
        }
    )
    found = torch.empty(n, net.widths[-1])
    if _kernels().logits(structure, images.data_ptr(), n, weights.data_ptr(), found.data_ptr()):
        raise MemoryError("the dense layers found too little memory for their logits")
    return found
