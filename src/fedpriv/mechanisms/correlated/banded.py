"""C is the square root of A, of which `bands` diagonals are kept.

Choquette-Choo et al. 2023, "(Amplified) banded matrix factorization"; Kalinin and Lampert 2024, "Banded
square root matrix factorization for differentially private model training".

DEVIATION: Choquette-Choo et al. search the numbers of a banded matrix for each number of rounds. Ours have a
formula, are those of Kalinin and Lampert, and need not know how many rounds there will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.mechanisms.correlated.matrix import STREAM, Toeplitz, Turns

if TYPE_CHECKING:
    import torch

    from fedpriv.streams import Streams


@dataclass(frozen=True)
class Banded(Toeplitz):
    """The banded square root; its noise takes the independent normals of the last `bands` rounds."""

    name: ClassVar[str] = "banded"
    bands: int  # diagonals that are not zero

    @classmethod
    def planned(cls, turns: Turns, bands: int) -> Banded:
        return cls(bands or turns.apart)

    @classmethod
    def told(cls, bands: int, numbers: str) -> Banded:
        if bands < 1:
            raise BadInput(f"trace: bands: found {bands}, allowed: whole numbers from 1")
        return cls(bands)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"bands": self.bands}

    def coefficients(self, rounds: int) -> np.ndarray:
        """Return the diagonals `[rounds]`: binomials (2j over j) / 4^j, and 0 from `bands` on."""
        ratios = (np.arange(1.0, rounds) - 0.5) / np.arange(1.0, rounds)
        return np.where(np.arange(rounds) < self.bands, np.cumprod([1.0, *ratios]), 0.0)

    def noise(self, streams: Streams, round: int, like: torch.Tensor) -> torch.Tensor:
        """Return z of a round less what the noise of the last `bands` rounds takes of it.

        That is W z without its T² / 2 normals: W is the inverse of C, and C W z = z.
        """
        bands, weights = self.bands, self.coefficients(min(self.bands, round))
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
