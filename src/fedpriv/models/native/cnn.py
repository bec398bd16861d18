"""The CNN of `fedpriv.models.cnn` as the units cnn3 and cnn5 know it: an example in each lane of a vector.

The maximum of a pool is the first in reading order, but for rounding.
"""

from __future__ import annotations

import ctypes

import torch

from fedpriv.models.native.gradients import GradientEngine

LAYERS = 20  # as many as the C structure has room for
ACTIVATIONS = {"tanh": 0, "relu": 1}  # as in activation.h


class _Net(ctypes.Structure):
    _fields_ = (
        ("layers", ctypes.c_int64),
        ("widths", ctypes.c_int64 * LAYERS),
        ("activation", ctypes.c_int),
    )


def engine(widths: tuple[int, ...], kernel: int, activation: str) -> GradientEngine:
    """Return the engine of the network with these units: of both convolutions, of the dense layers, classes.

    It reads images `[28, 28]` uint8. Raises ValueError for what C does not know.
    """
    if kernel not in (3, 5):
        raise ValueError(f"kernel: found {kernel}, allowed are 3 and 5")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: found {activation!r}, allowed are {', '.join(ACTIVATIONS)}")
    if not 3 <= len(widths) < LAYERS or min(widths) < 1:
        raise ValueError(f"widths: found {widths}, allowed are 3 to {LAYERS - 1}, each 1 or more")
    first, second, *dense = widths
    terms = [kernel**2, kernel**2 * first, 49 * second, *dense[:-1]]
    size = sum((t + 1) * width for t, width in zip(terms, widths, strict=True))
    net = _Net(len(widths), (ctypes.c_int64 * LAYERS)(*widths), ACTIVATIONS[activation])
    return GradientEngine(f"cnn{kernel}", net, (28, 28), torch.uint8, widths[-1], size)
