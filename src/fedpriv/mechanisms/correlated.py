"""Gaussian noise that is correlated between rounds, so that it partly cancels in the sum of all rounds.

What clients send in T rounds is x `[T, p]`, and what matters of it are the partial sums A x, A of ones below
and on the diagonal. B (C x + z) is released, with A = B C and independent normals z: round for round x + W z,
where W C = 1. Whoever sees all of it knows no more than C x + z, one Gaussian, also where clients answer to
what was released before, for the matrices are lower triangular in time. Denisov, McMahan, Rush, Smith,
Thakurta 2022, "Improved differential privacy for SGD via optimal private linear operators on adaptive
streams".

- `tree`: C x are the sums over the dyadic intervals that are complete; of the ways to make partial sums of
  them the one with the least noise that no later round is needed for. Kairouz, McMahan, Song, Thakkar,
  Thakurta, Xu 2021, "Practical and private (deep) learning without sampling or shuffling", section 4; Honaker
  2015, "Efficient use of differentially private binary trees".
- `banded`: C is the square root of A, of which `bands` diagonals are kept. Choquette-Choo et al. 2023,
  "(Amplified) banded matrix factorization"; Kalinin and Lampert 2024, "Banded square root matrix
  factorization for differentially private model training".

DEVIATION: Choquette-Choo et al. search the numbers of a banded matrix for each number of rounds. Ours have a
formula, are those of Kalinin and Lampert, and need not know how many rounds there will be.

Independent normals come from streams by the rounds that they are for, so that none needs to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch

    from fedpriv.streams import Streams

Matrix = Literal["tree", "banded"]
STREAM = "correlated"  # of the independent normals, by the round at which one is complete and its height


class Part(NamedTuple):
    """How much of an independent normal is in the noise of a round; of banded matrices they have height 0."""

    round: int  # in which it is drawn first
    height: int  # of its node: it is of the last 2^height rounds
    weight: float


def parts(matrix: Matrix, bands: int, round: int) -> list[Part]:
    """Return a row of W: which normals the noise of a round consists of."""
    if matrix == "tree":
        return list(_tree_parts(round))
    weights = inverse(coefficients(bands, round))
    return [Part(round - earlier, 0, float(weight)) for earlier, weight in enumerate(weights)]


def encoder(matrix: Matrix, bands: int, rounds: int) -> np.ndarray:
    """Return C `[m, rounds]`; its rows are in the order in which they are complete, of a tree by height."""
    columns = np.arange(1, rounds + 1)
    if matrix == "tree":
        nodes = [(end, 2**height) for end in columns.tolist() for height in range(_height(end) + 1)]
        return np.array([(columns > end - length) & (columns <= end) for end, length in nodes], dtype=float)
    apart = columns[:, None] - columns
    return np.where(apart >= 0, coefficients(bands, rounds)[apart], 0.0)


def decoder(matrix: Matrix, bands: int, rounds: int) -> np.ndarray:
    """Return W `[rounds, m]`, its columns in the order of the rows of `encoder`: W C is the identity."""
    rows = [parts(matrix, bands, round) for round in range(1, rounds + 1)]
    keys = sorted({one[:2] for row in rows for one in row})
    column = {key: number for number, key in enumerate(keys)}
    found = np.zeros((rounds, len(keys)))
    for row, of_round in zip(found, rows, strict=True):
        for one in of_round:
            row[column[one[:2]]] += one.weight
    return found


def coefficients(bands: int, rounds: int) -> np.ndarray:
    """Return the diagonals of a banded C `[rounds]`: binomials (2j over j) / 4^j, and 0 from `bands` on."""
    ratios = (np.arange(1.0, rounds) - 0.5) / np.arange(1.0, rounds)
    return np.where(np.arange(rounds) < bands, np.cumprod([1.0, *ratios]), 0.0)


def inverse(coefficients: np.ndarray) -> np.ndarray:
    """Return the diagonals of the inverse of a lower triangular Toeplitz matrix with ones on its diagonal."""
    found = np.zeros(len(coefficients))
    found[0] = 1.0
    for one in range(1, len(found)):
        found[one] = -(coefficients[1 : one + 1] @ found[one - 1 :: -1])
    return found


def correlated(matrix: Matrix, bands: int, streams: Streams, round: int, like: torch.Tensor) -> torch.Tensor:
    """Return the noise of a round, of the shape, type and device of `like`: a row of W z.

    It depends on nothing else than the streams and the round: a resumed run has the same.
    """
    if matrix == "banded":
        return _banded(bands, streams, round, like)
    total = like.new_zeros(like.shape)
    for one in _tree_parts(round):
        total += one.weight * streams.noise(STREAM, one.round, one.height).like(like)
    return total


def _banded(bands: int, streams: Streams, round: int, like: torch.Tensor) -> torch.Tensor:
    """Return z of a round less what the noise of the last `bands` rounds takes of it.

    That is W z without its T² / 2 normals: W is the inverse of C, and C W z = z.
    """
    weights = coefficients(bands, bands)
    earlier = _earlier(bands, streams, tuple(like.shape), like.dtype, like.device)
    there = set(range(max(1, round - bands + 1), round)) <= earlier.keys()
    if not there:
        earlier.clear()
    for now in range(round if there else 1, round + 1):
        noise = streams.noise(STREAM, now).like(like)
        for one in range(1, min(bands, now)):
            noise -= float(weights[one]) * earlier[now - one]
        earlier[now] = noise
        earlier.pop(now - bands, None)
    return earlier[round].clone()


@lru_cache(maxsize=1)  # of the one run that this process trains
def _earlier(
    bands: int, streams: Streams, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> dict[int, torch.Tensor]:
    """Return the noise of the last rounds by round: what is not there is computed anew."""
    return {}


def _height(round: int) -> int:
    """Return the height of the largest node of the tree that a round completes."""
    return (round & -round).bit_length() - 1


def _tree_parts(round: int) -> Iterator[Part]:
    """Yield what the estimate of the partial sum after a round has that the one before it has not.

    The node that the round completes stands in place of the smaller ones whose intervals it joins.
    """
    top = _height(round)
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
