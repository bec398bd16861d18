"""What a claim says of every case: margins by seed, above zero where it holds."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fedpriv.paper.arithmetic import COLUMN, FUNCTIONS, PRIVATE, Call, Term, terms
from fedpriv.paper.cells import AccuracyTable, Cell
from fedpriv.paper.claims import Case, Claim
from fedpriv.paper.spends import SpendSelector
from fedpriv.report.claims.values import (
    EPSILON,
    GAIN,
    GROWTH,
    Known,
    Value,
    accuracy_of,
    against,
    together,
    value,
)
from fedpriv.report.claims.yardstick import CUT, NOT_RUN, SUBSTITUTE, UNDECIDED, above
from fedpriv.report.notes import replaced
from fedpriv.report.reading import diverged, reading, spent
from fedpriv.report.results import Results, rows_of
from fedpriv.report.stability import unstable

UNITS = {GAIN: "gain {} points", EPSILON: "ε {}"}  # of what is measured


class Outcome(NamedTuple):
    """What one case says: its margins, and the measured numbers in words.

    Margins are [seeds], or [seeds, comparisons] where all of several comparisons must hold. `instead` is
    what stands in place of a decision: not run, not judged, or undecided whatever the margins are.
    """

    cell: str
    margins: np.ndarray | None
    measured: str
    instead: str = ""


class Side(NamedTuple):
    """One side of a claim in one case: its term, and what names stand for there."""

    term: Term
    cells: Mapping[str, Cell]

    @property
    def calls(self) -> list[Call]:
        return [*terms(self.term, Call)]

    def named(self, *kinds: str) -> list[tuple[Call, Cell]]:
        """Return the cells whose names must be of one of `kinds`, each with the call that names it."""
        return [(call, self.cells[name]) for call in self.calls for name in call.of(*kinds)]

    @property
    def spends(self) -> list[tuple[str, SpendSelector]]:
        """Return the ε, each with its run, without which it cannot be read."""
        budgets = [(cell.run, spend) for _, cell in self.named(COLUMN) for spend, _ in cell.budgets]
        return budgets + [(cell.run, call.spend) for call, cell in self.named(PRIVATE)]

    @property
    def accuracies(self) -> list[tuple[Call, Cell]]:
        """Return the accuracies that were measured for it."""
        return [(call, cell) for call, cell in self.named(COLUMN) if FUNCTIONS[call.function].of_accuracies]


def outcomes(results: Results, claim: Claim, tables: Mapping[str, AccuracyTable]) -> Iterator[Outcome]:
    """Yield one outcome a case.

    Not run is one that lacks a run, or the ε of a run, that it reads; not judged one of accuracies on data
    that stand in for the paper's, and what a paper claims of a run that the preset has cut. Where nothing was
    learned, or an accuracy within a budget is unstable, a comparison of accuracies is undecided.
    """
    for case in claim.judged(tables):
        yield Outcome(case.name, *outcome(results, claim, case))


def outcome(results: Results, claim: Claim, case: Case) -> tuple[np.ndarray | None, str, str]:
    """Return the margins of a case, what was measured, and what stands in place of a decision."""
    term, at_least, other = claim.comparison
    sides = Side(term, case.left), Side(other, case.right)
    runs = [cell.run for side in sides for _, cell in side.named(COLUMN, PRIVATE)]
    if not all(map(results.has, runs)):
        return None, NOT_RUN, NOT_RUN
    spends = [spend for side in sides for spend in side.spends]
    if uncounted := [spend for run, spend in spends if spent(results, run, spend).empty]:
        return None, f"no ε ({uncounted[0]}) in the ledger", NOT_RUN
    called = {call.function for call in claim.calls}
    others = replaced(rows_of(results.runs, *runs))
    if others and any(FUNCTIONS[name].of_accuracies for name in called):
        said = NOT_RUN if "published" in called else "not judged"
        return None, f"{said}, {', '.join(others)}", SUBSTITUTE
    if gone := [run for run in runs if len(diverged(results, run))]:
        return None, f"{gone[0]} diverged", UNDECIDED
    cut = any(results.fact(run, "cut") for run in runs) and ("published" in called or not claim.ours)
    left, right = (value(side.term, Known(results, side.cells, case.numbers)) for side in sides)
    found, told = margins(left, at_least, right), measured(left, at_least, right)
    if cut:
        return found, told, CUT
    if why := shaky(results, sides):
        return found, f"{told}, {why}", UNDECIDED
    return (found, told, "") if learned(results, sides) else (found, f"{told}, nothing learned", UNDECIDED)


def margins(left: Value, at_least: bool, right: Value) -> np.ndarray:
    """Return by seed how far the left side is on the claimed side of the right one."""
    apart = np.asarray(together(further, left.known, right.known), dtype=float)
    apart = apart[:, 0] if apart.ndim == 2 and apart.shape[1] == 1 else np.atleast_1d(apart)
    return apart if at_least else -apart


def further(left: Any, right: Any) -> Any:
    """Return how much larger one number is; what nothing closes is not closed by a missing number either."""
    with np.errstate(invalid="ignore"):  # of two infinite ones neither is larger: NaN
        return np.where(np.isposinf(right) & np.isnan(left), -np.inf, left - right)


def measured(left: Value, at_least: bool, right: Value) -> str:
    """Return what was measured; of two ε the smaller one first."""
    if not (left.text and right.text):
        found = left if left.text else right
        return UNITS.get(found.kind, "{}").format(found.text)
    turned = at_least and left.kind in (EPSILON, GROWTH)
    first, second = (right, left) if turned else (left, right)
    both = first.kind if first.kind == second.kind else ""
    return UNITS.get(both, "{}").format(against(first, second))


def learned(results: Results, sides: tuple[Side, Side]) -> bool:
    """Return whether in every comparison of accuracies one is above the share of the largest class."""
    found = [[better(results, call, cell) for call, cell in side.accuracies] for side in sides]
    if max(map(len, found)) < 2:  # an accuracy and an accuracy, or one and a number
        found = [found[0] + found[1]]
    return all(any(side) for side in found if len(side) > 1)


def better(results: Results, call: Call, cell: Cell) -> bool:
    """Return whether an accuracy is above the share of the largest class, where that is known."""
    largest = results.fact(cell.run, "majority")
    return above(accuracy_of(results, cell, call.measure), largest)


def shaky(results: Results, sides: tuple[Side, Side]) -> str:
    """Return why an accuracy that is read within a budget says nothing of its run, or the empty string."""
    for _, cell in (one for side in sides for one in side.accuracies):
        if cell.within and (why := unstable(results, cell.run, reading(results, cell))):
            return f"{cell.run} {why}"
    return ""
