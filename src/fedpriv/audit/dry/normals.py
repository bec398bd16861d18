"""Tests of numbers that shall be independent standard normals, as all noise is over the std that is stated.

Each test is about one kind of fault: it gives the p-value of the faultiest place and says what is wrong
there. Where many places are looked at, their number is paid for. Joint laws are looked at along directions
(fixed ones, and the one that half of the rounds suggest), in what one number has left once the others are
known, in the sizes of numbers without their signs, and in numbers that come again anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri
from scipy.stats import binom, chi2, chisquare, nbinom, t

CELL, FARTHEST = 0.125, 10.0  # width of the cells into which numbers fall, and where they end
FEWEST = 20  # numbers that are expected in a cell of which the law is looked at
DIRECTIONS = 32  # random ones
NEAR = 50  # neighbours among which one number is told from the others; where rounds suffice, from all
SPARE = 20  # rounds beyond the numbers that are told from each other
FLOATS = 30  # times what floats leave uncertain: numbers so near are equal
WIDE = 0.05  # cells of too few numbers for equal ones to mean anything
LOOKED_AT = 30_000  # numbers among which a common step is looked for
FEW = 5  # numbers between two steps
UNLIKELY = 106.0  # over n²: so far apart are n normals with probability e⁻³⁰


class Suspicion(NamedTuple):
    """A fault, and how often what is sound looks so faulty."""

    pvalue: float
    fault: str


NOTHING = Suspicion(1.0, "")


@dataclass(frozen=True)
class Numbers:
    """Numbers `[R, T, d]` of R runs of T rounds, over the std that is stated, and what they consist of.

    Where they are sums, `drawn` `[R, m]` are single numbers as they were drawn. `exact` is what floats leave
    uncertain of a number, `tensors` the sizes of the parts of the d, `name` what messages call them.
    """

    raw: np.ndarray
    exact: float
    tensors: Sequence[int] = ()
    drawn: np.ndarray | None = None
    name: str = "the noise"

    @cached_property
    def single(self) -> np.ndarray:
        """Single numbers `[R, m]`, as they were drawn."""
        return self.raw.reshape(len(self.raw), -1) if self.drawn is None else self.drawn

    @cached_property
    def step(self) -> float:
        """Step of which all numbers are multiples, of discrete noise; 0: there is none."""
        return step_of(self.single, self.exact)

    @cached_property
    def smooth(self) -> np.ndarray:
        """Single numbers `[R, m]`; discrete noise is spread over its steps."""
        if not self.step:
            return self.single
        return self.single + self.step * np.random.default_rng(0).uniform(-0.5, 0.5, self.single.shape)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Numbers `[R, T, d]`, smooth, float32."""
        numbers = self.raw if self.drawn is not None else self.smooth.reshape(self.raw.shape)
        return numbers.astype(np.float32)

    @cached_property
    def rows(self) -> np.ndarray:
        """Numbers of every round of every run `[R T, d]`."""
        return self.numbers.reshape(-1, self.numbers.shape[2])

    @cached_property
    def products(self) -> np.ndarray:
        """Sums of products of two numbers `[d, d]`."""
        return products_of(self.rows)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Numbers without their signs `[R, T, d]`: standard normals, too, and as independent."""
        inside = 2 * ndtr(np.abs(self.numbers.astype(np.float64))) - 1
        return ndtri(inside.clip(1e-12, 1 - 1e-12)).astype(np.float32)


def products_of(rows: np.ndarray) -> np.ndarray:
    """Sums of products of two columns of `rows` `[n, d]`, float64: so exact as an inverse of them needs."""
    rows = rows.astype(np.float64) if len(rows) < 4 * rows.shape[1] else rows
    return (rows.T @ rows).astype(np.float64)


def step_of(values: np.ndarray, exact: float) -> float:
    """Return the least distance of any two values that is not rounding, where that is a step; else 0."""
    some = np.sort(values.ravel()[:LOOKED_AT])
    gaps = np.diff(some[np.isfinite(some)])
    gaps = gaps[gaps > 3 * exact]
    step = float(np.median(gaps[gaps < 1.5 * gaps.min()])) if len(gaps) else 0.0
    return step if step > max(FLOATS * exact / 3, UNLIKELY / len(some) ** 2) else 0.0


def spread_pvalue(squares: np.ndarray, count: int) -> np.ndarray:
    """P-value of a sum of so many squares of standard normals, in either direction."""
    return 2 * np.minimum(chi2.sf(squares, count), chi2.cdf(squares, count))


def rarest(suspicions: Iterable[tuple[np.ndarray, Callable[[int], str]]]) -> Suspicion:
    """Return the rarest of p-values by kind, and what its place means; all places and kinds are paid for."""
    found = []
    for pvalues, fault in suspicions:
        place = int(np.argmin(pvalues))
        found.append(Suspicion(float(pvalues.flat[place]) * pvalues.size, fault(place)))
    if not found:
        return NOTHING
    least = min(found)
    return Suspicion(least.pvalue * len(found), least.fault)


def variance(x: Numbers) -> Suspicion:
    """Fault: all numbers, those of a round, or one of them have another variance than is stated."""
    powers = np.square(x.numbers, dtype=np.float64).sum(axis=2)
    parts = {
        f"{x.name} of a round": (powers, x.rows.shape[1]),
        f"{x.name} of one number": (np.diag(x.products), len(x.rows)),
        x.name: (powers.sum(keepdims=True), x.rows.size),
    }
    return rarest(
        (
            spread_pvalue(squares, count),
            lambda place, name=name, share=squares / count: (
                f"{name} has {share.flat[place]:.4g} times the variance that is stated"
            ),
        )
        for name, (squares, count) in parts.items()
    )


def centre(x: Numbers) -> Suspicion:
    """Fault: numbers are not around zero; of bits, another share of them is flipped."""
    mean = float(x.smooth.mean(dtype=np.float64))
    return Suspicion(2 * float(ndtr(-abs(mean) * x.smooth.size**0.5)), f"the mean of {x.name} is {mean:.4g} σ")


def law(x: Numbers) -> Suspicion:
    """Fault: numbers are not normal, by Pearson's test."""
    # Edges lie between steps; numbers beyond, and what is no number, are in the last cell.
    width = x.step * math.ceil(CELL / x.step) if x.step else CELL
    cuts = np.arange(-FARTHEST, FARTHEST + width, width) + x.step / 2
    values = np.nan_to_num(x.smooth, nan=np.inf).clip(cuts[0], cuts[-1])
    cells = np.histogram(values, cuts)[0]
    expected = cells.sum() * np.diff(ndtr(cuts))
    inner = np.flatnonzero(expected >= FEWEST)
    if not len(inner):
        return NOTHING
    edges = np.array([-np.inf, *cuts[inner], cuts[inner[-1] + 1], np.inf])
    counts, expected = (
        np.array([parts[: inner[0]].sum(), *parts[inner], parts[inner[-1] + 1 :].sum()])
        for parts in (cells, expected)
    )
    worst = int((np.abs(counts - expected) / np.sqrt(expected)).argmax())
    return Suspicion(
        float(chisquare(counts, expected).pvalue),
        f"{x.name} is not normal: between {edges[worst]:.4g} and {edges[worst + 1]:.4g} σ "
        f"are {counts[worst]:.0f} of its numbers and not about {expected[worst]:.0f}",
    )


def powers(x: Numbers) -> Suspicion:
    """Fault: the length of the noise of a round, or of one of its tensors, varies more or less than it may."""
    ends = np.cumsum([0, *x.tensors])
    parts = [slice(None), *(slice(*pair) for pair in zip(ends, ends[1:], strict=False))]
    lengths = []
    for part in parts:
        some = x.rows[:, part]
        tail = chi2.cdf(np.square(some, dtype=np.float64).sum(axis=1), some.shape[1])
        lengths.append(np.square(ndtri(tail).clip(-40, 40)).sum())
    times = np.sqrt(np.array(lengths) / len(x.rows))
    return rarest(
        iter(
            [
                (
                    spread_pvalue(np.array(lengths), len(x.rows)),
                    lambda place: f"lengths of {x.name} vary {times[place]:.3g} times as much as is stated",
                )
            ]
        )
    )


def correlations(first: np.ndarray, second: np.ndarray, samples: int) -> tuple[int, int, float]:
    """Places, counted from 1, of the two columns of `[n, a]` and `[n, b]` least independent, and its p-value.

    It is that of a correlation of so many pairs of independent normals of mean 0, among all pairs.
    """
    products = first.T @ second
    return least_independent(products, np.square(first).sum(0), np.square(second).sum(0), samples)


def least_independent(
    products: np.ndarray, first: np.ndarray, second: np.ndarray, samples: int
) -> tuple[int, int, float]:
    """Places, counted from 1, of the largest of correlations `[a, b]`, and its p-value among all of them.

    Of sums of `products` and of squares of the `first` `[a]` and `second` `[b]`; 1 of nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(np.nan_to_num(products / np.sqrt(np.outer(first, second))))
        row, column = np.unravel_index(int(correlation.argmax()), correlation.shape)
        largest = float(correlation[row, column])
        odds = largest * np.sqrt((samples - 1) / np.fmax(1 - largest**2, 0.0))
    rare = 2 * float(t.sf(odds, samples - 1)) if samples > 1 else 1.0
    return int(row) + 1, int(column) + 1, rare * max(1, np.count_nonzero(products))


def number_pairs(x: Numbers) -> Suspicion:
    """Fault: two numbers are not independent."""
    squares = np.diag(x.products)
    first, second, rare = least_independent(np.triu(x.products, 1), squares, squares, len(x.rows))
    return Suspicion(rare, f"{x.name} of numbers {first} and {second} is not independent")


def round_pairs(x: Numbers) -> Suspicion:
    """Fault: two rounds have noise that is not independent."""
    first, second, rare = among_rounds(x.numbers)
    return Suspicion(rare, f"{x.name} of round {first} comes again in round {second}")


def among_rounds(numbers: np.ndarray) -> tuple[int, int, float]:
    """Two rounds least independent, and their p-value."""
    rounds = numbers.transpose(1, 0, 2).reshape(numbers.shape[1], -1)
    products = (rounds @ rounds.T).astype(np.float64)
    squares = np.diag(products)
    return least_independent(np.triu(products, 1), squares, squares, rounds.shape[1])


def following(x: Numbers) -> Suspicion:
    """Fault: a number comes again in the next round, at its place or at another."""
    before, after = (part.reshape(-1, part.shape[2]) for part in (x.numbers[:, :-1], x.numbers[:, 1:]))
    first, second, rare = correlations(before, after, len(before))
    return Suspicion(rare, f"{x.name} of number {first} comes again in the next round, in number {second}")


def runs(x: Numbers) -> Suspicion:
    """Fault: numbers come again in other runs."""
    count, rounds, size = x.numbers.shape
    if count < 2:
        return NOTHING
    squares = np.square(x.numbers.sum(axis=0, dtype=np.float64)) / count
    parts = {"a round": (squares.sum(1), size), "a number": (squares.sum(0), rounds)}
    parts["all rounds"] = (squares.sum(keepdims=True), squares.size)
    return rarest(
        (spread_pvalue(part, count), lambda _, name=name: f"{x.name} of {name} comes again in another run")
        for name, (part, count) in parts.items()
    )


def directions(x: Numbers) -> Suspicion:
    """Fault: the numbers have another variance along a direction that is fixed before."""
    size, rng = x.rows.shape[1], np.random.default_rng(0)
    fixed = {"all ones": np.ones(size), "alternating signs": (-1.0) ** np.arange(size)}
    ends = np.cumsum([0, *x.tensors])
    for place, (start, end) in enumerate(zip(ends, ends[1:], strict=False)):
        fixed[f"the ones of tensor {place + 1}"] = (np.arange(size) >= start) & (np.arange(size) < end)
    fixed |= {f"random signs {place}": rng.choice([-1.0, 1.0], size) for place in range(DIRECTIONS)}
    vectors = np.array(list(fixed.values()), dtype=np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    squares = ((vectors @ x.products) * vectors).sum(axis=1).clip(0)
    names = list(fixed)
    return rarest(
        iter(
            [
                (
                    spread_pvalue(squares, len(x.rows)),
                    lambda place: (
                        f"{x.name} along {names[place]} has {squares[place] / len(x.rows):.4g} times the "
                        "variance that is stated"
                    ),
                )
            ]
        )
    )


def suggested(x: Numbers) -> Suspicion:
    """Fault: there is less variance along the direction that the other half of the rounds suggests."""
    halves = [x.rows[start::2] for start in (0, 1)]
    size = x.rows.shape[1]
    if min(map(len, halves)) <= size:
        return NOTHING
    squares, counts = [], []
    for half, other in zip(halves, halves[::-1], strict=True):
        _, least = eigh(products_of(half), subset_by_index=[0, 0])
        squares.append(float(np.square(other.astype(np.float64) @ least[:, 0]).sum()))
        counts.append(len(other))
    pvalues = chi2.cdf(squares, counts)
    share = squares[int(pvalues.argmin())] / counts[0]
    return Suspicion(
        2 * float(pvalues.min()), f"{x.name} has {share:.4g} times its variance along a direction it suggests"
    )


def given_others(x: Numbers) -> Suspicion:
    """Fault: a number is known, or nearly, once the others of its round are.

    Of n rounds the variance of a number that b − 1 others leave is chi-squared with n − b + 1 degrees.
    """
    rounds, size = x.rows.shape
    blocks = [slice(start, start + NEAR) for start in range(0, size, NEAR)] if size > NEAR else []
    blocks = blocks * (rounds >= NEAR + SPARE) + [slice(0, size)] * (rounds >= size + SPARE)

    def left(block: slice) -> tuple[np.ndarray, Callable[[int], str]]:
        part = x.products[block, block]
        try:
            variances = 1 / np.diag(np.linalg.inv(part))
        except np.linalg.LinAlgError:
            variances = np.zeros(len(part))
        degrees = rounds - len(part) + 1
        share = variances.clip(0) / degrees
        return chi2.cdf(variances.clip(0), degrees), lambda place: (
            f"{x.name} of number {block.start + place + 1} is not independent of the others, which leave it "
            f"{share[place]:.3g} of its variance"
        )

    return rarest(left(block) for block in blocks)


def size_pairs(x: Numbers) -> Suspicion:
    """Fault: the sizes of two numbers are not independent, whatever their signs."""
    rows = x.sizes.reshape(x.rows.shape)
    products = products_of(rows)
    squares = np.diag(products)
    first, second, rare = least_independent(np.triu(products, 1), squares, squares, len(rows))
    return Suspicion(rare, f"the size of {x.name} of numbers {first} and {second} is not independent")


def size_rounds(x: Numbers) -> Suspicion:
    """Fault: the sizes of numbers come again in another round, whatever their signs."""
    first, second, rare = among_rounds(x.sizes)
    return Suspicion(rare, f"the size of {x.name} of round {first} comes again in round {second}")


def repeats(x: Numbers) -> Suspicion:
    """Fault: a number, or its opposite, comes again anywhere in a run, or zero comes too often."""
    values = np.abs(x.single)
    count = values.shape[1]
    cell = x.step or max(FLOATS * x.exact, UNLIKELY / count**2)
    if cell > WIDE and not x.step:
        return NOTHING
    ties = np.array([pairs_of_equals(np.sort(row), cell, bool(x.step)) for row in values])
    pairs = count * (count - 1) / 2 * cell / math.sqrt(math.pi)
    # What falls into one cell: 0.0493 is the variance of the density of a size at a size, by its cube and square.
    spread = 0.0493 * cell**2 * count**3
    zeros = int((values < cell / 2).sum())

    def more(pairs: float, spread: float, ties: np.ndarray) -> np.ndarray:
        chance = pairs / (pairs + spread)
        return nbinom.sf(ties - 1, pairs * chance / (1 - chance), chance)

    return rarest(
        iter(
            [
                (more(pairs, spread, ties), lambda _: f"numbers of {x.name} come again in the same run"),
                (
                    more(pairs * len(ties), spread * len(ties), ties.sum(keepdims=True)),
                    lambda _: f"numbers of {x.name} come again in the same run",
                ),
                (
                    np.array([binom.sf(zeros - 1, values.size, min(1.0, 0.3990 * cell))]),
                    lambda _: f"{zeros} numbers of {x.name} are zero",
                ),
            ]
        )
    )


def steps_beneath(x: Numbers, totals: np.ndarray) -> Suspicion:
    """Fault: noise comes in steps and the sums beneath it, `totals` `[n, d]` with it, do not.

    What lies between two steps is then released as it is. Nothing is left to chance: of steps no two numbers
    are nearer to each other.
    """
    gaps = np.diff(np.sort(totals, axis=1), axis=1)
    between = (gaps > 3 * x.exact) & (gaps < 0.9 * x.step)
    if between.sum() < FEW:
        return NOTHING
    return Suspicion(0.0, f"{x.name} comes in steps of {x.step:.3g} σ, and the sum beneath it does not")


def pairs_of_equals(values: np.ndarray, cell: float, steps: bool) -> int:
    """Number of pairs of ascending values in the same cell; of those in `steps`, at the same one."""
    ends = np.diff(values) > cell / 2 if steps else np.diff(np.floor(values / cell)) > 0
    counts = np.diff(np.flatnonzero(np.concatenate([[True], ends, [True]])))
    return int((counts * (counts - 1) // 2).sum())


# Where the law is not known nothing else is tested than pairs.
PAIRS: dict[str, Callable[[Numbers], Suspicion]] = {
    "numbers": number_pairs,
    "rounds": round_pairs,
    "following": following,
}
TESTS: dict[str, Callable[[Numbers], Suspicion]] = {
    "variance": variance,
    "centre": centre,
    "law": law,
    **PAIRS,
    "runs": runs,
    "powers": powers,
    "directions": directions,
    "suggested": suggested,
    "given_others": given_others,
    "size_pairs": size_pairs,
    "size_rounds": size_rounds,
    "repeats": repeats,
}
