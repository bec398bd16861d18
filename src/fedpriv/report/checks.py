"""The checks that a paper's YAML may name; to add one, write its class and its line at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat, PositiveInt

from fedpriv.frozen import Frozen
from fedpriv.report.cells import epsilon, percent
from fedpriv.report.check import Check, Outcome, known, name_of
from fedpriv.report.declared import Row, Rows
from fedpriv.report.spends import SpendChoice

if TYPE_CHECKING:
    import pandas as pd


class PublishedAccuracy(Check):
    """The accuracy of a column reaches what was published, as far as its rounding shows."""

    name: Literal["published_accuracy"] = "published_accuracy"
    column: str
    tolerance: float = 0.005  # half of the last printed digit

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def sentence(self) -> str:
        return f"accuracy in column {self.column} ≥ published − {100 * self.tolerance:g} points"

    def runs(self, row: Row) -> tuple[str, ...]:
        return (row.baseline.run if self.column == "baseline" else row.run,)

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> tuple[pd.Series, str]:
        from fedpriv.report.reading import column

        baseline = self.column == "baseline"
        published = row.baseline.accuracy if baseline else row.published[self.column].accuracy
        found = column(frame, table, row, self.column).loc[:, "accuracy"]
        return found - published + self.tolerance, f"{percent(found)} % against {100 * published:.0f} %"


def gain(frame: pd.DataFrame, table: Rows, row: Row, of: str, over: str) -> pd.Series:
    """Return by seed how much more accurate column `of` is than column `over`."""
    from fedpriv.report.reading import column

    of_accuracy, over_accuracy = (column(frame, table, row, name).loc[:, "accuracy"] for name in (of, over))
    return of_accuracy - over_accuracy


class AccuracyGain(Check):
    """One column is more accurate than another, paired by seed."""

    name: Literal["accuracy_gain"] = "accuracy_gain"
    of: str
    over: str
    at_least: float = 0.0

    def columns(self) -> tuple[str, ...]:
        return self.of, self.over

    def sentence(self) -> str:
        return f"accuracy of {self.of} − {self.over} ≥ {100 * self.at_least:g} points, paired by seed"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> tuple[pd.Series, str]:
        found = gain(frame, table, row, self.of, self.over)
        return found - self.at_least, f"gain {percent(found)} points"


class Cell(Frozen):
    """One cell by its table and its published number of clients."""

    table: str
    clients: PositiveInt


class LargestGain(Check):
    """The gain of one cell exceeds the gain of every other cell, paired by seed."""

    name: Literal["largest_gain"] = "largest_gain"
    of: str
    over: str
    at: Cell

    def columns(self) -> tuple[str, ...]:
        return self.of, self.over

    def validate_cells(self, where: str, tables: Mapping[str, object]) -> None:
        super().validate_cells(where, tables)
        known(f"{where}: at.table", [self.at.table], self.tables)
        at_table = tables[self.at.table]
        assert isinstance(at_table, Rows)
        known(f"{where}: at.clients", [self.at.clients], (row.clients for row in at_table.rows))

    def sentence(self) -> str:
        here = f"{self.at.table}, N = {self.at.clients:,}"
        return f"gain of {self.of} over {self.over} at {here} ≥ the gain elsewhere, paired by seed"

    def outcomes(self, frame: pd.DataFrame, tables: Mapping[str, Rows]) -> Iterator[Outcome]:
        there = set(frame["run"].unique())
        table = tables[self.at.table]
        best = next(row for row in table.rows if row.clients == self.at.clients)
        for other_table, other in self.rows(tables):
            if other == best and other_table == table:
                continue
            if not there.issuperset((best.run, other.run)):
                yield Outcome(name_of(other_table, other), None, "not run")
                continue
            here = gain(frame, table, best, self.of, self.over)
            elsewhere = gain(frame, other_table, other, self.of, self.over)
            measured = f"gain {percent(here)} against {percent(elsewhere)} points"
            yield Outcome(name_of(other_table, other), (here - elsewhere).to_numpy(float), measured)


class LessEpsilon(Check):
    """At the last round, one way of accounting gives a smaller ε than another, from the same run."""

    name: Literal["less_epsilon"] = "less_epsilon"
    spend: SpendChoice
    than: SpendChoice
    at_least: float = 0.0

    def sentence(self) -> str:
        by = f" by {self.at_least:g}" if self.at_least else ""
        return f"ε ({self.spend}) < ε ({self.than}){by} at the last round"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> tuple[pd.Series, str]:
        from fedpriv.report.reading import epsilon_at

        less, more = epsilon_at(frame, row.run, self.spend), epsilon_at(frame, row.run, self.than)
        return more - less - self.at_least, f"ε {epsilon(less)} against {epsilon(more)}"


class EpsilonBelow(Check):
    """At the last round, ε is below a number."""

    name: Literal["epsilon_below"] = "epsilon_below"
    spend: SpendChoice
    below: PositiveFloat

    def sentence(self) -> str:
        return f"ε ({self.spend}) < {self.below:g} at the last round"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> tuple[pd.Series, str]:
        from fedpriv.report.reading import epsilon_at

        found = epsilon_at(frame, row.run, self.spend)
        return self.below - found, f"ε {epsilon(found)}"


class OutOfReach(Check):
    """Within a small ε the published accuracy of a column is not reached."""

    name: Literal["out_of_reach"] = "out_of_reach"
    spend: SpendChoice
    epsilon: PositiveFloat
    column: str

    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def sentence(self) -> str:
        return f"accuracy within ε = {self.epsilon:g} ({self.spend}) < published accuracy of {self.column}"

    def measure(self, frame: pd.DataFrame, table: Rows, row: Row) -> tuple[pd.Series, str]:
        from fedpriv.report.reading import within

        found = within(frame, row.run, self.spend, self.epsilon).loc[:, "accuracy"]
        # No round within ε at all is out of reach as well.
        published = row.published[self.column].accuracy
        return published - found.fillna(0.0), f"{percent(found)} % within ε = {self.epsilon:g}"


CHECKS: dict[str, type[Check]] = {
    "published_accuracy": PublishedAccuracy,
    "accuracy_gain": AccuracyGain,
    "largest_gain": LargestGain,
    "less_epsilon": LessEpsilon,
    "epsilon_below": EpsilonBelow,
    "out_of_reach": OutOfReach,
}
