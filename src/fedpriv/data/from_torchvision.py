"""Datasets as torchvision brings them: its classes fetch, check and read; here they become arrays."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from fedpriv.data.source import SourceError
from fedpriv.errors import plain


def splits(name: str, root: Path) -> dict[str, np.ndarray]:
    """Return x_train, y_train, x_test, y_test: images uint8 `[n, c, h, w]` or `[n, h, w]`, labels int64.

    What is in `root` is not fetched again. Raises SourceError where torchvision cannot fetch or read it.
    """
    from torchvision import datasets

    kind = getattr(datasets, name)
    by_train = "train" in inspect.signature(kind).parameters
    found: dict[str, np.ndarray] = {}
    for split in ("train", "test"):
        which: dict[str, Any] = {"train": split == "train"} if by_train else {"split": split}
        try:
            x, y = stacked(kind(root, download=True, **which))
        except Exception as error:  # each class has its own way to fail
            raise SourceError(
                f"torchvision.{name}: torchvision could not bring it ({plain(str(error))}). Put its files "
                f"into {root}, where its class looks for them"
            ) from error
        found |= {f"x_{split}": x, f"y_{split}": y}
    return found


def stacked(examples: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the images and labels of a dataset of torchvision, whose images are of one size."""
    images, labels = zip(*(examples[number] for number in range(len(examples))), strict=True)
    x = np.stack([np.asarray(image) for image in images])
    x = x if x.ndim == 3 else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    return x, np.array(labels, dtype=np.int64)
