"""Tests of numbers that shall be independent standard normals, as all noise is over the std that is stated.

Each test is about one kind of fault: it gives the p-value of the faultiest number, round or pair and says
what is wrong there. Where many are looked at, how many is paid for. Joint laws are looked at along directions
(fixed ones, and the one that half of the rounds suggests), in what one number has left once the others are
known, in lengths, and in numbers that come again anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri
from scipy.stats import binom, chi2, chisquare, nbinom, t

CELL, FARTHEST = 0.125, 10.0  # width of the cells into which numbers fall, and where they end
FEWEST = 20  # numbers that are expected in a cell of which the law is looked at
DIRECTIONS = 32  # random ones
NEAR = 50  # neighbours among which a number is explained by the others; where rounds suffice, by all
SPARE = 20  # rounds beyond the numbers that explain each other
ROUNDED = 1e-15  # of a correlation that is 1
SUMMED = 1000  # products of which the sum is near a normal
FLOATS = 30  # times what floats leave uncertain: numbers so near are equal
RARE = 106.0  # over n²: n normals are all farther apart with probability e⁻³⁰
WIDE = 0.05  # cells so wide that equal numbers mean nothing
LOOKED_AT = 30_000  # numbers among which a common step is looked for
FEW = 5  # numbers that show a step, or lie between two


class Suspicion(NamedTuple):
    """A fault, and how often what is sound looks so faulty, at most."""

    pvalue: float
    fault: str


NOTHING = Suspicion(1.0, "")


@dataclass(frozen=True)
class Numbers:
    """Numbers `[R, T, d]` of R runs of T rounds, over the std that is stated.

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
        return spread_over(self.single, self.step, np.random.default_rng(0))

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
    def round_products(self) -> np.ndarray:
        """Sums of products of the numbers of two rounds `[T, T]`."""
        return products_of(self.numbers.transpose(0, 2, 1).reshape(-1, self.numbers.shape[1]))

    def parts(self) -> dict[str, slice]:
        """Return the columns of each tensor, by its name."""
        ends = np.cumsum([0, *self.tensors]).tolist()
        return {f"tensor {number}": slice(*pair) for number, pair in enumerate(pairwise(ends), start=1)}


def products_of(rows: np.ndarray) -> np.ndarray:
    """Return sums of products of two columns `[d, d]` of rows `[n, d]`, as exact as an inverse needs."""
    rows = rows.astype(np.float64) if len(rows) < 4 * rows.shape[1] else rows
    return (rows.T @ rows).astype(np.float64)


def step_of(values: np.ndarray, exact: float) -> float:
    """Return the step of which the distances of values are multiples, all of them; 0: there is none."""
    ascending = np.sort(values.ravel()[:LOOKED_AT])
    gaps = np.diff(ascending[np.isfinite(ascending)])
    gaps = gaps[gaps > 3 * exact]
    if len(gaps) < FEW:
        return 0.0
    for parts in (1, 2, 3, 4):  # the least distance may be of more than one step
        step = float(gaps.min()) / parts
        for most in (1.5, 5.0, 20.0):  # the wider a gap, the finer it shows the step
            near = gaps[gaps < most * parts * step]
            step = float(near.sum() / np.rint(near / step).sum())
        whole = gaps[gaps < 50 * step] / step
        if step > FLOATS * exact / 3 and (np.abs(whole - np.rint(whole)) < 0.1).all():
            return step
    return 0.0


def spread_over(values: np.ndarray, step: float, rng: np.random.Generator) -> np.ndarray:
    """Return discrete values, each somewhere within its step: as if they had been continuous."""
    return values + step * rng.uniform(-0.5, 0.5, values.shape) if step else values


def spread_pvalue(squares: np.ndarray, count: int) -> np.ndarray:
    """P-value of a sum of so many squares of standard normals, in either direction."""
    return 2 * np.minimum(chi2.sf(squares, count), chi2.cdf(squares, count))


def rarest(kinds: Iterable[tuple[np.ndarray, Callable[[int], str]]]) -> Suspicion:
    """Return the rarest of the p-values of all kinds, and what its index means; all of them are paid for."""
    each = []
    for pvalues, fault in kinds:
        index = int(np.argmin(pvalues))
        each.append(Suspicion(float(pvalues[index]) * len(pvalues), fault(index)))
    return Suspicion(min(each).pvalue * len(each), min(each).fault) if each else NOTHING


def least_independent(
    products: np.ndarray, first: np.ndarray, second: np.ndarray, samples: int
) -> tuple[int, int, float]:
    """Return the indices, from 1, of the largest of correlations `[a, b]`, and its p-value among all.

    Of sums of `products` and of squares of the `first` `[a]` and `second` `[b]`; it is that of so many pairs
    of independent normals of mean 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(np.nan_to_num(products / np.sqrt(np.outer(first, second))))
        row, column = np.unravel_index(int(correlation.argmax()), correlation.shape)
        largest = float(correlation[row, column])
        odds = largest * np.sqrt((samples - 1) / np.fmax(1 - largest**2, ROUNDED))
    rare = 2 * float(t.sf(odds, samples - 1)) if samples > 1 else 1.0
    return int(row) + 1, int(column) + 1, rare * max(1, np.count_nonzero(products))


def correlations(first: np.ndarray, second: np.ndarray) -> tuple[int, int, float]:
    """Return what `least_independent` does of the columns of `first` `[n, a]` and `second` `[n, b]`."""
    if len(first) < 4 * max(first.shape[1], second.shape[1]):  # a correlation may be near 1 by chance
        first, second = first.astype(np.float64), second.astype(np.float64)
    squares = (np.square(part, dtype=np.float64).sum(axis=0) for part in (first, second))
    return least_independent((first.T @ second).astype(np.float64), *squares, samples=len(first))


def variance(x: Numbers) -> Suspicion:
    """Fault: all numbers, those of a round, or one of them have another variance than is stated."""
    powers = np.square(x.numbers, dtype=np.float64).sum(axis=2).ravel()
    kinds = {
        f"{x.name} of a round": (powers, x.rows.shape[1]),
        f"{x.name} of one number": (np.diag(x.products), len(x.rows)),
        x.name: (powers.sum(keepdims=True), x.rows.size),
    }
    return rarest(
        (
            spread_pvalue(squares, count),
            lambda index, name=name, share=squares / count: (
                f"{name} has {share[index]:.4g} times the variance that is stated"
            ),
        )
        for name, (squares, count) in kinds.items()
    )


def centre(x: Numbers) -> Suspicion:
    """Fault: numbers are not around zero; of bits, another share of them is flipped."""
    mean = float(x.smooth.mean(dtype=np.float64))
    return Suspicion(
        2 * float(ndtr(-abs(mean) * x.smooth.size**0.5)), f"the mean of {x.name} is {mean:.4g} σ"
    )


def law(x: Numbers) -> Suspicion:
    """Fault: numbers are not normal, by Pearson's test."""
    # Edges lie between steps; numbers beyond, and what is no number, are in the last cell.
    width = x.step * math.ceil(CELL / x.step) if x.step else CELL
    cuts = np.arange(-FARTHEST, FARTHEST + width, width) + x.step / 2
    cells = np.histogram(np.nan_to_num(x.smooth, nan=np.inf).clip(cuts[0], cuts[-1]), cuts)[0]
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


def number_pairs(x: Numbers) -> Suspicion:
    """Fault: two numbers are not independent."""
    squares = np.diag(x.products)
    first, second, rare = least_independent(np.triu(x.products, 1), squares, squares, len(x.rows))
    return Suspicion(rare, f"{x.name} of numbers {first} and {second} is not independent")


def round_pairs(x: Numbers) -> Suspicion:
    """Fault: two rounds have noise that is not independent."""
    squares, samples = np.diag(x.round_products), x.rows.size // len(x.round_products)
    first, second, rare = least_independent(np.triu(x.round_products, 1), squares, squares, samples)
    return Suspicion(rare, f"{x.name} of round {first} comes again in round {second}")


def following(x: Numbers) -> Suspicion:
    """Fault: a number comes again in the next round, as the same number or as another."""
    before, after = (part.reshape(-1, part.shape[2]) for part in (x.numbers[:, :-1], x.numbers[:, 1:]))
    first, second, rare = correlations(before, after)
    return Suspicion(rare, f"{x.name} of number {first} comes again in the next round, in number {second}")


def lags(x: Numbers) -> Suspicion:
    """Fault: numbers, or rounds, that lie as far apart have noise in common, all of them a little."""
    kinds = []
    for what, products in (("numbers", x.products), ("rounds", x.round_products)):
        trials = x.rows.size // len(products)
        apart = np.arange(1, len(products))
        apart = apart[trials * (len(products) - apart) >= SUMMED]
        if len(apart):
            sums = np.array([np.trace(products, lag) for lag in apart])
            pvalues = 2 * ndtr(-np.abs(sums) / np.sqrt(trials * (len(products) - apart)))
            text = f"{x.name} of {what} that are {{}} apart is not independent"
            kinds.append((pvalues, lambda index, text=text: text.format(index + 1)))
    return rarest(kinds)


def runs(x: Numbers) -> Suspicion:
    """Fault: numbers come again in other runs."""
    count, rounds, size = x.numbers.shape
    if count < 2:
        return NOTHING
    squares = np.square(x.numbers.sum(axis=0, dtype=np.float64)) / count
    kinds = {
        "a round": chi2.sf(squares.sum(1), size),
        "a number": chi2.sf(squares.sum(0), rounds),
        "all rounds": chi2.sf([squares.sum()], squares.size),
    }
    text = f"{x.name} of {{}} comes again in another run"
    return rarest((pvalues, lambda _, name=name: text.format(name)) for name, pvalues in kinds.items())


def lengths(x: Numbers) -> Suspicion:
    """Fault: the length of the noise of a round, or of a tensor of it, varies more or less than it may."""
    spreads = {}
    for name, part in {"rounds": slice(None), **x.parts()}.items():
        squares = np.square(x.rows[:, part], dtype=np.float64)
        scores = ndtri(chi2.cdf(squares.sum(axis=1), squares.shape[1])).clip(-40, 40)
        spreads[name] = float(np.square(scores).sum())
    squares = np.array([*spreads.values()])
    times = np.sqrt(squares / len(x.rows))
    text = f"the length of {x.name} of {{}} varies {{:.3g}} times as much as is stated"
    pvalues = spread_pvalue(squares, len(x.rows))
    return rarest([(pvalues, lambda index: text.format([*spreads][index], times[index]))])


def directions(x: Numbers) -> Suspicion:
    """Fault: the numbers have another variance along a direction that is fixed before."""
    size, rng = x.rows.shape[1], np.random.default_rng(0)
    fixed = {"all ones": np.ones(size), "alternating signs": (-1.0) ** np.arange(size)}
    fixed |= {
        f"the ones of {name}": np.isin(np.arange(size), np.r_[part]) for name, part in x.parts().items()
    }
    fixed |= {f"random signs {index}": rng.choice([-1.0, 1.0], size) for index in range(DIRECTIONS)}
    vectors = np.array([*fixed.values()], dtype=np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    squares = ((vectors @ x.products) * vectors).sum(axis=1).clip(0)
    text = f"{x.name} along {{}} has {{:.4g}} times the variance that is stated"
    pvalues = spread_pvalue(squares, len(x.rows))
    return rarest([(pvalues, lambda index: text.format([*fixed][index], squares[index] / len(x.rows)))])


def suggested(x: Numbers) -> Suspicion:
    """Fault: there is less variance along the direction that the other half of the rounds suggests."""
    halves = [x.rows[start::2] for start in (0, 1)]
    if min(map(len, halves)) <= x.rows.shape[1]:
        return NOTHING
    squares = np.zeros(2)
    for index, half in enumerate(halves):
        _, least = eigh(products_of(halves[1 - index]), subset_by_index=[0, 0])
        squares[index] = np.square(half.astype(np.float64) @ least[:, 0]).sum()
    counts = np.array([*map(len, halves)])
    text = f"{x.name} has {{:.4g}} times its variance along a direction that it suggests itself"
    return rarest([(chi2.cdf(squares, counts), lambda index: text.format(squares[index] / counts[index]))])


def given_others(x: Numbers) -> Suspicion:
    """Fault: a number is known, or nearly, once the others of its round are.

    Of n rounds the variance of a number that b − 1 others leave is chi-squared with n − b + 1 degrees.
    """
    rounds, size = x.rows.shape
    blocks = [slice(start, start + NEAR) for start in range(0, size, NEAR)] if size > NEAR else []
    blocks = blocks * (rounds >= NEAR + SPARE) + [slice(0, size)] * (rounds >= size + SPARE)
    text = (
        f"{x.name} of number {{}} is not independent of the others, which leave it {{:.3g}} of its variance"
    )

    def left(block: slice) -> tuple[np.ndarray, Callable[[int], str]]:
        products = x.products[block, block]
        degrees = rounds - len(products) + 1
        try:
            squares = (1 / np.diag(np.linalg.inv(products))).clip(0)
        except np.linalg.LinAlgError:
            squares = np.zeros(len(products))
        return chi2.cdf(squares, degrees), lambda index: text.format(
            block.start + index + 1, squares[index] / degrees
        )

    return rarest(map(left, blocks))


def repeats(x: Numbers) -> Suspicion:
    """Fault: a number, or its opposite, comes again anywhere in a run, or zero comes too often.

    How many pairs of m sizes of normals fall into the same cell has a mean and a variance, as has the
    negative binomial that it is compared with.
    """
    values = np.abs(x.single)
    runs, count = values.shape
    cell = x.step or max(FLOATS * x.exact, RARE / count**2)
    if cell > WIDE and not x.step:
        return NOTHING
    ties = np.array([pairs_of_equals(np.sort(row), cell, bool(x.step)) for row in values])
    # The density f of a size has ∫ f² = 1/√π, and ∫ f³ − (∫ f²)² = 0.0493.
    mean, more = count * (count - 1) / 2 * cell / math.sqrt(math.pi), 0.0493 * cell**2 * count**3

    def rare(ties: np.ndarray, times: int) -> np.ndarray:
        return nbinom.sf(ties - 1, times * mean**2 / more, mean / (mean + more))

    zeros = int((values < cell / 2).sum())
    at_zero = binom.sf([zeros - 1], values.size, min(1.0, cell / math.sqrt(2 * math.pi)))
    again = f"numbers of {x.name} come again in the same run"
    return rarest(
        [
            (rare(ties, 1), lambda _: again),
            (rare(ties.sum(keepdims=True), runs), lambda _: again),
            (at_zero, lambda _: f"{zeros} numbers of {x.name} are zero"),
        ]
    )


def pairs_of_equals(values: np.ndarray, cell: float, steps: bool) -> int:
    """Return how many pairs of ascending values are in the same cell; in `steps`, at the same one."""
    ends = np.diff(values) > cell / 2 if steps else np.diff(np.floor(values / cell)) > 0
    counts = np.diff(np.flatnonzero(np.concatenate([[True], ends, [True]])))
    return int((counts * (counts - 1) // 2).sum())


def steps_beneath(x: Numbers, totals: np.ndarray) -> Suspicion:
    """Fault: noise comes in steps and the sums beneath it, `totals` `[n, d]` with it, do not.

    What lies between two steps is then released as it is. Nothing is left to chance: of steps no two numbers
    are nearer to each other.
    """
    gaps = np.diff(np.sort(totals, axis=1), axis=1)
    if ((gaps > 3 * x.exact) & (gaps < 0.9 * x.step)).sum() < FEW:
        return NOTHING
    return Suspicion(0.0, f"{x.name} comes in steps of {x.step:.3g} σ, and the sum beneath it does not")


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
    "lags": lags,
    "runs": runs,
    "lengths": lengths,
    "directions": directions,
    "suggested": suggested,
    "given_others": given_others,
    "repeats": repeats,
}
