"""Checks that read the cells of tables: accuracies within budgets, and what their runs spent in all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from fedpriv.errors import require_known
from fedpriv.frozen import Frozen
from fedpriv.paper.spends import Choice, SpendChoice
from fedpriv.report.cells import epsilon, percent
from fedpriv.report.check import Case
from fedpriv.report.rows import Row, Rows
from fedpriv.report.table_check import TableCheck, name_of, printed

if TYPE_CHECKING:
    import pandas as pd

    from fedpriv.report.check import Measured


def accuracy(frame: pd.DataFrame, table: Rows, row: Row, column: str) -> pd.Series:
    """Return by seed the accuracy of a cell; NaN where no round is within its budgets."""
    from fedpriv.report.reading import reading

    return reading(frame, table.cell(row, column)).loc[:, "accuracy"]


def gain(frame: pd.DataFrame, table: Rows, row: Row, of: str, over: str) -> pd.Series:
    """Return by seed how much more accurate column `of` is than column `over`."""
    return accuracy(frame, table, row, of) - accuracy(frame, table, row, over)


class PublishedAccuracy(TableCheck):
    """The accuracy of a column reaches what was published, as far as its rounding shows."""

    name: Literal["published_accuracy"] = "published_accuracy"
    column: str
    tolerance: float = 0.005  # half of the last printed digit

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def sentence(self) -> str:
        return f"accuracy in column {self.column} ≥ published − {100 * self.tolerance:g} points"

    def validate_row(self, where: str, table: Rows, row: Row) -> None:
        printed(where, table, row, self.column)

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        published = table.cell(row, self.column).published
        assert published is not None
        found = accuracy(frame, table, row, self.column)
        return found - published + self.tolerance, f"{percent(found)} % against {100 * published:.0f} %"


class AccuracyGain(TableCheck):
    """One column is more accurate than another, or less by no more than is allowed, paired by seed."""

    name: Literal["accuracy_gain"] = "accuracy_gain"
    of: str
    over: str
    at_least: float = 0.0

    def columns(self) -> tuple[str, ...]:
        return self.of, self.over

    def sentence(self) -> str:
        return f"accuracy of {self.of} − {self.over} ≥ {points(self.at_least)} points, paired by seed"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        found = gain(frame, table, row, self.of, self.over)
        return found - self.at_least, f"gain {percent(found)} points"


def points(share: float) -> str:
    """Return a share in percent, with a true minus sign."""
    return f"{100 * share:g}".replace("-", "−")


class At(Frozen):
    """One row, by its table, its published clients and, where those do not tell it apart, its label."""

    table: str
    clients: PositiveInt
    label: str = ""

    def rows(self, table: Rows) -> list[Row]:
        chosen = (row for row in table.rows if row.clients == self.clients)
        return [row for row in chosen if self.label in ("", row.key)]


class LargestGain(TableCheck):
    """The gain of one cell exceeds the gain of every other cell, paired by seed."""

    name: Literal["largest_gain"] = "largest_gain"
    of: str
    over: str
    at: At

    def columns(self) -> tuple[str, ...]:
        return self.of, self.over

    def sentence(self) -> str:
        here = f"{self.at.table}, {self.at.label or f'N = {self.at.clients:,}'}"
        return f"gain of {self.of} over {self.over} at {here} ≥ the gain elsewhere, paired by seed"

    def validate_names(self, where: str, tables: Mapping[str, Rows], runs: Iterable[str]) -> None:
        require_known(f"{where}: at.table", [self.at.table], self.tables)
        require_known(f"{where}: tables", self.tables, tables)
        rows = tables[self.at.table].rows
        require_known(f"{where}: at.clients", [self.at.clients], (row.clients for row in rows))
        # Without a label the clients must tell one row from the others.
        only = len(self.at.rows(tables[self.at.table])) == 1
        require_known(
            f"{where}: at.label", [self.at.label], [self.at.label] if only else [row.key for row in rows]
        )
        super().validate_names(where, tables, runs)

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        table = tables[self.at.table]
        (best,) = self.at.rows(table)
        runs, spends = self.reads(table, best)
        for other_table, other in self.rows(tables):
            if other == best and other_table == table:
                continue
            more_runs, more_spends = self.reads(other_table, other)
            measure = partial(self.difference, here=(table, best), there=(other_table, other))
            name = name_of(other_table, other)
            yield Case(name, (*runs, *more_runs), (*spends, *more_spends), measure)

    def difference(self, frame: pd.DataFrame, here: tuple[Rows, Row], there: tuple[Rows, Row]) -> Measured:
        """Return by how much the gain here exceeds that elsewhere."""
        best, other = (gain(frame, *place, self.of, self.over) for place in (here, there))
        return best - other, f"gain {percent(best)} against {percent(other)} points"


class LessEpsilon(TableCheck):
    """At the last round, one way of accounting gives a smaller ε than another, from the same run."""

    name: Literal["less_epsilon"] = "less_epsilon"
    spend: SpendChoice
    than: SpendChoice
    at_least: float = 0.0
    column: str = ""  # whose run is meant, where the columns of a row are runs of their own

    def spends(self, table: Rows, row: Row) -> tuple[tuple[str, Choice], ...]:
        run = row.private()[self.column]
        return (run, self.spend), (run, self.than)

    def sentence(self) -> str:
        by = f" by {self.at_least:g}" if self.at_least else ""
        return f"ε ({self.spend}) < ε ({self.than}){by} at the last round{of_column(self.column)}"

    def validate_row(self, where: str, table: Rows, row: Row) -> None:
        require_known(f"{where}: column", [self.column], row.private())

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        from fedpriv.report.reading import epsilon_at

        run = row.private()[self.column]
        less, more = epsilon_at(frame, run, self.spend), epsilon_at(frame, run, self.than)
        return more - less - self.at_least, f"ε {epsilon(less)} against {epsilon(more)}"


def of_column(column: str) -> str:
    """Return the words that name the column whose run is read."""
    return f" of column {column}" if column else ""


class EpsilonBelow(TableCheck):
    """At the last round, ε is below a number."""

    name: Literal["epsilon_below"] = "epsilon_below"
    spend: SpendChoice
    below: PositiveFloat
    column: str = ""  # whose run is meant, where the columns of a row are runs of their own

    def spends(self, table: Rows, row: Row) -> tuple[tuple[str, Choice], ...]:
        return ((row.private()[self.column], self.spend),)

    def sentence(self) -> str:
        return f"ε ({self.spend}) < {self.below:g} at the last round{of_column(self.column)}"

    def validate_row(self, where: str, table: Rows, row: Row) -> None:
        require_known(f"{where}: column", [self.column], row.private())

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        from fedpriv.report.reading import epsilon_at

        found = epsilon_at(frame, row.private()[self.column], self.spend)
        return self.below - found, f"ε {epsilon(found)}"


class OutOfReach(TableCheck):
    """Within a small ε the published accuracy of a column is not reached."""

    name: Literal["out_of_reach"] = "out_of_reach"
    spend: SpendChoice
    epsilon: PositiveFloat
    column: str

    def spends(self, table: Rows, row: Row) -> tuple[tuple[str, Choice], ...]:
        return ((row.private()[self.column], self.spend),)

    def sentence(self) -> str:
        return f"accuracy within ε = {self.epsilon:g} ({self.spend}) < published accuracy of {self.column}"

    def validate_row(self, where: str, table: Rows, row: Row) -> None:
        require_known(f"{where}: column", [self.column], (name for name in row.private() if name))
        printed(where, table, row, self.column)

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        from fedpriv.report.reading import within

        cell = table.cell(row, self.column)
        assert cell.published is not None
        found = within(frame, cell.run, (self.spend, self.epsilon)).loc[:, "accuracy"]
        # No round within ε at all is out of reach as well.
        return cell.published - found.fillna(0.0), f"{percent(found)} % within ε = {self.epsilon:g}"


class ShareOfGap(TableCheck):
    """A column closes a share of the gap in accuracy between a lower and a higher one, paired by seed."""

    name: Literal["share_of_gap"] = "share_of_gap"
    of: str
    low: str
    high: str
    at_least: float = 0.5

    def columns(self) -> tuple[str, ...]:
        return self.of, self.low, self.high

    def sentence(self) -> str:
        share = f"{points(self.at_least)} % of that from {self.low} to {self.high}"
        return f"gain in accuracy from {self.low} to {self.of} ≥ {share}, paired by seed"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        gap = gain(frame, table, row, self.high, self.low)
        closed = gain(frame, table, row, self.of, self.low)
        measured = f"{percent(closed)} of {percent(gap)} points"
        # A gap that is not there cannot be closed.
        return (closed - self.at_least * gap).where(gap > 0, -np.inf), measured


class AccuracyBelow(TableCheck):
    """A column fails to learn: its accuracy stays below a number."""

    name: Literal["accuracy_below"] = "accuracy_below"
    column: str
    below: PositiveFloat

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def sentence(self) -> str:
        return f"accuracy in column {self.column} ≤ {points(self.below)} %"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> Measured:
        found = accuracy(frame, table, row, self.column)
        # Where not even one round is affordable, nothing is learnt.
        return self.below - found.fillna(0.0), f"{percent(found)} %"
