"""What a matrix C is to schemes, accountants and audits; and what all matrices with equal diagonals share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch

    from fedpriv.streams import Streams

STREAM = "correlated"  # of the independent normals, by the round at which one is complete and its height


class Turns(NamedTuple):
    """How often one client comes."""

    rounds: int  # in all
    times: int  # that it comes, at most
    apart: int  # from one of its rounds to the next, at least


@dataclass(frozen=True)
class Matrix:
    """C, lower triangular in time and without a negative number."""

    name: ClassVar[str]
    reads: ClassVar[str] = ""  # what else says which one it is, bands or numbers; empty: nothing

    @classmethod
    def planned(cls, turns: Turns, bands: int) -> Matrix:
        """Return the matrix for clients who come so often; `bands` 0: as many as their rounds are apart."""
        raise NotImplementedError

    @classmethod
    def told(cls, bands: int, numbers: str) -> Matrix:
        """Return the matrix of a trace that says this; BadInput names what there cannot be."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Return what a trace says of it: all that `told` needs."""
        return {"matrix": self.name, "bands": 1, "numbers": ""}

    def encoder(self, rounds: int) -> np.ndarray:
        """Return C `[m, rounds]`, its rows in the order in which they are complete, of a tree by height."""
        raise NotImplementedError

    def decoder(self, rounds: int) -> np.ndarray:
        """Return W `[rounds, m]`, its columns in the order of the rows of `encoder`: W C is the identity."""
        raise NotImplementedError

    def noise(self, streams: Streams, round: int, like: torch.Tensor) -> torch.Tensor:
        """Return the noise of a round, of the shape, type and device of `like`: a row of W z.

        It depends on nothing else than the streams and the round: a resumed run has the same.
        """
        raise NotImplementedError

    def squares(self, rounds: Sequence[int], times: int, apart: int) -> np.ndarray:
        """Return the square of the sensitivity of the first rounds together, for each number of `rounds`.

        In units of the bound C of a client's part: it comes `times` times at most and any two of its rounds
        are at least `apart` apart; each time it moves the sum by the bound at most, in any direction. No
        matrix has a negative number, so that it moves C x farthest with the same vector every time: the
        sensitivity is the largest norm of a sum of columns of C that such rounds choose. Choquette-Choo,
        McMahan, Rush, Thakurta 2023, "Multi-epoch matrix factorization mechanisms for private machine
        learning", section 2.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Toeplitz(Matrix):
    """A matrix with equal numbers on each diagonal, from 1 on the first, which fall from one to the next."""

    def coefficients(self, rounds: int) -> np.ndarray:
        """Return the diagonals of C `[rounds]`."""
        raise NotImplementedError

    def memory(self, like: torch.Tensor) -> list[torch.Tensor]:
        """Return what is kept before the first round of what all noise so far was, each like `like`."""
        raise NotImplementedError

    def correlate(self, noise: torch.Tensor, memory: list[torch.Tensor]) -> None:
        """Take from z of a round, in place, what earlier noise takes of it, and have the memory know it.

        That is W z, without its T² / 2 normals: W is the inverse of C, and C W z = z.
        """
        raise NotImplementedError

    def noise(self, streams: Streams, round: int, like: torch.Tensor) -> torch.Tensor:
        """Return W z of a round; rounds that this process has not drawn are drawn again, in their order."""
        kept = _kept(self, streams, tuple(like.shape), like.dtype, like.device)
        last, memory = kept.round, kept.memory
        if not 0 < last <= round:
            last, memory = 0, self.memory(like)
        kept.round = 0  # whoever is interrupted here begins anew
        for now in range(last + 1, round + 1):
            kept.noise = streams.noise(STREAM, now).like(like)
            self.correlate(kept.noise, memory)
        kept.round, kept.memory = round, memory
        return kept.noise.clone()

    def encoder(self, rounds: int) -> np.ndarray:
        return _lower(self.coefficients(rounds))

    def decoder(self, rounds: int) -> np.ndarray:
        return _lower(inverse(self.coefficients(rounds)))

    def squares(self, rounds: Sequence[int], times: int, apart: int) -> np.ndarray:
        moved = sums(self.coefficients(max(rounds)), times, apart)
        return np.cumsum(moved**2)[np.array(rounds) - 1]


@dataclass
class Kept:
    """What the noise of the next round is made of."""

    round: int = 0  # the last that the memory knows; 0: none
    noise: Any = None  # of that round
    memory: list[torch.Tensor] = field(default_factory=list)


@lru_cache(maxsize=1)  # of the one run that this process trains
def _kept(
    matrix: Toeplitz, streams: Streams, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> Kept:
    """Return what is kept of the noise so far: what is not there is computed anew."""
    return Kept()


def sums(coefficients: np.ndarray, times: int, apart: int) -> np.ndarray:
    """Return how far a client moves C x in every round `[T]` that moves it farthest.

    That is one who comes as early and as often as it may. Kalinin and Lampert 2024, "Banded square root
    matrix factorization for differentially private model training", theorem 2, of any numbers that fall.
    """
    rounds, apart = len(coefficients), min(apart, len(coefficients))
    padded = np.concatenate([coefficients, np.zeros(-rounds % apart)]).reshape(-1, apart)
    total = padded.cumsum(axis=0)
    total[times:] = total[times:] - total[:-times]
    return total.ravel()[:rounds]


def inverse(coefficients: np.ndarray) -> np.ndarray:
    """Return the diagonals of the inverse of a lower triangular Toeplitz matrix with ones on its diagonal."""
    found = np.zeros(len(coefficients))
    found[0] = 1.0
    for one in range(1, len(found)):
        found[one] = -(coefficients[1 : one + 1] @ found[one - 1 :: -1])
    return found


def _lower(diagonals: np.ndarray) -> np.ndarray:
    """Return the lower triangular matrix that has these numbers on its diagonals."""
    apart = np.subtract.outer(np.arange(len(diagonals)), np.arange(len(diagonals)))
    return np.where(apart >= 0, diagonals[apart], 0.0)
