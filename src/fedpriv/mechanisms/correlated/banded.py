"""C is the square root of A, of which `bands` diagonals are kept.

Choquette-Choo et al. 2023, "(Amplified) banded matrix factorization"; Kalinin and Lampert 2024, "Banded
square root matrix factorization for differentially private model training".

DEVIATION: Choquette-Choo et al. search the numbers of a banded matrix for each number of rounds. Ours have a
formula, are those of Kalinin and Lampert, and need not know how many rounds there will be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.mechanisms.correlated.matrix import Toeplitz, Turns

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Banded(Toeplitz):
    """The banded square root; its noise takes the independent normals of the last `bands` rounds."""

    name: ClassVar[str] = "banded"
    reads: ClassVar[str] = "bands"
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

    def memory(self, like: torch.Tensor) -> list[torch.Tensor]:
        return []

    def correlate(self, noise: torch.Tensor, memory: list[torch.Tensor]) -> None:
        """Do so with the noise of the last `bands` − 1 rounds, the latest first."""
        weights = self.coefficients(len(memory) + 1)[1:].tolist()
        for weight, earlier in zip(weights, memory, strict=True):
            noise -= weight * earlier
        memory.insert(0, noise)
        del memory[self.bands - 1 :]
