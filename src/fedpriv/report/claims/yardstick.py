"""The one yardstick of claims and of published numbers: what an interval decides.

What is tested *holds* where the whole 95 % interval over seeds is on the claimed side of the threshold,
*fails* where the whole of it is on the other, and is *undecided* where the threshold is in it or there is no
interval. So whatever decides a statement decides its negation, the other way round.
"""

from collections.abc import Iterable

import numpy as np

from fedpriv.report.numbers import Interval, interval

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_RUN, NOT_JUDGED = "not run", "not judged"
SUBSTITUTE, CUT = f"{NOT_JUDGED}: substitute data", f"{NOT_JUDGED}: cut by the preset"
ONE_SEED = "one seed"
ANOTHER_NETWORK = "another network"  # of a baseline that others are held against
REACHED = {HOLDS: "reached", FAILS: "not reached", UNDECIDED: UNDECIDED}  # of a published accuracy
STANDING = (
    "A cell holds if the whole 95 % Student-t interval over seeds of what is tested is on the claimed side, "
    "fails if the whole of it is on the other, and is undecided if the threshold is in it. One seed has no "
    "interval. Where several comparisons make one statement all must hold, and one that fails makes it fail. "
    "A run that diverged decides nothing, nor does an unstable accuracy, nor a comparison of accuracies none "
    "of which is above the share of the largest class."
)
LAST_DIGIT = 0.005  # half of it: published accuracies are whole percents
ROUNDING = 1e-12  # of float arithmetic


def decided(found: Interval, threshold: float = 0.0) -> str:
    """Return which side of the threshold an interval is on: above it holds, below it fails."""
    if found.low > threshold + ROUNDING:
        return HOLDS
    return FAILS if found.high < threshold - ROUNDING else UNDECIDED


def reached(found: Interval, published: float, numbers: int = 1) -> str:
    """Return whether a published accuracy is reached, up to its last digit, as a claim would be judged.

    A difference of two published ones has the last digits of both `numbers`.
    """
    alone = f" ({ONE_SEED})" if found.n == 1 else ""
    return REACHED[decided(found, published - numbers * LAST_DIGIT)] + alone


def outcome(verdict: str) -> str:
    """Return what a verdict on a published accuracy comes to, without its reason."""
    return verdict.partition(":")[0].partition(" (")[0]


def standing(margins: np.ndarray) -> str:
    """Return what margins [seeds], or [seeds, comparisons] that must all hold, decide."""
    found = {comparison_verdict(column) for column in np.atleast_2d(margins.T)}
    return next(one for one in (FAILS, UNDECIDED, HOLDS) if one in found)


def comparison_verdict(margins: np.ndarray) -> str:
    """Return what the margins of one comparison decide; infinite ones have no interval but may all agree."""
    if len(margins) > 1 and np.isinf(margins).any():
        return HOLDS if np.isposinf(margins).all() else FAILS if np.isneginf(margins).all() else UNDECIDED
    return decided(interval(margins))


def above(accuracy: Iterable[float], largest: float) -> bool:
    """Return whether something was learned: an accuracy that is above the share of the largest class.

    One seed is believed here, and so is any accuracy where that share is not known (NaN).
    """
    found = interval(accuracy)
    least = found.mean if found.n == 1 else found.low
    return bool(np.isnan(largest) or least > largest + ROUNDING)
