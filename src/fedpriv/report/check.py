"""How a claim is checked: the cells of the tables it names become margins, one a seed.

A margin of at least zero means that the claim holds there; `fedpriv.report.claims` makes verdicts of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field, PositiveInt

from fedpriv.errors import BadInput
from fedpriv.frozen import Frozen
from fedpriv.report.declared import Row, Rows

if TYPE_CHECKING:
    import pandas as pd


class Outcome(NamedTuple):
    """What one cell says: margins by seed, and the measured numbers in words. No margins: not run."""

    cell: str
    margins: np.ndarray | None
    measured: str


def name_of(table: Rows, row: Row) -> str:
    """Return how a cell is cited."""
    return f"{table.place}, N = {row.clients:,}"


def known(where: str, found: Iterable[object], allowed: Iterable[object]) -> None:
    """Raise BadInput naming the first of `found` that is not among `allowed`."""
    allowed = list(allowed)
    for one in found:
        if one not in allowed:
            raise BadInput(f"{where}: found {one}, allowed: {', '.join(map(str, allowed))}")


class Check(Frozen):
    """Which cells are judged, and whether the claim wants every one of them or some."""

    name: str
    tables: tuple[str, ...] = Field(min_length=1)
    clients: tuple[PositiveInt, ...] = ()  # the rows with so many published clients; all by default
    needs: Literal["every", "some"] = "every"

    def sentence(self) -> str:
        """Return what is tested, in words."""
        raise NotImplementedError

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> tuple[pd.Series, str]:
        """Return the margins by seed of one cell, and its measured numbers in words."""
        raise NotImplementedError

    def runs(self, row: Row) -> tuple[str, ...]:
        """Return the runs without which a cell counts as not run."""
        return (row.run,)

    def validate_cells(self, where: str, tables: Mapping[str, object]) -> None:
        """Raise BadInput if a table, number of clients or column is named that is not declared."""
        there = {name: table for name, table in tables.items() if isinstance(table, Rows)}
        known(f"{where}: tables", self.tables, there)
        known(f"{where}: clients", self.clients, (row.clients for _, row in self.rows(there, every=True)))
        columns = ["baseline", *(column for name in self.tables for column in there[name].columns)]
        known(f"{where}: column", self.columns(), columns)

    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        return ()

    def rows(self, tables: Mapping[str, Rows], every: bool = False) -> Iterator[tuple[Rows, Row]]:
        """Yield the cells to be judged, or every cell of the tables that are named."""
        for name in self.tables:
            for row in tables[name].rows:
                if every or not self.clients or row.clients in self.clients:
                    yield tables[name], row

    def outcomes(self, frame: pd.DataFrame, tables: Mapping[str, Rows]) -> Iterator[Outcome]:
        """Yield one outcome a cell, in the order of the tables."""
        there = set(frame["run"].unique())
        for table, row in self.rows(tables):
            if there.issuperset(self.runs(row)):
                margins, measured = self.measure(frame, table, row)
                yield Outcome(name_of(table, row), margins.to_numpy(float), measured)
            else:
                yield Outcome(name_of(table, row), None, "not run")
