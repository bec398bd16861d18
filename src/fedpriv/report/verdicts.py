"""The words of every verdict, how many of them there are, and what many make: free of numpy and pandas.

>>> verdict_counts(["reached", "reached (one seed)", "not judged: substitute data"])
{'reached': 2, 'not judged (substitute data)': 1}
"""

from collections import Counter
from collections.abc import Iterable, Mapping

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


def verdict_alone(verdict: str) -> str:
    """Verdict on a published number, without its reason."""
    return verdict.partition(":")[0].partition(" (")[0]


def verdict_counts(verdicts: Iterable[str]) -> dict[str, int]:
    """Return how many published numbers are reached, and of the others how many have which verdict.

    An unverified number is as good as not published, and not counted.
    """
    baselines = "baselines of another network"
    counts = Counter[str]()
    for verdict in (verdict for verdict in verdicts if verdict != UNVERIFIED):
        alone, why = verdict_alone(verdict), verdict.partition(": ")[2]
        known = {ANOTHER_NETWORK: baselines, NOT_JUDGED: f"{NOT_JUDGED} ({why})"}
        counts[known.get(alone, alone)] += 1
    unjudged = sorted(word for word in counts if word.startswith(NOT_JUDGED))
    order = dict.fromkeys((*REACHED.values(), UNSTABLE, baselines, *unjudged, NOT_RUN, *counts))
    return {word: counts[word] for word in order if counts[word]}


def counts_text(counts: Mapping[str, int]) -> str:
    """Return in words how many there are of each verdict."""
    return ", ".join(f"{many} {verdict}" for verdict, many in counts.items())


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
CLAIM_COUNTS = ("cells", "decided", *COUNTS.values())  # of a claim, by column of claims.csv


def claim_verdict(counts: Mapping[str, int], some: bool = False, one_statement: bool = False) -> str:
    """Verdict on a claim of so many cells by `COUNTS`, as `OUTCOMES` defines it.

    It is of `some` cell, or `one_statement` of all: what is the largest is larger than every other.
    """
    hold, fail, undecided = (counts[name] for name in ("hold", "fail", "undecided"))
    if not any((hold, fail, undecided)):
        return NOT_JUDGED if counts["not_judged"] else NOT_RUN
    if some:
        return REPRODUCED if hold else UNDECIDED if undecided else NOT_REPRODUCED
    if one_statement:
        every = REPRODUCED if hold == sum(counts.values()) else UNDECIDED
        return NOT_REPRODUCED if fail else every
    decided = {(True, True): PARTLY, (True, False): REPRODUCED, (False, True): NOT_REPRODUCED}
    return decided.get((hold > 0, fail > 0), UNDECIDED)
