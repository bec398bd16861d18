"""Every client gets a random part, all of one size."""

from typing import Literal

import numpy as np

from fedpriv.data.arrays import NOBODY
from fedpriv.partition.base import PartitionLaw, equal, passes, shuffled
from fedpriv.partition.dealt import Partition


class Iid(PartitionLaw):
    """Equal parts of a random permutation; beyond n examples, of one fresh permutation after another.

    With repetition every example is dealt equally often, give or take one.
    """

    law: Literal["iid"] = "iid"

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        n = len(labels)
        return equal(passes(lambda: shuffled(n, rng), self.clients * self.size(n)), self.clients)
