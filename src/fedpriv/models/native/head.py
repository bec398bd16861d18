"""A linear map of features of half precision, as the unit head knows it."""

from __future__ import annotations

import ctypes

import torch

from fedpriv.models.native.gradients import GradientEngine


class _Net(ctypes.Structure):
    _fields_ = (("features", ctypes.c_int64), ("classes", ctypes.c_int64), ("constant", ctypes.c_float))


def engine(features: int, classes: int, constant: float = 1.0) -> GradientEngine:
    """Return the engine of `classes` linear maps of `features` numbers, all finite.

    Weights are `[classes, features]`, then the biases, each of which counts `constant` times.
    Raises ValueError for what C does not know.
    """
    if features < 1 or classes < 1:
        raise ValueError(f"features and classes: found {features} and {classes}, allowed are 1 or more")
    net = _Net(features, classes, constant)
    return GradientEngine("head", net, (features,), torch.float16, classes, (features + 1) * classes)
