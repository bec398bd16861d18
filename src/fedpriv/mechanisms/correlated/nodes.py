"""How far one client can move the sums over the nodes of a tree: dynamic programming over the heights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Rounds are counted in blocks where they are at least so many apart: rounded down to blocks they
# are nearer to each other by one part in 64 at most. No sensitivity is too small.
FINEST = 128


def squares(rounds: Sequence[int], times: int, apart: int) -> np.ndarray:
    """Return the square for each number of `rounds`: the sum of n² over the complete nodes, n times in each.

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
