"""How a claim is checked: the cases that it names become margins, one a seed.

A margin of at least zero means that the claim holds there; `fedpriv.report.claims` makes verdicts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fedpriv.errors import require_known
from fedpriv.frozen import Frozen
from fedpriv.paper.spends import Choice
from fedpriv.report.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

    Measured = tuple[pd.Series, str]  # margins by seed, and the measured numbers in words


class Outcome(NamedTuple):
    """What one case says: margins by seed, and the measured numbers in words.

    No margins: not run. A margin of NaN, where a run has diverged, holds nothing.
    """

    cell: str
    margins: np.ndarray | None
    measured: str


class Case(NamedTuple):
    """One thing that is judged: how it is cited, what it reads, and how it is measured.

    Without any one of the runs, or of the ε of a run, that it reads, it counts as not run.
    """

    name: str
    runs: tuple[str, ...]
    spends: tuple[tuple[str, Choice], ...]
    measure: Callable[[pd.DataFrame], Measured]


class Check(Frozen):
    """Which cases are judged, and whether the claim wants every one of them or some."""

    name: str
    needs: Literal["every", "some"] = "every"

    def sentence(self) -> str:
        """Return what is tested, in words."""
        raise NotImplementedError

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        """Yield what is judged, in the order in which it is declared."""
        raise NotImplementedError

    def validate_names(self, where: str, tables: Mapping[str, Rows], runs: Iterable[str]) -> None:
        """Raise BadInput if something is named that is not declared: a run, table, column or row."""
        require_known(f"{where}: runs", (run for case in self.cases(tables) for run in case.runs), runs)

    def outcomes(self, frame: pd.DataFrame, tables: Mapping[str, Rows]) -> Iterator[Outcome]:
        """Yield one outcome a case."""
        from fedpriv.report.reading import diverged, present, spent

        for case in self.cases(tables):
            if not all(present(frame, run) for run in case.runs):
                yield Outcome(case.name, None, "not run")
                continue
            uncounted = [spend for run, spend in case.spends if spent(frame, run, spend).empty]
            if uncounted:
                yield Outcome(case.name, None, f"no ε ({uncounted[0]}) in the ledger")
                continue
            if gone := [run for run in case.runs if len(diverged(frame, run))]:
                yield Outcome(case.name, np.array([np.nan]), f"{gone[0]} diverged")
                continue
            margins, measured = case.measure(frame)
            yield Outcome(case.name, margins.to_numpy(float), measured)
