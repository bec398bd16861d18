"""Clients in turn: a cohort law that samples nobody, and says how seldom a client comes."""

from typing import ClassVar, Literal

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import OfSize
from fedpriv.streams import Streams
from fedpriv.trace import Facts


class Spaced(OfSize):
    """`size` clients, all in turn and in an order drawn at the start: each seldom, and far apart.

    Of N clients one comes in T · size / N rounds, rounded up, and from one of them to the next there are
    N / size, rounded down. Nobody is sampled, and no ε is smaller for it: the order hides nothing and need
    not be secret. Kairouz et al. 2021, "Practical and private (deep) learning without sampling or shuffling".
    """

    law: Literal["spaced"] = "spaced"
    words: ClassVar[str] = "clients in turn"

    def draw(self, population: int, rng: np.random.Generator) -> np.ndarray:
        return self.turn(rng.permutation(population), 1)

    def members(self, population: int, streams: Streams, round_number: int) -> np.ndarray:
        return self.turn(streams.numpy("order").permutation(population), round_number)

    def turn(self, order: np.ndarray, round_number: int) -> np.ndarray:
        """Return the ids, ascending, of those in this `order` `[N]` whose turn it is in round 1, 2, ..."""
        if few := self.too_many(len(order)):
            raise BadInput(few)
        first = (round_number - 1) * self.size
        return np.sort(order[np.arange(first, first + self.size) % len(order)])

    def facts(self, population: int, rounds: int) -> Facts:
        most = -(-rounds * self.size // population)
        return {"participations": most, "rounds_apart": self.gap(population)}

    def gap(self, population: int) -> int:
        return population // self.size
