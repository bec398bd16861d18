"""How far one client can move what a matrix makes of all its rounds: it comes a few times, far enough apart.

A client comes `times` times at most and any two of its rounds are at least `apart` apart; each time it moves
the sum by the bound C at most, in any direction. No matrix here has a negative number, so that it moves C x
farthest with the same vector every time: the sensitivity is the largest norm of a sum of columns of C that
such rounds choose. Choquette-Choo, McMahan, Rush, Thakurta 2023, "Multi-epoch matrix factorization mechanisms
for private machine learning", section 2.

Everything is counted in units of the bound, and squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from fedpriv.mechanisms.correlated import Matrix, coefficients

# Of a tree, rounds are counted in blocks where they are at least so many apart: rounded down to blocks they
# are nearer to each other by one part in 64 at most. No sensitivity is too small.
FINEST = 128
MOST = 10**5  # rounds: the tables of more do not fit


@cache  # runs of one paper differ in their data more often than in their matrix
def squares(matrix: Matrix, bands: int, rounds: tuple[int, ...], times: int, apart: int) -> np.ndarray:
    """Return the square of the sensitivity of the first rounds together, for each number of `rounds`."""
    if matrix == "tree":
        return tree_squares(rounds, times, apart)
    return banded_squares(bands, max(rounds), times, apart)[np.array(rounds) - 1]


def banded_squares(bands: int, rounds: int, times: int, apart: int) -> np.ndarray:
    """Return it after every round `[rounds]`, of a banded Toeplitz matrix whose numbers fall.

    A client moves it farthest that comes as early and as often as it may. Kalinin and Lampert 2024, "Banded
    square root matrix factorization for differentially private model training", theorem 2.
    """
    column = coefficients(bands, rounds)
    moved = np.zeros(rounds)
    for start in range(0, min(rounds, times * apart), apart):
        moved[start:] += column[: rounds - start]
    return np.cumsum(moved**2)


def independent_squares(costs: np.ndarray, times: int, apart: int) -> np.ndarray:
    """Return it after every round `[T]` where noise is independent and a round by itself `costs` `[T]`."""
    most = np.zeros(len(costs) + 1)  # after each round, of one time less
    for _ in range(min(times, -(-len(costs) // apart))):
        before = most[np.maximum(np.arange(len(costs)) + 1 - apart, 0)]
        most = np.concatenate([[0.0], np.maximum.accumulate(before + costs)])
    return most[1:]


def tree_squares(rounds: Sequence[int], times: int, apart: int) -> np.ndarray:
    """Return it for each number of `rounds`: the sum of n² over the complete nodes, n the times in each.

    By dynamic programming over the nodes of each height, all of which are alike.
    """
    halvings = max(0, (apart // FINEST).bit_length())
    unit, gap = 2**halvings, apart >> halvings
    tables = [_leaf(halvings + 1)]
    for height in range(1, (max(rounds) // unit).bit_length()):
        tables.append(_node(tables[-1], 2 ** (height - 1), gap, times))
    found = []
    for number in rounds:
        state = np.zeros((1, gap))
        for height in reversed(range(len(tables))):
            if number // unit >> height & 1:
                state = _followed(state, tables[height], 2**height, times)
        if rest := number % unit:  # shorter than a client's rounds are apart: it comes once in it at most
            state = _followed(state, _leaf(rest.bit_length()), 1, times)
        found.append(state[:, 0].max())
    return np.array(found)


def _leaf(nodes: int) -> np.ndarray:
    """Return the table of the shortest interval, in so many nodes of which a client is that comes in it.

    A table `[n, a, z]` holds the most that a node and those below it add up to where a client comes n times
    in it, first at least `a` after its start and last at least `z` before its end; −∞ where that cannot be.
    """
    return np.array([[[-np.inf]], [[nodes]]])


def _node(half: np.ndarray, length: int, gap: int, times: int) -> np.ndarray:
    """Return the table of a node from that of its halves, which are of this length."""
    most, kept = len(half) - 1, half.shape[1]
    size, more = min(gap, 2 * length), min(times, 2 * most)
    first, last = np.full((2, more + 1, size, size), -np.inf)
    far = np.maximum(np.arange(size) - length, 0)
    can = far < kept
    first[: most + 1, :kept, can] = half[:, :, far[can]]  # in the first half alone: far from the end
    last[: most + 1, can, :kept] = half[:, far[can], :]
    found = np.maximum(first, last)
    for count in range(1, min(most, times - 1) + 1):
        others = half[1 : more - count + 1]
        both = found[count + 1 : count + 1 + len(others), :kept, :kept]
        for end in range(max(0, gap - kept), min(kept, gap)):
            np.maximum(both, half[count, :, end, None] + others[:, None, gap - 1 - end], out=both)
    return found + np.arange(more + 1)[:, None, None] ** 2


def _followed(state: np.ndarray, table: np.ndarray, length: int, times: int) -> np.ndarray:
    """Return what the nodes so far add up to, `[n, z]`, when a node of this length follows on them."""
    gap, kept = state.shape[1], table.shape[1]
    found = np.full((min(times, len(state) + len(table) - 2) + 1, gap), -np.inf)
    found[: len(state)] = state[:, np.maximum(np.arange(gap) - length, 0)]
    ends = np.arange(gap - kept, gap)  # how far before the node the last time so far is
    for count in range(min(len(state), times)):
        nodes = table[1 : len(found) - count]
        sums = (state[count, ends, None] + nodes[:, gap - 1 - ends]).max(axis=1)
        both = found[count + 1 : count + 1 + len(nodes), :kept]
        np.maximum(both, sums, out=both)
    return found
