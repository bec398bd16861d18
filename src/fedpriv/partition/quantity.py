"""Clients hold unequally much."""

from typing import Literal

import numpy as np

from fedpriv.data.arrays import NOBODY
from fedpriv.frozen import Positive
from fedpriv.partition.base import PartitionLaw, passes, shuffled, whole
from fedpriv.partition.dealt import Partition


class Quantity(PartitionLaw):
    """Sizes ~ Dir(alpha, ..., alpha), at least one example each; which examples is uniform."""

    law: Literal["quantity"] = "quantity"
    alpha: Positive
    """The smaller, the more unequal the clients."""

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        n = len(labels)
        total = self.clients * self.size(n)
        shares = rng.dirichlet(np.full(self.clients, self.alpha), 1)
        sizes = 1 + whole(shares, total - self.clients, rng)[0]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Partition(passes(lambda: shuffled(n, rng), total), offsets)
