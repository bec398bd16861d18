"""What a check says of every case: margins by seed, above zero where the claim holds."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedpriv.paper.cells import AccuracyTable, Cell
from fedpriv.paper.claims import Case, Check
from fedpriv.paper.quantities import Accuracy, AccuracyWithin, Number, Published, Quantity, Share
from fedpriv.report.claims.quantities import READ, Read, Values, accuracy_of
from fedpriv.report.claims.words import in_order, measured
from fedpriv.report.claims.yardstick import NOT_JUDGED, NOT_RUN, UNDECIDED, above
from fedpriv.report.notes import replaced
from fedpriv.report.reading import diverged, reading, rows_of, shared_seeds, spent
from fedpriv.report.stability import unstable


class Outcome(NamedTuple):
    """What one case says: its margins, and the measured numbers in words.

    Margins are [seeds], or [seeds, comparisons] where all of several comparisons must hold. `instead` is
    what stands in place of a decision: not run, not judged, or undecided whatever the margins are.
    """

    cell: str
    margins: np.ndarray | None
    measured: str
    instead: str = ""


def outcomes(frame: pd.DataFrame, check: Check, tables: Mapping[str, AccuracyTable]) -> Iterator[Outcome]:
    """Yield one outcome a case.

    Not run is one that lacks a run, or the ε of a run, that it reads; not judged one of accuracies on data
    that stand in for the paper's. Where nothing was learned, or an accuracy within a budget is unstable, a
    comparison of accuracies is undecided.
    """
    for case in check.judged(tables):
        sides = in_order(check, (check.that, case.that), (check.other, case.other))
        runs = [run for quantity, cells in sides for run in quantity.runs(cells)]
        spends = [spend for quantity, cells in sides for spend in quantity.spends(cells)]
        used = pd.concat([rows_of(frame, run).iloc[:1] for run in runs])  # a row of each that was run
        if len(used) < len(runs):
            yield Outcome(case.name, None, NOT_RUN, NOT_RUN)
        elif uncounted := [spend for run, spend in spends if spent(frame, run, spend).empty]:
            yield Outcome(case.name, None, f"no ε ({uncounted[0]}) in the ledger", NOT_RUN)
        elif check.of_accuracies and (others := replaced(used)):
            published = any(isinstance(quantity, Published) for quantity, _ in sides)
            said = f"{NOT_RUN if published else 'not judged'}, {', '.join(others)}"
            yield Outcome(case.name, None, said, NOT_JUDGED)
        elif gone := [run for run in runs if len(diverged(frame, run))]:
            yield Outcome(case.name, None, f"{gone[0]} diverged", UNDECIDED)
        else:
            that, other = read(frame, case, check.that, case.that), read(frame, case, check.other, case.other)
            found = margins(check, that.values, other.values, case.number(check.plus))
            told = measured(check, that, other)
            if why := shaky(frame, check, case):
                yield Outcome(case.name, found, f"{told}, {why}", UNDECIDED)
            elif learned(frame, check, case):
                yield Outcome(case.name, found, told)
            else:
                yield Outcome(case.name, found, f"{told}, nothing learned", UNDECIDED)


def read(frame: pd.DataFrame, case: Case, quantity: Quantity, cells: Mapping[str, Cell]) -> Read:
    """Return a number of a case, where names stand for `cells`; one that is given is not printed."""
    if isinstance(quantity, Number):
        return Read(case.number(quantity.number), "")
    return READ[quantity.name()](frame, cells, quantity)


def margins(check: Check, that: Values, other: Values, plus: float) -> np.ndarray:
    """Return by seed how far `that` is on the claimed side; with `times`, the logarithm of the ratio.

    What is on the one side of `at_least` is as far on the other of `at_most`. An equality is two comparisons:
    neither number is larger than the other by the margin.
    """
    that, other = affordable(check.that, that), affordable(check.other, other)
    if isinstance(that, pd.Series | pd.DataFrame) and isinstance(other, pd.Series | pd.DataFrame):
        seeds = shared_seeds(that, other)
        that, other = that.loc[seeds], other.loc[seeds]
    if check.times is not None:
        with np.errstate(divide="ignore", invalid="ignore"):  # of two infinite ones neither is larger: NaN
            apart = np.atleast_1d(np.log(that) - np.log(check.times * other + plus))
    else:
        apart = np.atleast_1d(that - other - plus)
    if check.margin is not None:
        return np.column_stack([apart + check.margin, check.margin - apart])
    # A gap that is not there is not closed by a missing accuracy either.
    gone = isinstance(check.other, Share) & ~np.isfinite(other)
    return np.where(gone, -np.inf, apart if check.at_least else -apart)


def affordable(quantity: Quantity, values: Values) -> Values:
    """Return an accuracy by seed; where not even one round is affordable, nothing is learned."""
    if isinstance(values, pd.Series) and isinstance(quantity, Accuracy | AccuracyWithin):
        return values.fillna(0.0)
    return values


def learned(frame: pd.DataFrame, check: Check, case: Case) -> bool:
    """Return whether in every comparison of accuracies one is above the share of the largest class."""
    sides = (check.that, case.that), (check.other, case.other)
    found = [
        [better(frame, quantity, cell) for cell in quantity.compared(cells)] for quantity, cells in sides
    ]
    if max(map(len, found)) < 2:  # an accuracy and an accuracy, or one and a number
        found = [found[0] + found[1]]
    return all(any(side) for side in found if len(side) > 1)


def shaky(frame: pd.DataFrame, check: Check, case: Case) -> str:
    """Return why an accuracy that is read within a budget says nothing of its run, or the empty string."""
    for quantity, cells in ((check.that, case.that), (check.other, case.other)):
        for cell in quantity.compared(cells):
            if cell.within and (why := unstable(frame, cell.run, reading(frame, cell))):
                return f"{cell.run} {why}"
    return ""


def better(frame: pd.DataFrame, quantity: Quantity, cell: Cell) -> bool:
    """Return whether an accuracy is above the share of the largest class, where that is known."""
    largest = rows_of(frame, cell.run)["majority"].iloc[0]
    return above(accuracy_of(frame, cell, getattr(quantity, "measure", "last")), largest)
