"""The sentence of a claim: of what was measured on either side, whatever numbers are added to it.

Of `accuracy(dp) >= published(dp) - 0.005` readers want the accuracy and the published one:

    >>> dp = Measured(Sample(0.869), "86.9 %", "accuracy")
    >>> paper = combine(operator.sub, Measured(Sample(0.87), "87 %", "published"), number(0.005))
    >>> sentence(dp, True, paper)
    '86.9 % against 87 %'
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.statement import attacker_accuracy
from fedpriv.report import numbers
from fedpriv.report.sample import Operation, Sample, join_comparisons

ACCURACY, PUBLISHED, GAIN, EPSILON, GROWTH = "accuracy", "published", "gain", "epsilon", "growth"
SIDE_UNITS = {GAIN: "gain {} points", EPSILON: "ε {}"}  # of both sides of a comparison


class Measured(NamedTuple):
    """A part of a claim: its numbers, and in words what was measured. A number that is given has no words."""

    sample: Sample
    words: str = ""
    kind: str = ""
    """The metric; nothing of two that are compared."""
    before: Sample | None = None
    """What was measured, before any number was added."""
    sides: tuple[Measured, Measured] | None = None
    """Of which it is the difference, sum, product or ratio."""

    @property
    def read(self) -> Sample:
        """What was measured."""
        return self.before or self.sample


def number(value: float) -> Measured:
    """Return a number that the claim itself says."""
    return Measured(Sample(float(value)))


def combine(operation: Operation, left: Measured, right: Measured) -> Measured:
    """Return the sum, difference, product or ratio; the difference of two accuracies is a gain in points."""
    values: Sample = operation(left.sample, right.sample)
    if operation is operator.sub and left.kind == right.kind in (ACCURACY, PUBLISHED):
        points = left.read - right.read
        whole = f"{100 * points.seeds.iloc[0]:.0f}".replace("-", "−")
        words = numbers.percent(points) if left.kind == ACCURACY else whole
        return Measured(values, words, GAIN, sides=(left, right))
    kept = left if left.words else right
    if left.words and right.words:
        ratio = numbers.three_digits(np.ravel(values.values)).replace("inf", "∞")
        words = f"{left.words} against {right.words}, ratio {ratio}"
        return Measured(values, words, "", kept.read, (left, right))
    return Measured(values, kept.words, kept.kind, kept.read, (left, right))


def lead(first: Measured, *others: Measured) -> Measured:
    """Gains of the first over each of the others."""
    words = f"{percents(first).removesuffix(' %')} against {percents(*others)}"
    return Measured(join_comparisons([first.sample - other.sample for other in others]), words)


def rise(*each: Measured) -> Measured:
    """Gains of each over the one before it."""
    gains = [after.sample - before.sample for before, after in pairwise(each)]
    return Measured(join_comparisons(gains), percents(*each))


def percents(*each: Measured) -> str:
    """Return accuracies in words, with their unit once."""
    words = ", ".join(measured.words.removesuffix(" %") for measured in each)
    return words + " %" * words[-1].isdigit()


def either_sign(difference: Measured) -> Measured:
    """Return two comparisons: that neither the number nor its negative is larger by so much."""
    words = against(*difference.sides) if difference.sides else difference.words
    return Measured(abs(difference.sample), words)


def attacker(epsilon: Measured) -> Measured:
    """Share of right guesses that an ε allows an attacker with a flat prior (BDP eq. 1)."""
    values = epsilon.sample.values
    if isinstance(values, pd.DataFrame):
        shares = values.map(attacker_accuracy)
    else:
        shares = float(attacker_accuracy(values))
    return Measured(Sample(shares), f"{100 * np.ravel(shares)[0]:.6g} %")


def against(left: Measured, right: Measured) -> str:
    """Return one number against another; of two accuracies, also how much more accurate the first is.

    What the line itself says has no words.
    """
    if not right.words:
        return left.words
    words = f"{left.words} against {right.words}"
    if left.kind == right.kind == ACCURACY:
        words += f", gain {combine(operator.sub, left, right).words} points"
    return words


def sentence(left: Measured, at_least: bool, right: Measured) -> str:
    """Return both sides of a claim in words; of two ε the smaller one first."""
    if not (left.words and right.words):
        only = left if left.words else right
        return SIDE_UNITS.get(only.kind, "{}").format(only.words)
    first, second = (right, left) if at_least and left.kind in (EPSILON, GROWTH) else (left, right)
    unit = SIDE_UNITS.get(left.kind if left.kind == right.kind else "", "{}")
    return unit.format(against(first, second))


def seeds_of(left: Measured, right: Measured) -> pd.DataFrame:
    """Return what was measured on either side, by seed; of accuracies also the gain, a fraction."""
    sides: dict[str, Any] = {
        name: side.read.values.iloc[:, 0] if isinstance(side.read.values, pd.DataFrame) else side.read.values
        for name, side in (("left", left), ("right", right))
        if side.words
    }
    several = any(isinstance(side, pd.Series) for side in sides.values())
    frame = pd.DataFrame(sides, index=None if several else [0]).reindex(columns=["left", "right"])
    frame = frame.rename_axis("seed").reset_index()
    gain = frame["left"] - frame["right"] if left.kind == right.kind == ACCURACY else np.nan
    return frame.assign(gain=frame["left"] if left.kind == GAIN else gain)
