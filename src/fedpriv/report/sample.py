"""Numbers by seed: arithmetic pairs them by seed, a comparison gives its margins, and their interval decides.

What is tested *holds* where the whole 95 % interval over seeds is on the claimed side of the threshold,
*fails* where the whole of it is on the other, and is *undecided* where the threshold is in it or there is
no interval. So whatever decides a statement decides its negation, the other way round.

>>> dp, bdp = Sample(pd.Series([0.86, 0.87])), Sample(pd.Series([0.90, 0.89]))
>>> round((bdp - dp).interval.mean, 3)
0.03
>>> margins(bdp - dp, 0.01).round(3)
array([0.03, 0.01])
>>> decision(Interval(mean=0.02, low=0.01, high=0.03, n=5))
'holds'
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.report import numbers
from fedpriv.report.numbers import Interval, interval
from fedpriv.report.verdicts import FAILS, HOLDS, ONE_SEED, REACHED, UNDECIDED

Values = pd.DataFrame | float  # a row a seed and a column a comparison; or the same for every seed
Operation = Callable[[Any, Any], Any]


class Sample:
    """Numbers by seed, or one for all seeds; several columns are comparisons that must all hold.

    `missing` is what NaN counts as where a number stands by itself: an accuracy is 0 where no round is
    affordable, and nothing is known of its difference from another one. `meaning` is that of an ε, by column
    of a table.
    """

    def __init__(
        self,
        values: pd.Series | Values,
        missing: float = math.nan,
        meaning: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.values: Values = values.to_frame(0) if isinstance(values, pd.Series) else values
        self.missing, self.meaning = missing, dict(meaning)

    @property
    def seeds(self) -> pd.Series:
        """The numbers of the first comparison, by seed."""
        return self.values.iloc[:, 0] if isinstance(self.values, pd.DataFrame) else pd.Series([self.values])

    def __iter__(self) -> Iterator[float]:
        return iter(self.seeds)

    @cached_property
    def interval(self) -> numbers.Interval:
        """The mean over seeds and its 95 % Student-t interval."""
        return numbers.interval(self.seeds)

    @property
    def known(self) -> Values:
        """The numbers, with `missing` in place of NaN."""
        return self.values.fillna(self.missing) if isinstance(self.values, pd.DataFrame) else self.values

    def __add__(self, other: Sample | float) -> Sample:
        return combine(operator.add, self, other)

    def __sub__(self, other: Sample | float) -> Sample:
        return combine(operator.sub, self, other)

    def __mul__(self, other: Sample | float) -> Sample:
        return combine(operator.mul, self, other)

    def __truediv__(self, other: Sample | float) -> Sample:
        return combine(operator.truediv, self, other)

    def __abs__(self) -> Sample:
        """Return two comparisons: that neither the number nor its negative is larger by so much."""
        return join_comparisons([self, self * -1.0])


def sample(number: Sample | float) -> Sample:
    """Return a number as a sample that is the same for every seed."""
    return number if isinstance(number, Sample) else Sample(float(number))


def combine(operation: Operation, left: Sample | float, right: Sample | float) -> Sample:
    """Return the sum, difference, product or ratio by seed."""
    left, right = sample(left), sample(right)
    if operation is operator.sub and not (np.isnan(left.missing) or np.isnan(right.missing)):
        return Sample(pair_by_seed(operation, left.values, right.values))
    missing = right.missing if np.isnan(left.missing) else left.missing
    return Sample(pair_by_seed(operation, left.known, right.known), missing)


def pair_by_seed(operation: Operation, left: Values, right: Values) -> Values:
    """Combine two numbers by the seeds of both; one column goes with each of several."""
    frames = [side for side in (left, right) if isinstance(side, pd.DataFrame)]
    seeds = reduce(pd.Index.intersection, (frame.index for frame in frames)) if frames else []
    sides = [
        side.loc[seeds].to_numpy() if isinstance(side, pd.DataFrame) else np.float64(side)
        for side in (left, right)
    ]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        values = operation(*sides)
    return pd.DataFrame(values, index=seeds) if frames else float(values)


def join_comparisons(samples: Iterable[Sample]) -> Sample:
    """Return several comparisons as one statement, of the seeds that all have."""
    columns = [part.values if isinstance(part.values, pd.DataFrame) else part.seeds for part in samples]
    frame = pd.concat(columns, axis="columns", join="inner")
    return Sample(frame.set_axis(range(frame.shape[1]), axis="columns"))


def margins(left: Sample | float, right: Sample | float, at_least: bool = True) -> np.ndarray:
    """Return by seed how far `left` is on the claimed side of `right`: [seeds], or [seeds, comparisons].

    The claimed side is above, or without `at_least` below.
    """

    def further(left: Any, right: Any) -> Any:
        # What nothing closes is not closed by a missing number either; of two infinite ones NaN.
        return np.where(np.isposinf(right) & np.isnan(left), -np.inf, left - right)

    values = pair_by_seed(further, sample(left).known, sample(right).known)
    by_seed = np.atleast_1d(np.asarray(values, dtype=float))
    by_seed = by_seed[:, 0] if by_seed.ndim == 2 and by_seed.shape[1] == 1 else by_seed
    return by_seed if at_least else -by_seed


# What the interval of a sample decides.

NORMAL = 1.96  # standard deviations: 95 % of a normal distribution
ROUNDING = 1e-12  # of float arithmetic


def decision(margin: Interval, threshold: float = 0.0) -> str:
    """Side of the threshold on which an interval is: above it holds, below it fails."""
    if margin.low > threshold + ROUNDING:
        return HOLDS
    return FAILS if margin.high < threshold - ROUNDING else UNDECIDED


def reach_verdict(
    ours: Interval, published: float, last_digit: float, std: float | None = None, less: bool = False
) -> str:
    """Verdict on a published number, up to `last_digit`, half of its last one, as a claim would be judged.

    A published standard deviation `std` is that of one run: what it leaves open of the difference is added to
    our interval. Where `less` is better, a number is reached from above.
    """
    alone = f" ({ONE_SEED})" if ours.n == 1 else ""
    if std:
        half = float(np.hypot(ours.half, NORMAL * std))
        ours = ours._replace(low=ours.mean - half, high=ours.mean + half)
    if less:
        ours, published = Interval(-ours.mean, -ours.high, -ours.low, ours.n), -published
    return REACHED[decision(ours, published - last_digit)] + alone


def decision_of_margins(margins: np.ndarray) -> str:
    """Decision of margins [seeds], or [seeds, comparisons] that must all hold."""
    decisions = set()
    for column in np.atleast_2d(margins.T):
        if len(column) > 1 and np.isinf(column).any():  # they have no interval, but may all agree
            decisions.add(
                HOLDS if np.isposinf(column).all() else FAILS if np.isneginf(column).all() else UNDECIDED
            )
        else:
            decisions.add(decision(interval(column)))
    return next(side for side in (FAILS, UNDECIDED, HOLDS) if side in decisions)
