"""Partition laws: which examples each client holds.

A partition is one flat array of indices and the offsets of the clients in it: 10,000 clients with 600
examples each are 24 MB, and no image is copied. A law that may repeat examples passes over the data as often
as it needs, so a client at the seam of two passes (or one that wants more of a class than there is) may hold
an example twice. What a client holds may be sorted by label. Everything random comes from the generator
that is passed in.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import PositiveFloat, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.data import npz
from fedpriv.errors import BadInput
from fedpriv.frozen import Frozen


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


def shuffled(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return 0..n-1 in random order, int32 [n]."""
    return rng.permutation(np.arange(n, dtype=np.int32))


def by_label(indices: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return `indices` by ascending label; within a label they keep their order."""
    return indices[np.argsort(labels[indices], kind="stable")]


def passes(one_pass: Callable[[], np.ndarray], total: int) -> np.ndarray:
    """Return the first `total` indices of independent passes over the data, one after the other.

    Every index that a pass holds is drawn either floor or ceil of (total / length of a pass) times.
    """
    drawn = [one_pass()]
    while sum(map(len, drawn)) < total:
        drawn.append(one_pass())
    return np.concatenate(drawn)[:total]


def whole(shares: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """Round `total` · shares [rows, k] to integers: rows sum to `total`, entries are off by less than one.

    Systematic rounding (one uniform offset a row), so the expectation of every entry is exact. Rows of
    `shares` must sum to one.
    """
    offset = rng.random((len(shares), 1))
    edges = np.floor(total * np.cumsum(shares, axis=1) + offset).clip(max=total)
    edges[:, -1] = total  # whatever the last bits of the cumulative sum are
    return np.diff(edges, axis=1, prepend=0).astype(np.int64)


def balance(shares: np.ndarray, column_sums: np.ndarray, iterations: int = 1000) -> np.ndarray:
    """Scale rows and columns in turn (Sinkhorn) until columns have the given sums; rows always sum to one.

    A class that no client wants at all gets a little weight, so that a solution exists.
    """
    shares = np.maximum(shares, 1e-12)
    for _ in range(iterations):
        shares = shares * (column_sums / shares.sum(0))
        shares /= shares.sum(1, keepdims=True)
        if np.allclose(shares.sum(0), column_sums, rtol=1e-6):
            break
    return shares


def serve(wanted: np.ndarray, supply: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return what each client [clients, classes] gets of a limited `supply` [classes], served in `order`.

    Everybody gets as many examples as wanted in all: what a class lacks comes from the class with most left.
    The supply must suffice in all.
    """
    served = np.zeros_like(wanted)
    left = supply.copy()
    for client in order:
        got = np.minimum(wanted[client], left)
        left -= got
        missing = int(wanted[client].sum() - got.sum())
        while missing:
            richest = int(left.argmax())
            refill = min(missing, int(left[richest]))
            got[richest] += refill
            left[richest] -= refill
            missing -= refill
        served[client] = got
    return served


class PartitionLaw(Frozen):
    """How the training examples are dealt to `clients`; with `repeat`, an example more than once."""

    clients: PositiveInt
    examples: PositiveInt | None = None  # per client; by default all the data are shared out
    repeat: bool = False

    def split(self, labels: np.ndarray, rng: np.random.Generator) -> Partition:
        """Return who holds which of the examples with these integer `labels` [n]."""
        raise NotImplementedError

    def size(self, n: int) -> int:
        """Return the examples per client (their mean where sizes differ), or BadInput if n are too few."""
        if self.examples is None:
            if self.clients > n:
                raise BadInput(
                    f"partition.clients: found {self.clients}, allowed: at most {n}, one example each"
                )
            return n // self.clients
        if self.clients * self.examples > n and not self.repeat:
            raise BadInput(
                f"partition.examples: found {self.examples} for each of {self.clients} clients, allowed: "
                f"at most {n // self.clients} (there are {n} examples), or repeat: true"
            )
        return self.examples

    def repetition(self, n: int) -> float:
        """Return how often an example is dealt on average: examples dealt / n."""
        return self.clients * self.size(n) / n


def equal(indices: np.ndarray, clients: int) -> Partition:
    """Cut `indices` into `clients` equal parts."""
    return Partition(indices, np.arange(clients + 1, dtype=np.int64) * (len(indices) // clients))


class Iid(PartitionLaw):
    """Equal parts of a random permutation; beyond n examples, of one fresh permutation after another.

    With repetition every example is dealt equally often, give or take one.
    """

    law: Literal["iid"] = "iid"

    def split(self, labels: np.ndarray, rng: np.random.Generator) -> Partition:
        n = len(labels)
        return equal(passes(lambda: shuffled(n, rng), self.clients * self.size(n)), self.clients)


class Shards(PartitionLaw):
    """Examples sorted by label, cut into shards, the shards dealt at random (McMahan et al. 2017).

    Federated Learning with Bayesian Differential Privacy, section VI-A: 300-example one-class shards, two
    a client. With `repeat` the examples are permuted within their class and cut again, once a pass.

    DEVIATION: the paper says that shards hold one class. The class sizes of MNIST allow only 194 such shards
    of 300, but 100 clients need 200. The sorted list is cut as McMahan et al. do: at most (classes - 1)
    shards, those at a boundary, hold two classes. Examples left over by the cut are random ones.
    """

    law: Literal["shards"] = "shards"
    shard_examples: PositiveInt = 300
    shards_per_client: PositiveInt = 2

    @model_validator(mode="after")
    def _one_size(self) -> "Shards":
        size = self.shard_examples * self.shards_per_client
        if self.examples not in (None, size):
            raise PydanticCustomError(
                "choice",
                "examples: found {found}, allowed: {size}, which is shard_examples x shards_per_client",
                {"found": self.examples, "size": size},
            )
        return self

    def size(self, n: int) -> int:
        there = n // self.shard_examples
        if there == 0:
            raise BadInput(f"partition.shard_examples: found {self.shard_examples}, allowed: at most {n}")
        if self.clients * self.shards_per_client > there and not self.repeat:
            raise BadInput(
                f"partition.clients: found {self.clients} with {self.shards_per_client} shards each, "
                f"allowed: at most {there // self.shards_per_client} ({there} shards of "
                f"{self.shard_examples}), or repeat: true"
            )
        return self.shard_examples * self.shards_per_client

    def split(self, labels: np.ndarray, rng: np.random.Generator) -> Partition:
        n = len(labels)
        used = n - n % self.shard_examples

        def shards() -> np.ndarray:
            sorted_ = by_label(shuffled(n, rng)[:used], labels)
            return rng.permutation(sorted_.reshape(-1, self.shard_examples)).ravel()

        return equal(passes(shards, self.clients * self.size(n)), self.clients)


class Dirichlet(PartitionLaw):
    """Equal sizes, class proportions of each client ~ Dir(alpha, ..., alpha), without replacement.

    What a class lacks is refilled from the class with most left; clients are served in random order, so none
    gets the leftovers because of its number. `balanced` first scales the proportions (Sinkhorn) until classes
    are wanted as often as they occur, so that all the data are used with hardly any refill. Follows the
    released code of DPFL-BNN, whose paper says no more than Dir(α).

    DEVIATION: that code truncates examples · proportion and refills the rest; we round without bias, since
    truncation would wash out the skew of small clients.
    """

    law: Literal["dirichlet"] = "dirichlet"
    alpha: PositiveFloat
    balanced: bool = False

    def split(self, labels: np.ndarray, rng: np.random.Generator) -> Partition:
        n = len(labels)
        size = self.size(n)
        there, counts = np.unique(labels, return_counts=True)
        shares = rng.dirichlet(np.full(len(counts), self.alpha), self.clients)
        if self.balanced:
            shares = balance(shares, self.clients * counts / n)
        repetitions = -(-self.clients * size // n)
        served = serve(whole(shares, size, rng), counts * repetitions, rng.permutation(self.clients))

        indices = np.empty(self.clients * size, dtype=np.int32)
        label_of_place = np.repeat(np.tile(there, self.clients), served.ravel())
        for label in there:
            members = np.flatnonzero(labels == label).astype(np.int32)
            here = np.flatnonzero(label_of_place == label)
            indices[here] = passes(lambda members=members: rng.permutation(members), len(here))
        return equal(indices, self.clients)


class Quantity(PartitionLaw):
    """Sizes ~ Dir(alpha, ..., alpha), at least one example each; which examples is uniform."""

    law: Literal["quantity"] = "quantity"
    alpha: PositiveFloat

    def split(self, labels: np.ndarray, rng: np.random.Generator) -> Partition:
        n = len(labels)
        total = self.clients * self.size(n)
        shares = rng.dirichlet(np.full(self.clients, self.alpha), 1)
        sizes = 1 + whole(shares, total - self.clients, rng)[0]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Partition(passes(lambda: shuffled(n, rng), total), offsets)


PARTITIONS: dict[str, type[PartitionLaw]] = {
    "iid": Iid,
    "shards": Shards,
    "dirichlet": Dirichlet,
    "quantity": Quantity,
}
