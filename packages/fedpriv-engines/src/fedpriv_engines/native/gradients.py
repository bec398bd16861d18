"""Engines of gradients in C: those at all examples of a batch in one call, clipped one by one or not.

The CNN of `fedpriv.models.nets` is the units cnn3 and cnn5, an example in each lane of a vector; the
maximum of a pool is the first in reading order, but for rounding. A linear map of features of half
precision is the unit head. What C would misread is refused by name: it sees addresses, not tensors.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from fedpriv.local.threads import Gradients
from fedpriv_engines import native


def check(tensors: Mapping[str, tuple[torch.Tensor, tuple[int, ...], torch.dtype]]) -> None:
    """Raise ValueError for a tensor that is not contiguous memory of this shape and type on a CPU."""
    for name, (tensor, shape, dtype) in tensors.items():
        right = tensor.shape == shape and tensor.dtype == dtype and tensor.device.type == "cpu"
        if not right or not tensor.is_contiguous() or tensor.requires_grad:
            layout = f"{tuple(tensor.shape)} {tensor.dtype} on {tensor.device}"
            layout += "" if tensor.is_contiguous() else ", not contiguous"
            layout += ", requires_grad" if tensor.requires_grad else ""
            raise ValueError(f"{name}: found {layout}, allowed is {shape} {dtype} on cpu, contiguous")


def check_range(name: str, numbers: torch.Tensor, low: int, high: int) -> None:
    """Raise ValueError for numbers that are not from `low` to `high`."""
    if len(numbers) and not low <= int(numbers.min()) <= int(numbers.max()) <= high:
        span = f"{int(numbers.min())} to {int(numbers.max())}"
        raise ValueError(f"{name}: found {span}, allowed are {low} to {high}")


def logits_of(
    function: Any,
    net: ctypes.Structure,
    inputs: torch.Tensor,
    example: tuple[tuple[int, ...], torch.dtype],
    weights: torch.Tensor,
    size: int,
    classes: int,
) -> torch.Tensor:
    """Return the logits `[n, classes]` that a function in C finds of inputs `[n, ...]`, each as `example`.

    Weights `[size]` float32. Raises ValueError for what C would misread, and MemoryError.
    """
    shape, dtype = example
    check(
        {
            "inputs": (inputs, (len(inputs), *shape), dtype),
            "weights": (weights, (size,), torch.float32),
        }
    )
    logits = torch.empty(len(inputs), classes)
    if function(ctypes.byref(net), inputs.data_ptr(), len(inputs), weights.data_ptr(), logits.data_ptr()):
        raise MemoryError("an engine found too little memory for its logits")
    return logits


class CompiledGradients(NamedTuple):
    """A model as a unit in C knows it: `net` is the C structure; weights `[d]` float32 are the model's."""

    unit: str
    net: ctypes.Structure
    inputs: tuple[int, ...]  # the shape of one example
    dtype: torch.dtype  # of its numbers
    classes: int
    size: int  # d
    heavy: bool  # whether a gradient costs much more than to add it to a sum: that of convolutions does

    @property
    def name(self) -> str:
        """Unit, and a digest of its sources."""
        return native.engine_name(self.unit)

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
        sampled = torch.empty(min(samples, len(rows)), self.size)
        total, losses, clipped = self._batch(inputs, labels, rows, weights, clip, sampled)
        return Gradients(total, sampled, float(losses.sum()), clipped)

    def each(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        rows: torch.Tensor,
        weights: torch.Tensor,
        to: torch.Tensor,
    ) -> torch.Tensor:
        """Write the gradient at every example of `rows` to `to` `[n, d]`; return the losses `[n]` float64.

        All else as `gradient`.
        """
        return self._batch(inputs, labels, rows, weights, 0.0, to)[1]

    def _batch(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        rows: torch.Tensor,
        weights: torch.Tensor,
        clip: float,
        sampled: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, int]:
        """Return the sum of the gradients, the losses `[n]` float64, how many were clipped.

        As many of the first gradients as `sampled` `[s, d]` has room for are written to it.
        """
        m = len(inputs)
        check(
            {
                "inputs": (inputs, (m, *self.inputs), self.dtype),
                "labels": (labels, (m,), torch.int64),
                "rows": (rows, (len(rows),), torch.int64),
                "weights": (weights, (self.size,), torch.float32),
                "sampled": (sampled, (min(len(sampled), len(rows)), self.size), torch.float32),
            }
        )
        check_range("rows", rows, 0, m - 1)
        check_range("labels", labels[rows], 0, self.classes - 1)
        total = torch.empty(self.size)
        losses, clipped = torch.empty(len(rows), dtype=torch.float64), ctypes.c_int64()
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
            losses.data_ptr(),
            clipped,
        )
        if failed:
            raise MemoryError(f"{self.unit} found too little memory for a batch")
        return total, losses, clipped.value

    def logits(self, inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of inputs `[n, ...]`; errors as in `gradient`."""
        logits, example = _functions(self.unit).logits, (self.inputs, self.dtype)
        return logits_of(logits, self.net, inputs, example, weights, self.size, self.classes)


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
    outputs = [pointer, pointer, pointer, ctypes.POINTER(number)]
    functions.gradient.argtypes = [pointer, *batch, ctypes.c_double, number, *outputs]
    functions.logits.argtypes = [pointer, pointer, number, pointer, pointer]
    return functions


LAYERS = 20  # as many as the C structure has room for
ACTIVATIONS = {"tanh": 0, "relu": 1}  # as in activation.h


class _CnnNet(ctypes.Structure):
    _fields_ = (
        ("layers", ctypes.c_int64),
        ("widths", ctypes.c_int64 * LAYERS),
        ("activation", ctypes.c_int),
    )


def cnn_engine(widths: tuple[int, ...], kernel: int, activation: str) -> CompiledGradients:
    """Return the engine of the network with these units: of both convolutions, of the dense layers, classes.

    It reads images `[28, 28]` uint8. Raises ValueError for what C does not know.
    """
    if not 3 <= len(widths) < LAYERS or min(widths) < 1:
        raise ValueError(f"widths: found {widths}, allowed are 3 to {LAYERS - 1}, each 1 or more")
    first, second, *dense = widths
    terms = [kernel**2, kernel**2 * first, 49 * second, *dense[:-1]]
    size = sum((t + 1) * width for t, width in zip(terms, widths, strict=True))
    net = _CnnNet(len(widths), (ctypes.c_int64 * LAYERS)(*widths), ACTIVATIONS[activation])
    return CompiledGradients(f"cnn{kernel}", net, (28, 28), torch.uint8, widths[-1], size, heavy=True)


class _HeadNet(ctypes.Structure):
    _fields_ = (("features", ctypes.c_int64), ("classes", ctypes.c_int64), ("constant", ctypes.c_float))


def head_engine(features: int, classes: int, constant: float = 1.0) -> CompiledGradients:
    """Return the engine of `classes` linear maps of `features` numbers, all finite.

    Weights are `[classes, features]`, then the biases, each of which counts `constant` times.
    """
    net = _HeadNet(features, classes, constant)
    size = (features + 1) * classes
    return CompiledGradients("head", net, (features,), torch.float16, classes, size, heavy=False)
