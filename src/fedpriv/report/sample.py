"""Numbers by seed: arithmetic pairs them by seed, and a comparison gives its margins.

    >>> dp, bdp = Sample(pd.Series([0.86, 0.87])), Sample(pd.Series([0.90, 0.89]))
    >>> numbers.percent(bdp - dp)
    '3.0 ± 12.7'
    >>> (bdp - dp >= 0.01).margins.round(3)
    array([0.03, 0.01])

A sample says in words what was measured, and goes on to say it whatever number is added: of the sentence
`accuracy(dp) >= published(dp) - 0.005` readers want the accuracy and the published one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.report import numbers

ACCURACY, PUBLISHED, GAIN, EPSILON, GROWTH = "accuracy", "published", "gain", "epsilon", "growth"
SIDE_UNITS = {GAIN: "gain {} points", EPSILON: "ε {}"}  # of both sides of a comparison
Values = pd.DataFrame | float  # a row a seed and a column a comparison; or the same for every seed


Operation = Callable[[Any, Any], Any]


class Sample:
    """Numbers by seed, or one for all seeds; several columns are comparisons that must all hold.

    `words` say what was measured, `kind` is the metric, and `meaning` gives an ε its meaning, by column of a
    table. An accuracy is NaN where no round is affordable: 0 by itself, and no number in a difference.
    """

    def __init__(
        self,
        values: pd.Series | Values,
        words: str = "",
        kind: str = "",
        meaning: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.values: Values = values.to_frame(0) if isinstance(values, pd.Series) else values
        self.measured = self.values  # before any number was added
        self.words, self.kind, self.meaning = words, kind, meaning
        self.sides: tuple[Sample, Sample] | None = (
            None  # of which it is the difference, sum, product or ratio
        )

    @property
    def seeds(self) -> pd.Series:
        """The numbers of the first comparison, by seed."""
        return self.values.iloc[:, 0] if isinstance(self.values, pd.DataFrame) else pd.Series([self.values])

    def __iter__(self) -> Iterator[float]:
        return iter(self.seeds)

    @property
    def interval(self) -> numbers.Interval:
        """The mean over seeds and its 95 % Student-t interval."""
        return numbers.interval(self)

    @property
    def known(self) -> Values:
        """The numbers; where not even one round is affordable, nothing is learned: an accuracy of 0."""
        values = self.values
        missing = self.kind.startswith(ACCURACY)
        return values.fillna(0.0) if missing and isinstance(values, pd.DataFrame) else values

    def __add__(self, other: Sample | float) -> Sample:
        return combine(operator.add, self, sample(other))

    def __sub__(self, other: Sample | float) -> Sample:
        return combine(operator.sub, self, sample(other))

    def __mul__(self, other: Sample | float) -> Sample:
        return combine(operator.mul, self, sample(other))

    def __truediv__(self, other: Sample | float) -> Sample:
        return combine(operator.truediv, self, sample(other))

    def __abs__(self) -> Sample:
        """Return two comparisons: that neither the number nor its negative is larger by so much."""
        words = against_text(*self.sides) if self.sides else self.words
        return join_comparisons(
            [Sample(self.values), Sample(pair_by_seed(operator.mul, self.values, -1.0))], words
        )

    def __ge__(self, other: Sample | float) -> Compared:
        return Compared(self, True, sample(other))

    def __le__(self, other: Sample | float) -> Compared:
        return Compared(self, False, sample(other))


def sample(number: Sample | float) -> Sample:
    """Return a number as a sample that is the same for every seed, and has no words."""
    return number if isinstance(number, Sample) else Sample(float(number))


def pair_by_seed(of: Operation, left: Values, right: Values) -> Values:
    """Combine two numbers by the seeds of both; one column goes with each of several."""
    frames = [side for side in (left, right) if isinstance(side, pd.DataFrame)]
    seeds = reduce(pd.Index.intersection, (frame.index for frame in frames)) if frames else []
    sides = [
        side.loc[seeds].to_numpy() if isinstance(side, pd.DataFrame) else np.float64(side)
        for side in (left, right)
    ]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        values = of(*sides)
    return pd.DataFrame(values, index=seeds) if frames else float(values)


def combine(of: Operation, left: Sample, right: Sample) -> Sample:
    """Return the sum, difference, product or ratio; the difference of two accuracies is a gain in points."""
    if of is operator.sub and left.kind == right.kind in (ACCURACY, PUBLISHED):
        points = Sample(pair_by_seed(of, left.measured, right.measured))
        whole = f"{100 * points.seeds.iloc[0]:.0f}".replace("-", "−")
        words = numbers.percent(points) if left.kind == ACCURACY else whole
        combination = Sample(pair_by_seed(of, left.values, right.values), words, GAIN)
    else:
        kept = left if left.words else right
        combination = Sample(pair_by_seed(of, left.known, right.known), kept.words, kept.kind)
        combination.measured = kept.measured
        if left.words and right.words:
            ratio = numbers.three_digits(np.ravel(combination.values)).replace("inf", "∞")
            combination.words, combination.kind = f"{left.words} against {right.words}, ratio {ratio}", ""
    combination.sides = left, right
    return combination


def join_comparisons(samples: Iterable[Sample], words: str) -> Sample:
    """Return several comparisons as one statement, of the seeds that all have."""
    columns = [part.values if isinstance(part.values, pd.DataFrame) else part.seeds for part in samples]
    frame = pd.concat(columns, axis="columns", join="inner")
    return Sample(frame.set_axis(range(frame.shape[1]), axis="columns"), words)


class Compared(NamedTuple):
    """Two samples, and which side is claimed to be the larger one."""

    left: Sample
    at_least: bool
    right: Sample

    @property
    def margins(self) -> np.ndarray:
        """By seed, how far the left side is on the claimed side of the right one: [seeds], or [seeds, k]."""

        def further(left: Any, right: Any) -> Any:
            # What nothing closes is not closed by a missing number either; of two infinite ones NaN.
            return np.where(np.isposinf(right) & np.isnan(left), -np.inf, left - right)

        values = pair_by_seed(further, self.left.known, self.right.known)
        margins = np.atleast_1d(np.asarray(values, dtype=float))
        margins = margins[:, 0] if margins.ndim == 2 and margins.shape[1] == 1 else margins
        return margins if self.at_least else -margins

    @property
    def seeds(self) -> pd.DataFrame:
        """The measured numbers of both sides, by seed; of accuracies also the gain, a fraction."""
        sides: dict[str, Any] = {
            name: side.measured.iloc[:, 0] if isinstance(side.measured, pd.DataFrame) else side.measured
            for name, side in (("left", self.left), ("right", self.right))
            if side.words
        }
        several = any(isinstance(side, pd.Series) for side in sides.values())
        frame = pd.DataFrame(sides, index=None if several else [0]).reindex(columns=["left", "right"])
        frame = frame.rename_axis("seed").reset_index()
        kinds = self.left.kind, self.right.kind
        gain = frame["left"] - frame["right"] if kinds == (ACCURACY, ACCURACY) else np.nan
        return frame.assign(gain=frame["left"] if GAIN in kinds[:1] else gain)

    @property
    def words(self) -> str:
        """Both measured numbers in words; of two ε the smaller one first."""
        left, _, right = self
        if not (left.words and right.words):
            only = left if left.words else right
            return SIDE_UNITS.get(only.kind, "{}").format(only.words)
        first, second = (right, left) if self.at_least and left.kind in (EPSILON, GROWTH) else (left, right)
        return SIDE_UNITS.get(left.kind if left.kind == right.kind else "", "{}").format(
            against_text(first, second)
        )


def against_text(left: Sample, right: Sample) -> str:
    """Return one number against another; of two accuracies, also how much more accurate the first is.

    What the line itself says has no words.
    """
    if not right.words:
        return left.words
    gained = left.kind == right.kind == ACCURACY
    return f"{left.words} against {right.words}" + f", gain {(left - right).words} points" * gained
