"""Checks whose cases are the rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field, PositiveInt

from fedpriv.errors import BadInput, require_known
from fedpriv.paper.spends import Choice
from fedpriv.report.check import Case, Check
from fedpriv.report.rows import Row, Rows

if TYPE_CHECKING:
    import pandas as pd

    from fedpriv.report.check import Measured


class TableCheck(Check):
    """Which rows of which tables are judged."""

    tables: tuple[str, ...] = Field(min_length=1)
    clients: tuple[PositiveInt, ...] = ()  # the rows with so many published clients; all by default
    labels: tuple[str, ...] = ()  # the rows so labelled; all by default

    def columns(self) -> tuple[str, ...]:
        """Return the columns whose accuracies are read."""
        return ()

    def spends(self, table: Rows, row: Row) -> tuple[tuple[str, Choice], ...]:
        """Return the ε, each with its run, that are read apart from those of the columns."""
        return ()

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        """Return the margins by seed of one row, and its measured numbers in words."""
        raise NotImplementedError

    def validate_row(self, where: str, table: Rows, row: Row) -> None:
        """Raise BadInput if the row lacks what the check needs."""

    def validate_names(self, where: str, tables: Mapping[str, Rows], runs: Iterable[str]) -> None:
        require_known(f"{where}: tables", self.tables, tables)
        rows = [row for name in self.tables for row in tables[name].rows]
        require_known(f"{where}: clients", self.clients, (row.clients for row in rows))
        require_known(f"{where}: labels", self.labels, (row.key for row in rows))
        for name in self.tables:
            require_known(f"{where}: column of {name}", self.columns(), tables[name].labels)
        for table, row in self.rows(tables):
            self.validate_row(f"{where}: {name_of(table, row)}", table, row)
        if not any(True for _ in self.rows(tables)):
            raise BadInput(f"{where}: found no row with these clients and labels, allowed: at least one")
        super().validate_names(where, tables, runs)

    def rows(self, tables: Mapping[str, Rows]) -> Iterator[tuple[Rows, Row]]:
        """Yield the rows to be judged, in the order of the tables."""
        for name in self.tables:
            for row in tables[name].rows:
                chosen = not self.clients or row.clients in self.clients
                if chosen and (not self.labels or row.key in self.labels):
                    yield tables[name], row

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for table, row in self.rows(tables):
            measure = partial(self.measure, table=table, row=row)
            yield Case(name_of(table, row), *self.reads(table, row), measure)

    def reads(self, table: Rows, row: Row) -> tuple[tuple[str, ...], tuple[tuple[str, Choice], ...]]:
        """Return the runs, and the ε of them, without which a row cannot be judged."""
        cells = [table.cell(row, name) for name in self.columns()]
        spends = [(cell.run, spend) for cell in cells for spend, _ in cell.budgets]
        spends += self.spends(table, row)
        runs = dict.fromkeys([cell.run for cell in cells] + [run for run, _ in spends])
        return tuple(runs), tuple(dict.fromkeys(spends))


def name_of(table: Rows, row: Row) -> str:
    """Return how a row is cited."""
    return f"{table.place}, {row.cited}"


def printed(where: str, table: Rows, row: Row, column: str) -> None:
    """Raise BadInput if the paper has no accuracy for a column of a row."""
    there = [name for name in table.labels if table.cell(row, name).published is not None]
    require_known(f"{where}: column with a published accuracy", [column], there)
