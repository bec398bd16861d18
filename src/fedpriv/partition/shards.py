"""Every client gets a few shards of a list that is sorted by label."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from fedpriv.data.arrays import NOBODY
from fedpriv.errors import BadInput
from fedpriv.frozen import Millions, Thousands
from fedpriv.partition.base import PartitionLaw, equal, passes, shuffled
from fedpriv.partition.dealt import Partition


def sorted_by_label(indices: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return `indices` by ascending label; within a label they keep their order."""
    return indices[np.argsort(labels[indices], kind="stable")]


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
            sorted_ = sorted_by_label(shuffled(n, rng)[:used], labels)
            return rng.permutation(sorted_.reshape(-1, self.shard_examples)).ravel()

        return equal(passes(shards, self.clients * self.size(n)), self.clients)
