"""How far one client can move what is released of all its rounds: it comes a few times, far enough apart.

Everything is counted in units of the bound, and squared.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from fedpriv.mechanisms.correlated.matrix import Matrix

MOST = 10**5  # rounds: the tables of more do not fit


@cache  # runs of one paper differ in their data more often than in their matrix
def squares(matrix: Matrix, rounds: tuple[int, ...], times: int, apart: int) -> np.ndarray:
    """Return the square of the sensitivity of the first rounds together, for each number of `rounds`."""
    return matrix.squares(rounds, times, apart)


def independent_squares(costs: np.ndarray, times: int, apart: int) -> np.ndarray:
    """Return it after every round `[T]` where noise is independent and a round by itself `costs` `[T]`."""
    most = np.zeros(len(costs) + 1)  # after each round, of one time less
    for _ in range(min(times, -(-len(costs) // apart))):
        before = most[np.maximum(np.arange(len(costs)) + 1 - apart, 0)]
        most = np.concatenate([[0.0], np.maximum.accumulate(before + costs)])
    return most[1:]
