"""What an interval decides, and the words of every verdict.

What is tested *holds* where the whole 95 % interval over seeds is on the claimed side of the threshold,
*fails* where the whole of it is on the other, and is *undecided* where the threshold is in it or there is
no interval. So whatever decides a statement decides its negation, the other way round.

    >>> decision(Interval(mean=0.02, low=0.01, high=0.03, n=5))
    'holds'
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from fedpriv.report.numbers import Interval, interval

UNSTABLE = "unstable"  # of an accuracy that says nothing of its run, and then the reason
HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_RUN, NOT_JUDGED = "not run", "not judged"
SUBSTITUTE, CUT = f"{NOT_JUDGED}: substitute data", f"{NOT_JUDGED}: cut by the preset"
UNVERIFIED = f"{NOT_JUDGED}: unverified"  # a published number that nobody has read in the paper
ONE_SEED = "one seed"
ANOTHER_NETWORK = "another network"  # of a baseline that others are held against
REACHED = {HOLDS: "reached", FAILS: "not reached", UNDECIDED: UNDECIDED}  # of a published number
STANDING = (
    "A cell holds if the whole 95 % Student-t interval over seeds of what is tested is on the claimed side, "
    "fails if the whole of it is on the other, and is undecided if the threshold is in it. One seed has no "
    "interval. Where several comparisons make one statement all must hold, and one that fails makes it fail. "
    "A run that diverged decides nothing, nor does an unstable accuracy, nor a comparison of accuracies none "
    "of which is above the share of the largest class."
)
NORMAL = 1.96  # standard deviations: 95 % of a normal distribution
ROUNDING = 1e-12  # of float arithmetic


def decision(margin: Interval, threshold: float = 0.0) -> str:
    """Side of the threshold on which an interval is: above it holds, below it fails."""
    if margin.low > threshold + ROUNDING:
        return HOLDS
    return FAILS if margin.high < threshold - ROUNDING else UNDECIDED


def reach_verdict(
    ours: Interval, published: float, last_digit: float, std: float = 0.0, less: bool = False
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


def verdict_alone(verdict: str) -> str:
    """Verdict on a published number, without its reason."""
    return verdict.partition(":")[0].partition(" (")[0]


def verdict_counts(verdicts: Iterable[str]) -> str:
    """Return the counts of the published numbers that are reached, and of the others by verdict."""
    baselines = "baselines of another network"
    counts = Counter[str]()
    for verdict in verdicts:
        alone, why = verdict_alone(verdict), verdict.partition(": ")[2]
        known = {ANOTHER_NETWORK: baselines, NOT_JUDGED: f"{NOT_JUDGED} ({why})"}
        counts[known.get(alone, alone)] += 1
    unjudged = sorted(word for word in counts if word.startswith(NOT_JUDGED))
    order = dict.fromkeys((*REACHED.values(), UNSTABLE, baselines, *unjudged, NOT_RUN, *counts))
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])


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


def is_unstable(status: object) -> bool:
    """Return True for the status of an unstable number."""
    return str(status).startswith(UNSTABLE)


PARTLY, REPRODUCED, NOT_REPRODUCED = "partly", "reproduced", "not reproduced"
UNSOUND = "interpretation unsound"
OUTCOMES = {
    REPRODUCED: "every cell that decides holds, and at least one does (a claim about some cell: one holds)",
    PARTLY: "some cells hold and some fail",
    NOT_REPRODUCED: "every cell that decides fails, and at least one does (what is one statement: one fails)",
    UNDECIDED: "cells were run, and none decides",
    NOT_JUDGED: "substitute data, a run that the preset has cut, a published number that nobody has verified "
    "and a size that was not searched decide nothing about the paper",
    NOT_RUN: "no cell was run",
}
SOUNDNESS = {UNSOUND: "what was observed is true, what is made of it does not follow; the reason is given"}
COUNTS = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NOT_JUDGED: "not_judged", NOT_RUN: "not_run"}


def claim_verdict(counts: Mapping[str, int], some: bool = False, one_statement: bool = False) -> str:
    """Verdict on a claim of so many cells by `COUNTS`, as `OUTCOMES` defines it.

    It is of `some` cell, or `one_statement` of all: what is the largest is larger than every other.
    """
    hold, fail, undecided = (counts[name] for name in ("hold", "fail", "undecided"))
    decided = {(True, True): PARTLY, (True, False): REPRODUCED, (False, True): NOT_REPRODUCED}
    if some and (hold or undecided):
        return REPRODUCED if hold else UNDECIDED
    if one_statement and fail:
        return NOT_REPRODUCED
    if one_statement and 0 < hold < sum(counts.values()):
        return UNDECIDED
    if hold or fail:
        return decided[hold > 0, fail > 0]
    if undecided:
        return UNDECIDED
    return NOT_JUDGED if counts["not_judged"] else NOT_RUN
