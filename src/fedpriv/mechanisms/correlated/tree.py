"""C x are the sums over the dyadic intervals that are complete.

Of the ways to make partial sums of them the one with the least noise that no later round is needed for.
Kairouz, McMahan, Song, Thakkar, Thakurta, Xu 2021, "Practical and private (deep) learning without sampling or
shuffling", section 4; Honaker 2015, "Efficient use of differentially private binary trees".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from fedpriv.mechanisms.correlated import nodes
from fedpriv.mechanisms.correlated.matrix import STREAM, Matrix, Turns

if TYPE_CHECKING:
    import torch

    from fedpriv.streams import Streams


class Part(NamedTuple):
    """How much of an independent normal is in the noise of a round."""

    round: int  # in which it is drawn first
    height: int  # of its node: it is of the last 2^height rounds
    weight: float


@dataclass(frozen=True)
class Tree(Matrix):
    """All dyadic intervals."""

    name: ClassVar[str] = "tree"

    @classmethod
    def planned(cls, turns: Turns, bands: int) -> Tree:
        return cls()

    @classmethod
    def told(cls, bands: int, numbers: str) -> Tree:
        return cls()

    def encoder(self, rounds: int) -> np.ndarray:
        columns, ends = np.arange(1, rounds + 1), order(rounds)
        intervals = [(columns > end - 2**height) & (columns <= end) for end, height in ends]
        return np.array(intervals, dtype=float)

    def decoder(self, rounds: int) -> np.ndarray:
        column = {node: number for number, node in enumerate(order(rounds))}
        found = np.zeros((rounds, len(column)))
        for row, round in zip(found, range(1, rounds + 1), strict=True):
            for one in parts(round):
                row[column[one[:2]]] += one.weight
        return found

    def noise(self, streams: Streams, round: int, like: torch.Tensor) -> torch.Tensor:
        total = like.new_zeros(like.shape)
        for one in parts(round):
            total += one.weight * streams.noise(STREAM, one.round, one.height).like(like)
        return total

    def squares(self, rounds: Sequence[int], times: int, apart: int) -> np.ndarray:
        return nodes.squares(rounds, times, apart)


def order(rounds: int) -> list[tuple[int, int]]:
    """Return all nodes, each by the round that completes it and its height."""
    return [(end, height) for end in range(1, rounds + 1) for height in range(highest(end) + 1)]


def highest(round: int) -> int:
    """Return the height of the largest node of the tree that a round completes."""
    return (round & -round).bit_length() - 1


def parts(round: int) -> Iterator[Part]:
    """Yield what the estimate of the partial sum after a round has that the one before it has not.

    The node that the round completes stands in place of the smaller ones whose intervals it joins.
    """
    top = highest(round)
    yield from _estimate(round, top, 1.0)
    for height in range(top):
        yield from _estimate(round - 2**height, height, -1.0)


def _estimate(end: int, height: int, weight: float) -> Iterator[Part]:
    """Yield the best estimate of a node, of itself and of all below it, by the inverse of their variances.

    Honaker 2015, section 3.2: below a node of height h there are two estimates whose sum has 2 v(h − 1) times
    the variance of its own normal, and both together have v(h) = 2^h / (2^(h + 1) − 1).
    """
    own = 2**height / (2 ** (height + 1) - 1)
    yield Part(end, height, weight * own)
    if height:
        yield from _estimate(end - 2 ** (height - 1), height - 1, weight * (1 - own))
        yield from _estimate(end, height - 1, weight * (1 - own))
