"""What a paper's YAML may declare about its tables and figures; torch-free and free of pandas.

Every class knows the runs that it reads, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.frozen import Frozen
from fedpriv.report.spends import SpendChoice

Accuracy = Annotated[float, Field(ge=0, le=1)]
Delta = Annotated[float, Field(gt=0, lt=1)]


class TableSpec(Frozen):
    """What every table says of itself."""

    kind: str
    title: str
    place: str = ""

    def runs(self) -> Iterator[str]:
        """Return the names of the runs that it reads."""
        raise NotImplementedError


class Column(Frozen):
    """A column of accuracies, read at the last evaluated round whose ε, counted as `spend`, is affordable."""

    label: str
    spend: SpendChoice


class Published(Frozen):
    """What the paper prints for one cell: an accuracy and the (ε, δ) it cost."""

    accuracy: Accuracy
    epsilon: PositiveFloat
    delta: Delta


class Baseline(Frozen):
    """The run without privacy that a row is compared with, and its published accuracy."""

    run: str
    accuracy: Accuracy


class Row(Frozen):
    """One setting: a baseline run and a private run, with the published value of every column."""

    clients: PositiveInt
    baseline: Baseline
    run: str
    published: dict[str, Published]


class Rows(TableSpec):
    """Settings beside published values; what the tables of a client-privacy experiment share."""

    columns: dict[str, Column]
    rows: tuple[Row, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _same_columns(self) -> "Rows":
        for row in self.rows:
            if set(row.published) != set(self.columns):
                raise PydanticCustomError(
                    "choice",
                    "rows.published: found {found} at {clients} clients, allowed: {allowed}",
                    {
                        "found": ", ".join(row.published) or "nothing",
                        "clients": row.clients,
                        "allowed": "exactly the columns " + ", ".join(self.columns),
                    },
                )
        return self

    def runs(self) -> Iterator[str]:
        for row in self.rows:
            yield from (row.baseline.run, row.run)


class BudgetTable(Rows):
    """Accuracy within a budget, the paper's layout: clients, baseline, accuracies, (ε, δ) of every column."""

    kind: Literal["budget"] = "budget"


class SpendsTable(Rows):
    """The companion of a budget table: every ε of `spends` at the rounds at which that table was read."""

    kind: Literal["spends"] = "spends"
    spends: tuple[SpendChoice, ...] = Field(min_length=1)


class Limit(Frozen):
    """A budget that a ranking reads accuracies at."""

    label: str
    spend: SpendChoice
    epsilon: PositiveFloat


class RankingTable(TableSpec):
    """Runs that match a glob, best first: their config values, and their accuracy within each budget."""

    kind: Literal["ranking"] = "ranking"
    match: str
    keys: tuple[str, ...]  # dotted paths into the run's config
    budgets: tuple[Limit, ...] = ()

    def runs(self) -> Iterator[str]:
        return iter(())


class Line(Frozen):
    """A run drawn as a line."""

    run: str
    label: str


class Mark(Frozen):
    """A published value, drawn as a thin labelled line across."""

    label: str
    value: float


class Exhausted(Limit):
    """The round at which a run has spent a budget, drawn as a line down."""

    run: str


class CurvePanel(Frozen):
    title: str
    lines: tuple[Line, ...]
    published: tuple[Mark, ...] = ()
    budgets: tuple[Exhausted, ...] = ()


class EpsilonPanel(Frozen):
    title: str
    run: str
    spends: tuple[SpendChoice, ...]
    published: tuple[Mark, ...] = ()


class FigureSpec(Frozen):
    """What every figure says of itself."""

    kind: str
    title: str
    place: str = ""

    def runs(self) -> Iterator[str]:
        """Return the names of the runs that it draws."""
        raise NotImplementedError


class CurvesFigure(FigureSpec):
    """Accuracy against round, a band for the interval over seeds."""

    kind: Literal["curves"] = "curves"
    panels: tuple[CurvePanel, ...] = Field(min_length=1)

    def runs(self) -> Iterator[str]:
        for panel in self.panels:
            yield from (line.run for line in panel.lines)
            yield from (budget.run for budget in panel.budgets)


class EpsilonsFigure(FigureSpec):
    """Every ε against round: guarantees solid, estimates dashed."""

    kind: Literal["epsilons"] = "epsilons"
    panels: tuple[EpsilonPanel, ...] = Field(min_length=1)

    def runs(self) -> Iterator[str]:
        return (panel.run for panel in self.panels)


TABLES: dict[str, type[TableSpec]] = {"budget": BudgetTable, "spends": SpendsTable, "ranking": RankingTable}
FIGURES: dict[str, type[FigureSpec]] = {"curves": CurvesFigure, "epsilons": EpsilonsFigure}
