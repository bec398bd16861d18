"""The matrices of correlated noise, written out: what is released is C x + z, and W z is its noise."""

import numpy as np
from fedpriv_studies.correlated import Matrix, Toeplitz, parts
from scipy.linalg import toeplitz


def nodes(rounds: int) -> list[tuple[int, int]]:
    """Return all nodes of a tree, each by the round that completes it and its height."""
    return [(end, height) for end in range(1, rounds + 1) for height in range(20) if end % 2**height == 0]


def encoder(matrix: Matrix, rounds: int) -> np.ndarray:
    """Return C `[m, rounds]`, its rows in the order in which they are complete, of a tree by height."""
    if isinstance(matrix, Toeplitz):
        return toeplitz(matrix.coefficients(rounds), np.zeros(rounds))
    columns = np.arange(1, rounds + 1)
    return np.array([(columns > end - 2**height) & (columns <= end) for end, height in nodes(rounds)]) * 1.0


def decoder(matrix: Matrix, rounds: int) -> np.ndarray:
    """Return W `[rounds, m]`, its columns in the order of the rows of C."""
    if isinstance(matrix, Toeplitz):
        return np.linalg.inv(encoder(matrix, rounds))
    column = {node: number for number, node in enumerate(nodes(rounds))}
    found = np.zeros((rounds, len(column)))
    for row, round_number in zip(found, range(1, rounds + 1), strict=True):
        for one in parts(round_number):
            row[column[one.round, one.height]] += one.weight
    return found
