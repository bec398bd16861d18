"""A partition, and what every law of one has and shares.

A partition is one flat array of indices and the offsets of the clients in it: 10,000 clients with 600
examples each are 24 MB, and no image is copied. A law that may repeat examples passes over the data as
often as it needs, so a client at the seam of two passes (or one that wants more of a class than there is)
may hold an example twice. What a client holds may be sorted by label. Everything random comes from the
generator that is passed in.
"""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from fedpriv.data.arrays import NOBODY
from fedpriv.errors import BadInput
from fedpriv.frozen import Millions, RunPart, unless
from fedpriv.store import npz


class Partition(NamedTuple):
    """Client i holds the examples `indices[offsets[i]:offsets[i + 1]]`."""

    indices: np.ndarray  # int32 [total]
    offsets: np.ndarray  # int64 [clients + 1]

    @property
    def clients(self) -> int:
        return len(self.offsets) - 1

    def holders(self, content: np.ndarray) -> int:
        """Most clients that hold the same example; 0 if a client holds one more than once.

        Examples are the same that have an equal number in `content` `[n]`, wherever they stand in the data.
        """
        holders = np.zeros(len(content), dtype=np.int64)
        for i in range(self.clients):
            holders[content[self.client(i)]] += 1  # once, however often the client holds it
        return 0 if holders.sum() < len(self.indices) else int(holders.max(initial=1))

    def client(self, i: int) -> np.ndarray:
        """Return a view of the indices of client `i`."""
        return self.indices[self.offsets[i] : self.offsets[i + 1]]


def save_partition(path: Path, partition: Partition, law: str) -> Path:
    """Write the partition to an npz file, atomically, with the words that say by which `law` it was dealt."""
    return npz.save_npz(path, partition._asdict() | {"law": np.array(law)})


def load_partition(path: Path, law: str) -> Partition:
    """Read what `save` wrote under the same `law`; anything else is BadInput naming the file."""
    *arrays, dealt_by = npz.load_npz(path, (*Partition._fields, "law"))
    if str(dealt_by) != law:
        raise BadInput(f"{path}: found the partition {dealt_by}, allowed: {law}; delete it and rerun")
    return Partition(*arrays)


class PartitionLaw(RunPart):
    """How the training examples are dealt to `clients`; with `repeat`, an example more than once.

    Augmented copies of a photograph stay together with `deal: images`; with `copies` each is dealt by itself.
    """

    clients: Millions
    """Who hold data, sampled in a round or not."""
    examples: Millions | None = None
    """Per client; by default all the data are shared out."""
    repeat: bool = False
    """An example may be dealt to several clients, where there are too few."""
    deal: Literal["images", "copies"] = unless("images")
    """Which of a photograph's copies stay together."""
    by_label: ClassVar[bool] = False  # only examples of one class each can be dealt
    by_owner: ClassVar[bool] = False  # only data whose writers are known can be dealt

    @property
    def each(self) -> int:
        """Number of examples of a client; 0: as many as there are for it."""
        return self.examples or 0

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        """Partition of the examples with these integer `labels` [n].

        `owners` [n] says which writer an example is of, 0, 1, ...; it is empty where nobody knows.
        """
        raise NotImplementedError

    def size(self, n: int) -> int:
        """Return the examples per client (their mean where sizes differ), or BadInput if n are too few."""
        if self.examples is None:
            if self.clients > n:
                raise BadInput(
                    f"partition.clients: found {self.clients}, allowed: at most {n}, one example each"
                )
            return n // self.clients
        if self.clients > n and not self.repeat:
            raise BadInput(
                f"partition.clients: found {self.clients} with {self.examples} each, allowed: at most {n}, "
                "as there are examples, or repeat: true"
            )
        if self.clients * self.examples > n and not self.repeat:
            raise BadInput(
                f"partition.examples: found {self.examples} for each of {self.clients} clients, allowed: "
                f"at most {n // self.clients} (there are {n} examples), or repeat: true"
            )
        return self.examples


def equal_parts(indices: np.ndarray, clients: int) -> Partition:
    """Cut `indices` into `clients` equal parts."""
    return Partition(indices, np.arange(clients + 1, dtype=np.int64) * (len(indices) // clients))


def shuffle(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return 0..n-1 in random order, int32 [n]."""
    return rng.permutation(np.arange(n, dtype=np.int32))


def passes(one_pass: Callable[[], np.ndarray], total: int) -> np.ndarray:
    """Return the first `total` indices of independent passes over the data, one after the other.

    Every index that a pass holds is drawn either floor or ceil of (total / length of a pass) times.
    """
    drawn = [one_pass()]
    while sum(map(len, drawn)) < total:
        drawn.append(one_pass())
    return np.concatenate(drawn)[:total]


def round_shares(shares: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """Round `total` · shares [rows, k] to integers: rows sum to `total`, entries are off by less than one.

    Systematic rounding (one uniform offset a row), so the expectation of every entry is exact. Rows of
    `shares` must sum to one.
    """
    offset = rng.random((len(shares), 1))
    edges = np.floor(total * np.cumsum(shares, axis=1) + offset).clip(max=total)
    edges[:, -1] = total  # whatever the last bits of the cumulative sum are
    return np.diff(edges, axis=1, prepend=0).astype(np.int64)
