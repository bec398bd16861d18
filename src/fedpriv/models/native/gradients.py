"""Engines of gradients in C: those at all examples of a batch in one call, clipped one by one or not."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import torch

from fedpriv.models import native
from fedpriv.models.native.tensors import check, check_range


class Gradients(NamedTuple):
    """What the gradients at the examples of a batch are."""

    total: torch.Tensor  # [d], their sum
    sampled: torch.Tensor  # [samples, d], those of the first examples
    loss: float  # the sum of the losses
    clipped: int  # how many were clipped


class GradientEngine(NamedTuple):
    """A model as a unit in C knows it: `net` is the C structure; weights `[d]` float32 are the model's."""

    unit: str
    net: ctypes.Structure
    inputs: tuple[int, ...]  # the shape of one example
    dtype: torch.dtype  # of its numbers
    classes: int
    size: int  # d

    def available(self) -> bool:
        """Say whether the engine can be called; the first call may compile it, a few seconds."""
        return native.available(self.unit)

    def gradient(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        rows: torch.Tensor,
        weights: torch.Tensor,
        clip: float = 0.0,
        samples: int = 0,
    ) -> Gradients:
        """Return the gradients of the cross-entropies at the examples `rows` `[n]` of the inputs `[m, ...]`.

        labels `[m]` and rows are int64. With `clip` every gradient is scaled to at most that norm before it
        counts; one that is not finite counts as zero then. Fewer rows than `samples` give fewer sampled
        gradients. Arithmetic is float32.

        Equal input gives equal bits, whatever other threads do. Raises ValueError for what C would misread,
        MemoryError, and RuntimeError where `available()` is False.
        """
        m = len(inputs)
        check(
            {
                "inputs": (inputs, (m, *self.inputs), self.dtype),
                "labels": (labels, (m,), torch.int64),
                "rows": (rows, (len(rows),), torch.int64),
                "weights": (weights, (self.size,), torch.float32),
            }
        )
        check_range("rows", rows, 0, m - 1)
        check_range("labels", labels[rows], 0, self.classes - 1)
        total, sampled = torch.empty(self.size), torch.empty(min(samples, len(rows)), self.size)
        loss, clipped = ctypes.c_double(), ctypes.c_int64()
        failed = _functions(self.unit).gradient(
            ctypes.byref(self.net),
            inputs.data_ptr(),
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
            raise MemoryError(f"{self.unit} found too little memory for a batch")
        return Gradients(total, sampled, loss.value, clipped.value)

    def logits(self, inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of inputs `[n, ...]`; errors as in `gradient`."""
        check(
            {
                "inputs": (inputs, (len(inputs), *self.inputs), self.dtype),
                "weights": (weights, (self.size,), torch.float32),
            }
        )
        found = torch.empty(len(inputs), self.classes)
        where = inputs.data_ptr(), len(inputs), weights.data_ptr(), found.data_ptr()
        if _functions(self.unit).logits(ctypes.byref(self.net), *where):
            raise MemoryError(f"{self.unit} found too little memory for its logits")
        return found


class _Functions(NamedTuple):
    gradient: Any
    logits: Any


@functools.cache
def _functions(unit: str) -> _Functions:
    """Return the C functions with their types declared; a call releases Python's global lock."""
    library = native.library(unit)
    functions = _Functions(library.gradient, library.logits)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    batch = [pointer, pointer, pointer, number, pointer]  # inputs, labels, rows, how many, weights
    found = [pointer, pointer, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(number)]
    functions.gradient.argtypes = [pointer, *batch, ctypes.c_double, number, *found]
    functions.logits.argtypes = [pointer, pointer, number, pointer, pointer]
    return functions
