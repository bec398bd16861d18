"""Every client has its own mixture of classes."""

from typing import ClassVar, Literal

import numpy as np

from fedpriv.data.arrays import NOBODY
from fedpriv.frozen import Positive
from fedpriv.partition.base import PartitionLaw, equal, passes, whole
from fedpriv.partition.dealt import Partition


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
        served = serve(whole(shares, size, rng), counts * repetitions, rng.permutation(self.clients))

        indices = np.empty(self.clients * size, dtype=np.int32)
        label_of_place = np.repeat(np.tile(there, self.clients), served.ravel())
        for label in there:
            members = np.flatnonzero(labels == label).astype(np.int32)
            here = np.flatnonzero(label_of_place == label)
            indices[here] = passes(lambda members=members: rng.permutation(members), len(here))
        return equal(indices, self.clients)
