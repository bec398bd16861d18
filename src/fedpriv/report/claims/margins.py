"""What a check says of every case: a margin for every seed, at least zero where the claim holds."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedpriv.paper.cells import AccuracyTable, Cell
from fedpriv.paper.claims import Case, Check
from fedpriv.paper.quantities import Accuracy, AccuracyWithin, Number, Quantity, Share
from fedpriv.report.claims.quantities import READ, Read, Values
from fedpriv.report.claims.words import in_order, measured
from fedpriv.report.reading import diverged, present, spent


class Outcome(NamedTuple):
    """What one case says: margins by seed, and the measured numbers in words.

    No margins: not run. A margin of NaN, where a run has diverged, holds nothing.
    """

    cell: str
    margins: np.ndarray | None
    measured: str


def outcomes(frame: pd.DataFrame, check: Check, tables: Mapping[str, AccuracyTable]) -> Iterator[Outcome]:
    """Yield one outcome a case; not run is one that lacks a run, or the ε of a run, that it reads."""
    for case in check.judged(tables):
        sides = in_order(check, (check.that, case.that), (check.other, case.other))
        runs = [run for quantity, cells in sides for run in quantity.runs(cells)]
        spends = [spend for quantity, cells in sides for spend in quantity.spends(cells)]
        if not all(present(frame, run) for run in runs):
            yield Outcome(case.name, None, "not run")
        elif uncounted := [spend for run, spend in spends if spent(frame, run, spend).empty]:
            yield Outcome(case.name, None, f"no ε ({uncounted[0]}) in the ledger")
        elif gone := [run for run in runs if len(diverged(frame, run))]:
            yield Outcome(case.name, np.array([np.nan]), f"{gone[0]} diverged")
        else:
            that, other = read(frame, case, check.that, case.that), read(frame, case, check.other, case.other)
            found = margins(check, that.values, other.values, case.number(check.plus))
            yield Outcome(case.name, found.to_numpy(float), measured(check, that, other))


def read(frame: pd.DataFrame, case: Case, quantity: Quantity, cells: Mapping[str, Cell]) -> Read:
    """Return a number of a case, where names stand for `cells`; one that is given is not printed."""
    if isinstance(quantity, Number):
        return Read(case.number(quantity.number), "")
    return READ[quantity.name()](frame, cells, quantity)


def margins(check: Check, that: Values, other: Values, plus: float) -> pd.Series:
    """Return by seed how far `that` is on the claimed side; with `times`, as a share of the larger number."""
    if check.at_least:
        other = learnt(check.other, other)
    else:
        that = learnt(check.that, that)
    if check.times is not None:
        limit = check.times * other + plus
        small, large = (limit, that) if check.at_least else (that, limit)
        # The larger one may be infinite; of two infinite ones neither is larger.
        return pd.Series(1 - small / large).fillna(-np.inf)
    margin = pd.Series(that - other - plus if check.at_least else other - that + plus)
    # A gap that is not there is not closed by a missing accuracy either.
    return margin.where(np.isfinite(other), -np.inf) if isinstance(check.other, Share) else margin


def learnt(quantity: Quantity, values: Values) -> Values:
    """Return what is to be small; where not even one round is affordable, nothing is learnt."""
    if isinstance(values, pd.Series) and isinstance(quantity, Accuracy | AccuracyWithin):
        return values.fillna(0.0)
    return values
