"""What a paper's YAML may declare about its tables; torch-free and free of pandas.

Every class knows the runs that it reads, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field, PositiveFloat, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.frozen import Frozen
from fedpriv.paper.spends import Accuracy, Choice, Delta, SpendChoice
from fedpriv.report.rows import Column, Row, Rows, TableSpec


def wrong(where: str, found: Iterable[str], allowed: str) -> PydanticCustomError:
    """Return the error that says what was found at `where` and what is allowed there."""
    return PydanticCustomError(
        "choice",
        "{where}: found {found}, allowed: {allowed}",
        {"where": where, "found": ", ".join(found) or "nothing", "allowed": allowed},
    )


class BudgetColumn(Column):
    """A column of accuracies, read at the last evaluated round whose ε, counted as `spend`, is affordable."""

    spend: SpendChoice

    def by_unit(self) -> Mapping[str, Choice]:
        return {"": self.spend}


class Published(Frozen):
    """What the paper prints for one cell: an accuracy and the (ε, δ) it cost."""

    accuracy: Accuracy
    epsilon: PositiveFloat
    delta: Delta


class BudgetRow(Row):
    """One setting: a baseline run and a private run, with the published value of every column."""

    run: str
    published: dict[str, Published]

    def private(self) -> Mapping[str, str]:
        return dict.fromkeys(("", *self.published), self.run)

    def affords(self, column: str) -> Mapping[str, tuple[float, float]]:
        return {"": (self.published[column].epsilon, self.published[column].delta)}

    def prints(self, column: str) -> float | None:
        return self.published[column].accuracy


class BudgetRows(Rows):
    """Client privacy: all columns of a row read one run, each within a published budget of its own."""

    columns: dict[str, BudgetColumn]
    rows: tuple[BudgetRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _same_columns(self) -> "BudgetRows":
        for row in self.rows:
            if set(row.published) != set(self.columns):
                where = f"rows.published at {row.clients} clients"
                raise wrong(where, row.published, "exactly the columns " + ", ".join(self.columns))
        return self


class BudgetTable(BudgetRows):
    """Accuracy within a budget, the paper's layout: clients, baseline, accuracies, (ε, δ) of every column."""

    kind: Literal["budget"] = "budget"


class SpendsTable(BudgetRows):
    """The companion of a budget table: every ε of `spends` at the rounds at which that table was read."""

    kind: Literal["spends"] = "spends"
    spends: tuple[SpendChoice, ...] = Field(min_length=1)


Unit = Literal["client", "instance"]


class JointColumn(Column):
    """A column of accuracies, read at the last evaluated round at which every ε of `spends` is affordable."""

    spends: dict[Unit, SpendChoice] = Field(min_length=1)  # by unit: client, instance

    @model_validator(mode="after")
    def _units(self) -> "JointColumn":
        for unit, spend in self.spends.items():
            if (unit == "instance") != (spend.accounting in ("sequential", "parallel")):
                of = "sequential or parallel" if unit == "instance" else "sum, upload or no accounting"
                raise wrong(f"spends.{unit}", [str(spend)], f"a spend with {of}")
        return self

    def by_unit(self) -> Mapping[str, Choice]:
        return {**self.spends}


class Budget(Frozen):
    """An (ε, δ) that may be spent."""

    epsilon: PositiveFloat
    delta: Delta


class LabelledRow(Row):
    """One setting with a name of its own and a run for every column."""

    label: str
    runs: dict[str, str]
    published: dict[str, Accuracy] = {}  # columns without a published accuracy are ours

    @property
    def key(self) -> int | str:
        return self.label

    @property
    def cited(self) -> str:
        return self.label

    def private(self) -> Mapping[str, str]:
        return self.runs

    def affords(self, column: str) -> Mapping[str, tuple[float, float]]:
        return {}

    def prints(self, column: str) -> float | None:
        return self.published.get(column)


class JointRow(LabelledRow):
    """One setting: a run for every column, read within the budgets that all columns share."""

    budgets: dict[Unit, Budget]  # by unit: client, instance

    def affords(self, column: str) -> Mapping[str, tuple[float, float]]:
        return {unit: (budget.epsilon, budget.delta) for unit, budget in self.budgets.items()}


def check_labelled(columns: Collection[str], rows: Sequence[LabelledRow]) -> None:
    """Raise the error that names what is missing, or too much, among labels, runs and published values."""
    names = ", ".join(columns)
    for row in rows:
        if set(row.runs) != set(columns):
            raise wrong(f"rows.runs of {row.label}", row.runs, f"exactly the columns {names}")
        if not set(row.published) <= set(columns):
            raise wrong(f"rows.published of {row.label}", row.published, f"some of the columns {names}")
    labels = [row.label for row in rows]
    if len(set(labels)) < len(labels):
        raise wrong("rows.label", labels, "every label once")


class JointRows(Rows):
    """Privacy at both levels: every column of a row reads a run of its own, within budgets for both."""

    columns: dict[str, JointColumn] = Field(min_length=1)
    rows: tuple[JointRow, ...] = Field(min_length=1)

    @property
    def subject(self) -> str:
        return "Dataset"

    @model_validator(mode="after")
    def _complete(self) -> "JointRows":
        check_labelled(self.columns, self.rows)
        for row in self.rows:
            for name, column in self.columns.items():
                if set(row.budgets) != set(column.spends):
                    allowed = f"exactly the spends of column {name}, {', '.join(column.spends)}"
                    raise wrong(f"rows.budgets of {row.label}", row.budgets, allowed)
        return self


class JointTable(JointRows):
    """Accuracy at the last round within a client and an instance budget, and what both had spent by then."""

    kind: Literal["joint"] = "joint"


class JointSpendsTable(JointRows):
    """The companion of a joint table: every ε of `spends` at the rounds at which that table was read."""

    kind: Literal["joint_spends"] = "joint_spends"
    spends: tuple[SpendChoice, ...] = Field(min_length=1)


class GridTable(Rows):
    """Accuracy at the last round, a run in every cell, the published value under it."""

    kind: Literal["grid"] = "grid"
    heading: str  # of what tells rows apart
    columns: dict[str, Column] = Field(min_length=1)
    rows: tuple[LabelledRow, ...] = Field(min_length=1)

    @property
    def subject(self) -> str:
        return self.heading

    @model_validator(mode="after")
    def _complete(self) -> "GridTable":
        check_labelled(self.columns, self.rows)
        return self


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
