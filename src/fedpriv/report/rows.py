"""Settings beside published values: all that tidy tables, checks and comparisons ask of a table.

A cell answers three questions: which run is read, within which ε, and what accuracy was published.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import Field, PositiveInt

from fedpriv.frozen import Frozen
from fedpriv.paper.spends import Accuracy, Choice

BASELINE = "baseline"  # the column that is the end of the baseline run


class TableSpec(Frozen):
    """What every table says of itself."""

    kind: str
    title: str
    place: str = ""

    def runs(self) -> Iterator[str]:
        """Return the names of the runs that it reads."""
        raise NotImplementedError


class Cap(NamedTuple):
    """An ε that must not be exceeded where a cell is read; `unit` is empty where a table has one ε only."""

    unit: str
    spend: Choice
    epsilon: float
    delta: float


class Cell(NamedTuple):
    """A run, read at its last evaluated round within every cap; no caps: at its last evaluated round."""

    run: str
    caps: tuple[Cap, ...]
    published: float | None  # accuracy; None: no such number in the paper

    @property
    def budgets(self) -> list[tuple[Choice, float]]:
        return [(cap.spend, cap.epsilon) for cap in self.caps]


class Baseline(Frozen):
    """The run without privacy that a row is compared with, and its published accuracy."""

    run: str
    accuracy: Accuracy


class Column(Frozen):
    """A column of accuracies."""

    label: str

    def by_unit(self) -> Mapping[str, Choice]:
        """Return how the ε are counted that it is read within; none: it is read at the last round."""
        return {}


class Row(Frozen):
    """One setting: private runs, beside a baseline run if there is one."""

    clients: PositiveInt
    baseline: Baseline | None = None

    @property
    def key(self) -> int | str:
        """Return what tells the row from the others of its table."""
        return self.clients

    @property
    def cited(self) -> str:
        """Return how the row is cited."""
        return f"N = {self.clients:,}"

    def private(self) -> Mapping[str, str]:
        """Return the private run of every column; under the empty name, the one run of all of them."""
        raise NotImplementedError

    def affords(self, column: str) -> Mapping[str, tuple[float, float]]:
        """Return by unit the (ε, δ) that a column is read within."""
        raise NotImplementedError

    def prints(self, column: str) -> float | None:
        """Return the published accuracy of a column."""
        raise NotImplementedError


class Rows(TableSpec):
    """Rows and columns of cells; a subclass says what its rows and columns are made of."""

    columns: dict[str, Column]
    rows: tuple[Row, ...] = Field(min_length=1)

    @property
    def subject(self) -> str:
        """Return the heading of what tells rows apart."""
        return "Clients"

    @property
    def labels(self) -> dict[str, str]:
        """Return the label of every column of accuracies, the baseline first, if every row has one."""
        baseline = {BASELINE: "Baseline"} if all(row.baseline for row in self.rows) else {}
        return baseline | {name: column.label for name, column in self.columns.items()}

    def cell(self, row: Row, name: str) -> Cell:
        """Return the cell of column `name`."""
        if name == BASELINE and row.baseline:
            return Cell(row.baseline.run, (), row.baseline.accuracy)
        affords = row.affords(name)
        spends = self.columns[name].by_unit()
        caps = tuple(Cap(unit, spend, *affords[unit]) for unit, spend in spends.items())
        return Cell(row.private()[name], caps, row.prints(name))

    def runs(self) -> Iterator[str]:
        for row in self.rows:
            yield from dict.fromkeys(self.cell(row, name).run for name in self.labels)


def with_cells(tables: Mapping[str, TableSpec]) -> dict[str, Rows]:
    """Return the tables that have cells, which a claim may be about."""
    return {name: table for name, table in tables.items() if isinstance(table, Rows)}
