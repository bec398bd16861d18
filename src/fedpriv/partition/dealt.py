"""A partition: one flat array of indices and the offsets of the clients in it.

10,000 clients with 600 examples each are 24 MB, and no image is copied.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.files import npz


class Partition(NamedTuple):
    """Client i holds the examples `indices[offsets[i]:offsets[i + 1]]`."""

    indices: np.ndarray  # int32 [total]
    offsets: np.ndarray  # int64 [clients + 1]

    @property
    def clients(self) -> int:
        return len(self.offsets) - 1

    def client(self, i: int) -> np.ndarray:
        """Return a view of the indices of client `i`."""
        return self.indices[self.offsets[i] : self.offsets[i + 1]]


def save(path: Path, partition: Partition) -> Path:
    """Write the partition to an npz file, atomically."""
    return npz.save(path, partition._asdict())


def load(path: Path) -> Partition:
    """Read what `save` wrote; anything else is BadInput naming the file."""
    partition = Partition(*npz.load(path, Partition._fields))
    indices, offsets = partition
    integers = indices.dtype.kind == offsets.dtype.kind == "i" and indices.ndim == offsets.ndim == 1
    if not (integers and len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(indices)):
        raise BadInput(
            f"{path}: found offsets that do not fit the indices, allowed: a partition; delete it and rerun"
        )
    if (np.diff(offsets) < 0).any():
        raise BadInput(f"{path}: found offsets that descend, allowed: ascending offsets; delete it and rerun")
    return partition
