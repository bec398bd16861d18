"""What the engines of local steps share: the functions in C, a client's mini-batches, and logits."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import torch

from fedpriv.models import native
from fedpriv.models.native.tensors import check, check_range

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int64
Tensors = dict[str, tuple[torch.Tensor, tuple[int, ...], torch.dtype]]  # as `check` has them


class Functions(NamedTuple):
    """Those of one unit; a call releases Python's global lock."""

    unit: str
    train: Any
    logits: Any


@functools.cache
def functions(unit: str, *options: Any) -> Functions:
    """Return the functions in C; of `train` the `options` are the types between mini-batches and loss."""
    library = native.library(unit)
    found = Functions(unit, getattr(library, f"{unit}_train"), getattr(library, f"{unit}_logits"))
    batches = [POINTER, POINTER, POINTER, POINTER, NUMBER]  # images, labels, rows, sizes, how many sizes
    found.train.argtypes = [POINTER, *batches, *options, ctypes.POINTER(ctypes.c_double)]
    found.logits.argtypes = [POINTER, POINTER, NUMBER, POINTER, POINTER]
    return found


def mini_batches(
    images: torch.Tensor,
    labels: torch.Tensor,
    rows: torch.Tensor,
    sizes: torch.Tensor,
    classes: int,
    others: Tensors,
) -> list[int]:
    """Return mini-batches as C takes them: addresses, and how many.

    images `[n, 28, 28]` uint8, labels `[n]` int64; rows int64: the examples of all mini-batches one after the
    other; sizes int64: the lengths of these. Raises ValueError for what C would misread, of them or of the
    `others` that go with them.
    """
    n = len(images)
    tensors = {
        "images": (images, (n, 28, 28), torch.uint8),
        "labels": (labels, (n,), torch.int64),
        "rows": (rows, (len(rows),), torch.int64),
        "sizes": (sizes, (len(sizes),), torch.int64),
    }
    check({**tensors, **others})
    check_range("sizes", sizes, 1, len(rows))
    check_range("rows", rows, 0, n - 1)
    check_range("labels", labels[rows], 0, classes - 1)
    if not len(sizes) or int(sizes.sum()) != len(rows):
        found = f"{len(sizes)} with sum {int(sizes.sum())}"
        raise ValueError(f"sizes: found {found}, allowed is the sum {len(rows)}")
    return [*(one.data_ptr() for one in (images, labels, rows, sizes)), len(sizes)]


def logits_of(
    by: Functions, net: ctypes.Structure, images: torch.Tensor, weights: torch.Tensor, size: int, classes: int
) -> torch.Tensor:
    """Return the logits `[n, classes]` of images `[n, 28, 28]` uint8.

    Weights `[size]` float32. Raises ValueError for what C would misread, and MemoryError.
    """
    tensors = {
        "images": (images, (len(images), 28, 28), torch.uint8),
        "weights": (weights, (size,), torch.float32),
    }
    check(tensors)
    found = torch.empty(len(images), classes)
    if by.logits(ctypes.byref(net), images.data_ptr(), len(images), weights.data_ptr(), found.data_ptr()):
        raise MemoryError(f"{by.unit} found too little memory for its logits")
    return found
