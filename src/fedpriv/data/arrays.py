"""A decoded dataset: grey 28x28 images and their labels, in one npz file."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedpriv.data import npz
from fedpriv.errors import BadInput


class Arrays(NamedTuple):
    """Images and labels, split into train and test."""

    x_train: np.ndarray  # uint8 [n, 28, 28]
    y_train: np.ndarray  # int64 [n], in 0..classes-1
    x_test: np.ndarray
    y_test: np.ndarray
    classes: int


def problem(arrays: Arrays) -> str:
    """Return what is wrong with `arrays` in a few words, or the empty string."""
    for split in ("train", "test"):
        x, y = getattr(arrays, f"x_{split}"), getattr(arrays, f"y_{split}")
        if x.dtype != np.uint8 or x.ndim != 3 or x.shape[1:] != (28, 28):
            return f"x_{split} of {x.dtype} {list(x.shape)}, not uint8 [n, 28, 28]"
        if y.dtype != np.int64 or y.shape != (len(x),):
            return f"y_{split} of {y.dtype} {list(y.shape)}, not int64 [{len(x)}]"
        if len(y) == 0:
            return f"an empty {split} split"
        if y.min() < 0 or y.max() >= arrays.classes:
            return f"labels {y.min()}..{y.max()} in y_{split}, not 0..{arrays.classes - 1}"
    return ""


def save(path: Path, arrays: Arrays) -> Path:
    """Write the arrays to an npz file, atomically; arrays that break the schema are a ValueError."""
    if wrong := problem(arrays):
        raise ValueError(f"{path}: {wrong}")
    return npz.save(path, arrays._asdict())


def load(path: Path) -> Arrays:
    """Read what `save` wrote; anything else is BadInput naming the file."""
    *splits, classes = npz.load(path, Arrays._fields)
    arrays = Arrays(*splits, classes=int(classes))
    if wrong := problem(arrays):
        raise BadInput(f"{path}: found {wrong}; delete it and rerun")
    return arrays


def hold_out(arrays: Arrays, count: int, rng: np.random.Generator) -> Arrays:
    """Move `count` random training examples into the test split; the official test split is left out.

    Both parts keep the order of the training data.
    """
    n = len(arrays.y_train)
    if not 0 < count < n:
        raise BadInput(f"validation: found {count}, allowed: 1 to {n - 1} of the {n} training examples")
    held = np.zeros(n, dtype=bool)
    held[rng.choice(n, count, replace=False)] = True
    x, y = arrays.x_train, arrays.y_train
    return Arrays(x[~held], y[~held], x[held], y[held], arrays.classes)
