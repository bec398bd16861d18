"""The laws of partitions: who holds what.

- `iid`: every client gets a random part, all of one size;
- `dirichlet`: every client has its own mixture of classes;
- `shards`: every client gets a few shards of a list that is sorted by label;
- `natural`: every client is a writer, with what that writer wrote.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.data.arrays import NOBODY
from fedpriv.errors import BadInput
from fedpriv.frozen import Count, Millions, Positive, Thousands
from fedpriv.partition.base import Partition, PartitionLaw, equal_parts, passes, round_shares, shuffle


class Iid(PartitionLaw):
    """Equal parts of a random permutation; beyond n examples, of one fresh permutation after another.

    With repetition every example is dealt equally often, give or take one.
    """

    law: Literal["iid"] = "iid"

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        n = len(labels)
        return equal_parts(passes(lambda: shuffle(n, rng), self.clients * self.size(n)), self.clients)


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


def serve(demand: np.ndarray, supply: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Share of each client [clients, classes] in a limited `supply` [classes], served in `order`.

    Everybody gets as many examples as wanted in all: what a class lacks comes from the class with most left.
    The supply must suffice in all.
    """
    served = np.zeros_like(demand)
    left = supply.copy()
    for client in order:
        got = np.minimum(demand[client], left)
        left -= got
        missing = int(demand[client].sum() - got.sum())
        while missing:
            richest = int(left.argmax())
            refill = min(missing, int(left[richest]))
            got[richest] += refill
            left[richest] -= refill
            missing -= refill
        served[client] = got
    return served


class Dirichlet(PartitionLaw):
    """Equal sizes, class proportions of each client ~ Dir(alpha, ..., alpha), without replacement.

    What a class lacks is refilled from the class with most left; clients are served in random order, so none
    gets the leftovers because of its number. `balanced` first scales the proportions (Sinkhorn) until classes
    are wanted as often as they occur, so that all the data are used with hardly any refill. Follows the
    released code of DPFL-BNN, whose paper says no more than Dir(α).

    DEVIATION: that code truncates examples · proportion and refills the rest; we round without bias, since
    truncation would wash out the skew of small clients.
    """

    by_label: ClassVar[bool] = True
    law: Literal["dirichlet"] = "dirichlet"
    alpha: Positive
    """The smaller, the fewer classes at a client."""
    balanced: bool = False
    """Classes are wanted as often as they occur."""

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        n = len(labels)
        size = self.size(n)
        there, counts = np.unique(labels, return_counts=True)
        shares = rng.dirichlet(np.full(len(counts), self.alpha), self.clients)
        if self.balanced:
            shares = balance(shares, self.clients * counts / n)
        repetitions = -(-self.clients * size // n)
        served = serve(round_shares(shares, size, rng), counts * repetitions, rng.permutation(self.clients))

        indices = np.empty(self.clients * size, dtype=np.int32)
        label_of_place = np.repeat(np.tile(there, self.clients), served.ravel())
        for label in there:
            members = np.flatnonzero(labels == label).astype(np.int32)
            places = np.flatnonzero(label_of_place == label)
            indices[places] = passes(lambda members=members: rng.permutation(members), len(places))
        return equal_parts(indices, self.clients)


class Shards(PartitionLaw):
    """Examples sorted by label, cut into shards, the shards dealt at random (McMahan et al. 2017).

    Federated Learning with Bayesian Differential Privacy, section VI-A: 300-example one-class shards, two
    a client. With `repeat` the examples are permuted within their class and cut again, once a pass.

    DEVIATION: the paper says that shards hold one class. The class sizes of MNIST allow only 194 such shards
    of 300, but 100 clients need 200. The sorted list is cut as McMahan et al. do: at most (classes - 1)
    shards, those at a boundary, hold two classes. Examples left over by the cut are random ones.
    """

    by_label: ClassVar[bool] = True
    law: Literal["shards"] = "shards"
    shard_examples: Millions = 300
    shards_per_client: Thousands = 2

    @model_validator(mode="after")
    def _one_size(self) -> "Shards":
        if self.examples not in (None, self.each):
            raise PydanticCustomError(
                "choice",
                "examples: found {found}, allowed: {size}, which is shard_examples x shards_per_client",
                {"found": self.examples, "size": self.each},
            )
        return self

    @property
    def each(self) -> int:
        return self.shard_examples * self.shards_per_client

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
        return self.each

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        n = len(labels)
        used = n - n % self.shard_examples

        def shards() -> np.ndarray:
            chosen = shuffle(n, rng)[:used]
            sorted_ = chosen[np.argsort(labels[chosen], kind="stable")]
            return rng.permutation(sorted_.reshape(-1, self.shard_examples)).ravel()

        return equal_parts(passes(shards, self.clients * self.size(n)), self.clients)


NUMBER_OR_ALL = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10**6}, {"const": "all"}]}


class Natural(PartitionLaw):
    """Writers drawn without replacement, each with all its examples, or `examples` random ones of them.

    `clients: all` is every writer that has enough; the run that says so has their number instead of it.

    Who is drawn does not depend on `examples`; a writer who has fewer than that holds them all.

    DEVIATION: FederatedScope's `subsample: .05` keeps two of LEAF's 36 files of FEMNIST, about 200 writers;
    we draw as many writers. It then tests on these writers' examples, we on the whole test split.
    """

    law: Literal["natural"] = "natural"
    clients: Annotated[Millions, WithJsonSchema(NUMBER_OR_ALL)]
    """Who hold data, sampled in a round or not; `all` is every writer."""
    min_examples: Count = 1
    """Of a writer to be sampled."""
    by_owner: ClassVar[bool] = True

    @model_validator(mode="after")
    def _once(self) -> "Natural":
        if self.repeat:
            raise PydanticCustomError("choice", "repeat: found true, allowed: false, a writer is one client")
        return self

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        writers, counts = np.unique(owners, return_counts=True)
        enough = writers[counts >= self.min_examples]
        if self.clients > len(enough):
            raise BadInput(
                f"partition.clients: found {self.clients}, allowed: at most {len(enough)} (of {len(writers)} "
                f"owners, those with min_examples: {self.min_examples} or more)"
            )
        drawn = rng.choice(enough, self.clients, replace=False)
        by_owner = np.argsort(owners, kind="stable").astype(np.int32)
        starts, ends = (np.searchsorted(owners[by_owner], drawn, side) for side in ("left", "right"))
        parts = [
            rng.permutation(by_owner[start:end])[: self.examples]
            for start, end in zip(starts, ends, strict=True)
        ]
        return Partition(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))
