"""A buffered linear Toeplitz matrix: what is below the diagonal of C is a sum of a few geometric series.

Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024, "Efficient and near-optimal noise generation for
streaming differential privacy"; McMahan, Xu, Zhang 2024, "A hassle-free algorithm for strong differential
privacy in federated learning systems", of clients who come several times.

DEVIATION: they search the series by gradients of automatic differentiation and with a penalty that keeps them
apart. We search ratios between the decays of C and of its inverse, of which every choice is a matrix that
there can be, step by step on a grid, and round what is found to numbers that float32 has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fedpriv.errors import BadInput, short_repr
from fedpriv.mechanisms.correlated.matrix import Toeplitz, Turns, sums

if TYPE_CHECKING:
    import torch

BUFFERS = 4  # of the size of a model; a fifth makes the error less than 1 % smaller
# Of log-odds that are searched. Only a step that is worth more than a rounding by far is taken, so that every
# processor takes the same ones: what noise a run has, and so which run it is, hangs on where they end.
STEPS, LIMIT, GAIN = (2.0, 1.0, 0.5, 0.25, 0.125, 0.0625), 8.0, 1e-6
BITS, FINEST = 10, 2.0**-24  # of what is found: float32 holds it exactly
# What stored runs were trained with. They were found by a search that ends elsewhere on another processor.
TRAINED = {
    Turns(100, 3, 33): (
        (4.149973392486572e-06, 0.95623779296875),
        (0.38623046875, 0.928955078125),
        (0.003520965576171875, 0.9283447265625),
        (0.12451171875, 0.2158203125),
    ),
    Turns(100, 30, 3): ((0.002880096435546875, 0.65869140625), (0.6494140625, 0.65283203125)),
}


@dataclass(frozen=True)
class Blt(Toeplitz):
    """C has ones on its diagonal and Σ scale · decay^(t − 1) on the t-th below it.

    The noise of a round takes as many buffers as there are series, however many rounds there were.
    """

    name: ClassVar[str] = "blt"
    reads: ClassVar[str] = "numbers"
    series: tuple[tuple[float, float], ...]  # scale and decay of each

    @classmethod
    def planned(cls, turns: Turns, bands: int) -> Blt:
        """Return the one whose error of partial sums is least: its mean square over the rounds."""
        return cls(best(turns))

    @classmethod
    def told(cls, bands: int, numbers: str) -> Blt:
        try:
            series = tuple((float(scale), float(decay)) for scale, decay in map(_halves, numbers.split()))
        except ValueError:
            series = ()
        in_range = all(scale >= 0 and 0 <= decay < 1 for scale, decay in series)
        if not (series and in_range and sum(scale for scale, _ in series) <= 1):
            raise BadInput(
                f"trace: numbers: found {short_repr(numbers)}, allowed with matrix blt: SCALE:DECAY of each "
                "series, decays from 0 to below 1, scales from 0 and together at most 1"
            )
        return cls(series)

    def facts(self) -> dict[str, Any]:
        numbers = " ".join(f"{scale!r}:{decay!r}" for scale, decay in self.series)
        return super().facts() | {"numbers": numbers}

    def coefficients(self, rounds: int) -> np.ndarray:
        scales, decays = np.array(self.series).T
        return np.concatenate([[1.0], decays ** np.arange(rounds - 1)[:, None] @ scales])

    def memory(self, like: torch.Tensor) -> list[torch.Tensor]:
        return [like.new_zeros(like.shape) for _ in self.series]

    def correlate(self, noise: torch.Tensor, memory: list[torch.Tensor]) -> None:
        for (scale, _), buffer in zip(self.series, memory, strict=True):
            noise -= scale * buffer
        for (_, decay), buffer in zip(self.series, memory, strict=True):
            buffer.mul_(decay).add_(noise)


def _halves(pair: str) -> list[str]:
    return pair.split(":")


@cache
def best(turns: Turns) -> tuple[tuple[float, float], ...]:
    """Return scale and decay of the series whose sensitivity times error is least.

    C is the quotient Π (1 − δ x) / Π (1 − θ x) of generating functions, with the decays θ of its own series
    and δ of its inverse's. Where θ₁ > δ₁ > θ₂ > ... > 0, all below 1, no scale is negative and their sum,
    Σ θ − δ, is below 1: the numbers of C fall. What is searched is by which factors 1 − θ₁ < 1 − δ₁ < ... < 1
    grow; the error is within about 1 % of the least.
    """
    if turns in TRAINED:
        return TRAINED[turns]
    from scipy.special import expit

    def gaps(odds: np.ndarray) -> np.ndarray:
        return np.cumprod(expit(odds))[::-1]

    def loss(odds: np.ndarray) -> float:
        of_c, of_inverse = gaps(odds).reshape(BUFFERS, 2).T
        moved = sums(_diagonals(of_c, of_inverse, turns.rounds), turns.times, turns.apart)
        error = np.cumsum(_diagonals(of_inverse, of_c, turns.rounds))  # B = A W, a row of it
        return float(np.log(moved @ moved) + np.log(np.cumsum(error**2).mean()))

    odds = np.zeros(2 * BUFFERS)
    least, ways = loss(odds), np.vstack([np.eye(len(odds)), -np.eye(len(odds))])
    for step in STEPS:
        better = True
        while better:
            better = False
            for way in step * ways:
                while abs(tried := odds + way).max() <= LIMIT and (found := loss(tried)) < least - GAIN:
                    odds, least, better = tried, found, True
    of_c, of_inverse = gaps(odds).reshape(BUFFERS, 2).T
    scales = _rounded(_scales(of_c, of_inverse))
    decays = 1.0 - np.maximum(FINEST, np.round(_rounded(of_c) / FINEST) * FINEST)
    kept = (scales >= FINEST) | (scales == scales.max())  # the others do less than rounding does
    return tuple(zip(scales[kept].tolist(), decays[kept].tolist(), strict=True))


def _scales(gaps: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the scales of a quotient's series: its residues, of decays 1 − `gaps` over 1 − `others`."""
    apart = gaps - gaps[:, None]
    np.fill_diagonal(apart, 1.0)
    return np.prod(others - gaps[:, None], axis=1) / np.prod(apart, axis=1)


def _diagonals(gaps: np.ndarray, others: np.ndarray, rounds: int) -> np.ndarray:
    """Return the numbers of a quotient `[rounds]`, without rounding."""
    series = np.exp(np.arange(rounds - 1)[:, None] * np.log1p(-gaps))
    return np.concatenate([[1.0], series @ _scales(gaps, others)])


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return values with so many significant bits, rounded down."""
    fractions, exponents = np.frexp(values)
    return np.ldexp(np.floor(fractions * 2**BITS), exponents - BITS)
