"""Noise that is correlated over rounds: factors of the matrix of all prefix sums, and their sensitivities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from fedpriv.errors import BadInput, short_repr
from fedpriv.trace import Released, TraceColumn

if TYPE_CHECKING:
    import torch

    from fedpriv.streams import Streams


# Rounds are counted in blocks where they are at least so many apart: rounded down to blocks they
# are nearer to each other by one part in 64 at most. No sensitivity is too small.
FINEST = 128


def squares(rounds: Sequence[int], times: int, spacing: int) -> np.ndarray:
    """Return the square for each number of `rounds`: the sum of n² over the complete nodes, n times in each.

    By dynamic programming over the nodes of each height, all of which are alike.
    """
    halvings = max(0, (spacing // FINEST).bit_length())
    unit, gap = 2**halvings, spacing >> halvings
    tables = [_leaf(halvings + 1)]
    for height in range(1, (max(rounds) // unit).bit_length()):
        tables.append(_node(tables[-1], 2 ** (height - 1), gap, times))
    totals = []
    for number in rounds:
        state = np.zeros((1, gap))
        for height in reversed(range(len(tables))):
            if number // unit >> height & 1:
                state = _followed(state, tables[height], 2**height, times)
        if rest := number % unit:  # shorter than a client's rounds are apart: it comes once in it at most
            state = _followed(state, _leaf(rest.bit_length()), 1, times)
        totals.append(state[:, 0].max())
    return np.array(totals)


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
    table = np.maximum(first, last)
    for count in range(1, min(most, times - 1) + 1):
        others = half[1 : more - count + 1]
        both = table[count + 1 : count + 1 + len(others), :kept, :kept]
        for end in range(max(0, gap - kept), min(kept, gap)):
            np.maximum(both, half[count, :, end, None] + others[:, None, gap - 1 - end], out=both)
    return table + np.arange(more + 1)[:, None, None] ** 2


def _followed(state: np.ndarray, table: np.ndarray, length: int, times: int) -> np.ndarray:
    """Return the sums of the nodes so far, `[n, z]`, when a node of this length follows on them."""
    gap, kept = state.shape[1], table.shape[1]
    totals = np.full((min(times, len(state) + len(table) - 2) + 1, gap), -np.inf)
    totals[: len(state)] = state[:, np.maximum(np.arange(gap) - length, 0)]
    ends = np.arange(gap - kept, gap)  # how far before the node the last time so far is
    for count in range(min(len(state), times)):
        nodes = table[1 : len(totals) - count]
        sums = (state[count, ends, None] + nodes[:, gap - 1 - ends]).max(axis=1)
        both = totals[count + 1 : count + 1 + len(nodes), :kept]
        np.maximum(both, sums, out=both)
    return totals


STREAM = "correlated"  # of the independent normals, by the round at which one is complete and its height


class Turns(NamedTuple):
    """How often one client comes."""

    rounds: int  # in all
    times: int  # that it comes, at most
    spacing: int  # from one of its rounds to the next, at least


@dataclass(frozen=True)
class Matrix:
    """C, lower triangular in time and without a negative number."""

    name: ClassVar[str]
    reads: ClassVar[str] = ""  # what else says which one it is, bands or numbers; empty: nothing

    @classmethod
    def planned(cls, turns: Turns, bands: int) -> Matrix:
        """Return the matrix for clients who come so often; `bands` 0: as many as their rounds are apart."""
        return cls()

    @classmethod
    def read(cls, bands: int, numbers: str) -> Matrix:
        """Return the matrix of a trace that says this; BadInput names what there cannot be."""
        return cls()

    def facts(self) -> dict[str, Any]:
        """Return the columns of a trace about it: all that `read` needs."""
        return {"matrix": self.name, "bands": 1, "numbers": ""}

    def noise(self, streams: Streams, round_number: int, like: torch.Tensor) -> torch.Tensor:
        """Return the noise of a round, of the shape, type and device of `like`: a row of W z.

        It depends on nothing else than the streams and the round: a resumed run has the same.
        """
        raise NotImplementedError

    def squares(self, rounds: Sequence[int], times: int, spacing: int) -> np.ndarray:
        """Return the square of the sensitivity of the first rounds together, for each number of `rounds`.

        In units of the bound C of a client's part: it comes `times` times at most and any two of its rounds
        are at least `spacing` apart; each time it moves the sum by the bound at most, in any direction. No
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

    def correlate(self, noise: torch.Tensor, memory: list[torch.Tensor]) -> None:
        """Take from z of a round, in place, what earlier noise takes of it, and have the memory know it.

        That is W z, without its T² / 2 normals: W is the inverse of C, and C W z = z. Before the first round
        the memory is empty.
        """
        raise NotImplementedError

    def noise(self, streams: Streams, round_number: int, like: torch.Tensor) -> torch.Tensor:
        """Return W z of a round; rounds that this process has not drawn are drawn again, in their order."""
        kept = _kept(self, streams, tuple(like.shape), like.dtype, like.device)
        last, memory = kept.round, kept.memory
        if not 0 < last <= round_number:
            last, memory = 0, []
        kept.round = 0  # whoever is interrupted here begins anew
        for now in range(last + 1, round_number + 1):
            kept.noise = streams.noise(STREAM, now).like(like)
            self.correlate(kept.noise, memory)
        kept.round, kept.memory = round_number, memory
        return kept.noise.clone()

    def squares(self, rounds: Sequence[int], times: int, spacing: int) -> np.ndarray:
        moved = sums(self.coefficients(max(rounds)), times, spacing)
        return np.cumsum(moved**2)[np.array(rounds) - 1]


@dataclass
class Kept:
    """What the noise of the next round is made of."""

    round: int = 0  # the last that the memory knows; 0: none
    noise: Any = None  # of that round
    memory: list[torch.Tensor] = field(default_factory=list)


@lru_cache(maxsize=1)  # of the one run that this process trains
def _kept(*run: object) -> Kept:
    """Return what is kept of the noise of this matrix, streams, shape, type and device; at first nothing."""
    return Kept()


def sums(coefficients: np.ndarray, times: int, spacing: int) -> np.ndarray:
    """Return the distances by which a client moves C x in the rounds `[T]` that move it farthest.

    That is one who comes as early and as often as it may. Kalinin and Lampert 2024, "Banded square root
    matrix factorization for differentially private model training", theorem 2, of any numbers that fall.
    """
    rounds, spacing = len(coefficients), min(spacing, len(coefficients))
    padded = np.concatenate([coefficients, np.zeros(-rounds % spacing)]).reshape(-1, spacing)
    total = padded.cumsum(axis=0)
    total[times:] = total[times:] - total[:-times]
    return total.ravel()[:rounds]


class Share(NamedTuple):
    """How much of an independent normal is in the noise of a round."""

    round: int  # in which it is drawn first
    height: int  # of its node: it is of the last 2^height rounds
    weight: float


@dataclass(frozen=True)
class Tree(Matrix):
    """All dyadic intervals."""

    name: ClassVar[str] = "tree"

    def noise(self, streams: Streams, round_number: int, like: torch.Tensor) -> torch.Tensor:
        total = like.new_zeros(like.shape)
        for share in parts(round_number):
            total += share.weight * streams.noise(STREAM, share.round, share.height).like(like)
        return total

    def squares(self, rounds: Sequence[int], times: int, spacing: int) -> np.ndarray:
        return squares(rounds, times, spacing)


def parts(round_number: int) -> Iterator[Share]:
    """Yield what the estimate of the partial sum after a round has that the one before it has not.

    The node that the round completes stands in place of the smaller ones whose intervals it joins.
    """
    # The height of the largest node that the round completes.
    top = (round_number & -round_number).bit_length() - 1
    yield from _estimate(round_number, top, 1.0)
    for height in range(top):
        yield from _estimate(round_number - 2**height, height, -1.0)


def _estimate(end: int, height: int, weight: float) -> Iterator[Share]:
    """Yield the best estimate of a node, of itself and of all below it, by the inverse of their variances.

    Honaker 2015, section 3.2: below a node of height h there are two estimates whose sum has 2 v(h − 1) times
    the variance of its own normal, and both together have v(h) = 2^h / (2^(h + 1) − 1).
    """
    own = 2**height / (2 ** (height + 1) - 1)
    yield Share(end, height, weight * own)
    if height:
        yield from _estimate(end - 2 ** (height - 1), height - 1, weight * (1 - own))
        yield from _estimate(end, height - 1, weight * (1 - own))


@dataclass(frozen=True)
class Banded(Toeplitz):
    """The banded square root; its noise takes the independent normals of the last `bands` rounds."""

    name: ClassVar[str] = "banded"
    reads: ClassVar[str] = "bands"
    bands: int  # diagonals that are not zero

    @classmethod
    def planned(cls, turns: Turns, bands: int) -> Banded:
        return cls(bands or turns.spacing)

    @classmethod
    def read(cls, bands: int, numbers: str) -> Banded:
        if bands < 1:
            raise BadInput(f"trace: bands: found {bands}, allowed: whole numbers from 1")
        return cls(bands)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"bands": self.bands}

    def coefficients(self, rounds: int) -> np.ndarray:
        """Return the diagonals `[rounds]`: binomials (2j over j) / 4^j, and 0 from `bands` on."""
        ratios = (np.arange(1.0, rounds) - 0.5) / np.arange(1.0, rounds)
        return np.where(np.arange(rounds) < self.bands, np.cumprod([1.0, *ratios]), 0.0)

    def correlate(self, noise: torch.Tensor, memory: list[torch.Tensor]) -> None:
        """Do so with the noise of the last `bands` − 1 rounds, the latest first."""
        weights = self.coefficients(len(memory) + 1)[1:].tolist()
        for weight, earlier in zip(weights, memory, strict=True):
            noise -= weight * earlier
        memory.insert(0, noise)
        del memory[self.bands - 1 :]


BUFFERS = 4  # of the size of a model; a fifth makes the error less than 1 % smaller
# Of log-odds that are searched. Only a step that is worth more than a rounding by far is taken, so that every
# processor takes the same ones: what noise a run has, and so which run it is, hangs on where they end.
STEPS, LIMIT, GAIN = (2.0, 1.0, 0.5, 0.25, 0.125, 0.0625), 8.0, 1e-6
BITS, FINEST_DECAY = 10, 2.0**-24  # of what is found: float32 holds it exactly
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
    def read(cls, bands: int, numbers: str) -> Blt:
        try:
            pairs = (pair.split(":") for pair in numbers.split())
            series = tuple((float(scale), float(decay)) for scale, decay in pairs)
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

    def correlate(self, noise: torch.Tensor, memory: list[torch.Tensor]) -> None:
        if not memory:
            memory += [noise.new_zeros(noise.shape) for _ in self.series]
        for (scale, _), buffer in zip(self.series, memory, strict=True):
            noise -= scale * buffer
        for (_, decay), buffer in zip(self.series, memory, strict=True):
            buffer.mul_(decay).add_(noise)


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
        moved = sums(_diagonals(of_c, of_inverse, turns.rounds), turns.times, turns.spacing)
        error = np.cumsum(_diagonals(of_inverse, of_c, turns.rounds))  # B = A W, a row of it
        return float(np.log(moved @ moved) + np.log(np.cumsum(error**2).mean()))

    odds = np.zeros(2 * BUFFERS)
    least, ways = loss(odds), np.vstack([np.eye(len(odds)), -np.eye(len(odds))])
    for step in STEPS:
        better = True
        while better:
            better = False
            for way in step * ways:
                while abs(tried := odds + way).max() <= LIMIT and (lower := loss(tried)) < least - GAIN:
                    odds, least, better = tried, lower, True
    of_c, of_inverse = gaps(odds).reshape(BUFFERS, 2).T
    scales = _rounded(_scales(of_c, of_inverse))
    decays = 1.0 - np.maximum(FINEST_DECAY, np.round(_rounded(of_c) / FINEST_DECAY) * FINEST_DECAY)
    kept = (scales >= FINEST_DECAY) | (scales == scales.max())  # the others do less than rounding does
    return tuple(zip(scales[kept].tolist(), decays[kept].tolist(), strict=True))


def _scales(gaps: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the scales of a quotient's series: its residues, of decays 1 − `gaps` over 1 − `others`."""
    differences = gaps - gaps[:, None]
    np.fill_diagonal(differences, 1.0)
    return np.prod(others - gaps[:, None], axis=1) / np.prod(differences, axis=1)


def _diagonals(gaps: np.ndarray, others: np.ndarray, rounds: int) -> np.ndarray:
    """Return the numbers of a quotient `[rounds]`, without rounding."""
    series = np.exp(np.arange(rounds - 1)[:, None] * np.log1p(-gaps))
    return np.concatenate([[1.0], series @ _scales(gaps, others)])


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return values with so many significant bits, rounded down."""
    fractions, exponents = np.frexp(values)
    return np.ldexp(np.floor(fractions * 2**BITS), exponents - BITS)


Name = Literal["tree", "banded", "blt"]
MATRICES: dict[str, type[Matrix]] = {"tree": Tree, "banded": Banded, "blt": Blt}


def matrix_of(facts: Mapping[str, Any]) -> Matrix | None:
    """Return the matrix that a row of a trace names; None: none of ours. BadInput names what it lacks."""
    kind = MATRICES.get(str(facts.get("matrix", "")))
    if kind is None:
        return None
    bands, numbers = int(facts.get("bands", 1)), str(facts.get("numbers", ""))
    if unread := not_read(kind, bands, numbers):
        raise BadInput(f"trace: {unread}")
    return kind.read(bands, numbers)


def not_read(kind: type[Matrix], bands: int, numbers: str) -> str:
    """Name a key that a matrix does not read, or the empty string; one band says nothing."""
    for name, setting, there in (("bands", bands, bands > 1), ("numbers", numbers, numbers != "")):
        if there and name != kind.reads:
            of = next(other for other, matrix in MATRICES.items() if matrix.reads == name)
            return f"{name}: found {short_repr(setting)} with matrix {kind.name}, allowed: with matrix {of}"
    return ""


CORRELATED_GAUSSIAN = Released(
    "bounded parts with Gaussian noise that is correlated between releases, through a matrix",
    {
        "matrix": TraceColumn("str", "which matrix: tree, banded, blt; empty: another", ""),
        "bands": TraceColumn("int64", "diagonals of a banded one that are not zero", 1),
        "numbers": TraceColumn("str", "of blt: SCALE:DECAY of each series of its diagonals", ""),
    },
    independent=False,
)
