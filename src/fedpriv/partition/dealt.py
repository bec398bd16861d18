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

    def holders(self, content: np.ndarray) -> int:
        """Return how many clients hold the same example, at most; 0 if a client holds one more than once.

        Examples are the same that have an equal number in `content` `[n]`, wherever they stand in the data.
        """
        held = np.zeros(len(content), dtype=np.int64)
        for i in range(self.clients):
            held[content[self.client(i)]] += 1  # once, however often the client holds it
        return 0 if held.sum() < len(self.indices) else int(held.max(initial=1))

    def client(self, i: int) -> np.ndarray:
        """Return a view of the indices of client `i`."""
        return self.indices[self.offsets[i] : self.offsets[i + 1]]


def save(path: Path, partition: Partition, law: str) -> Path:
    """Write the partition to an npz file, atomically, with the words that say by which `law` it was dealt."""
    return npz.save(path, partition._asdict() | {"law": np.array(law)})


def load(path: Path, law: str) -> Partition:
    """Read what `save` wrote under the same `law`; anything else is BadInput naming the file."""
    *arrays, dealt_by = npz.load(path, (*Partition._fields, "law"))
    if str(dealt_by) != law:
        raise BadInput(f"{path}: found the partition {dealt_by}, allowed: {law}; delete it and rerun")
    partition = Partition(*arrays)
    indices, offsets = partition
    integers = indices.dtype.kind == offsets.dtype.kind == "i" and indices.ndim == offsets.ndim == 1
    if not (integers and len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(indices)):
        raise BadInput(
            f"{path}: found offsets that do not fit the indices, allowed: a partition; delete it and rerun"
        )
    if (np.diff(offsets) < 0).any():
        raise BadInput(f"{path}: found offsets that descend, allowed: ascending offsets; delete it and rerun")
    return partition
