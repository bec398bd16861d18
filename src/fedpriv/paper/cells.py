"""Settings beside published values: all that tables, checks and comparisons ask of an accuracy.

A cell answers three questions: which run is read, within which ε, and what accuracy was published. A table
knows the runs that it reads, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.frozen import Frozen
from fedpriv.paper.spends import Accuracy, Delta, SpendInWords, SpendSelector

BASELINE = "baseline"  # the column that is the end of the baseline run
Unit = Literal["client", "instance"]


def choice_error(where: str, found: Iterable[str], allowed: str) -> PydanticCustomError:
    """Return the error that says what was found at `where` and what is allowed there."""
    return PydanticCustomError(
        "choice",
        "{where}: found {found}, allowed: {allowed}",
        {"where": where, "found": ", ".join(found) or "nothing", "allowed": allowed},
    )


class TableSpec(Frozen):
    """What every table says of itself."""

    kind: str
    title: str
    place: str = ""

    def runs(self) -> Iterator[str]:
        """Return the names of the runs that it reads."""
        raise NotImplementedError


def titled(declared: TableSpec) -> str:
    """Return the title, after the place in the paper that the table stands for."""
    theirs = declared.place and not declared.place.startswith("ours")
    return f"{declared.place}. {declared.title}" if theirs else declared.title


class EpsilonBudget(NamedTuple):
    """An ε that must not be exceeded where a cell is read; `unit` is empty where a table has one ε only."""

    unit: str
    spend: SpendSelector
    epsilon: float
    delta: float


class Cell(NamedTuple):
    """A run, read at its last evaluated round within all budgets; without any, at the last evaluated one."""

    run: str
    within: tuple[EpsilonBudget, ...]
    published: float | None  # accuracy; None: no such number in the paper

    @property
    def budgets(self) -> list[tuple[SpendSelector, float]]:
        return [(budget.spend, budget.epsilon) for budget in self.within]


class Baseline(Frozen):
    """The run without privacy that a row is compared with, and its published accuracy."""

    run: str
    accuracy: Accuracy


class Budget(Frozen):
    """An (ε, δ) that may be spent."""

    epsilon: PositiveFloat
    delta: Delta


class Published(Frozen):
    """What the paper prints for one cell: an accuracy, and the (ε, δ) it cost if that is its own."""

    accuracy: Accuracy
    epsilon: PositiveFloat | None = None
    delta: Delta | None = None


def _alone(value: Any) -> Any:
    """Read a number alone as an accuracy."""
    return value if isinstance(value, dict | Published) else {"accuracy": value}


PublishedCell = Annotated[Published, BeforeValidator(_alone, json_schema_input_type=Accuracy | Published)]


class Column(Frozen):
    """A column of accuracies: within the ε that each cell publishes, the row's budgets, or at the end."""

    label: str
    spend: SpendInWords | None = None  # how the published ε of each cell is counted
    spends: dict[Unit, SpendInWords] = {}  # by unit, how the row's budgets are counted

    @model_validator(mode="after")
    def _units(self) -> "Column":
        if self.spend and self.spends:
            raise choice_error(self.label, ["spend", "spends"], "one of them, or none")
        for unit, spend in self.spends.items():
            if (unit == "instance") != (spend.accounting in ("sequential", "parallel")):
                of = "sequential or parallel" if unit == "instance" else "sum, upload or no accounting"
                raise choice_error(f"spends.{unit}", [str(spend)], f"a spend with {of}")
        return self

    def by_unit(self) -> Mapping[str, SpendSelector]:
        """Return how the ε are counted that it is read within; none: it is read at the last round."""
        return {"": self.spend} if self.spend else {**self.spends}


class Row(Frozen):
    """One setting: a private run for all columns, or one for each, beside a baseline run if there is one."""

    clients: PositiveInt
    label: str = ""  # by default a row is called by its clients
    baseline: Baseline | None = None
    run: str = ""  # of all columns
    runs: dict[str, str] = {}  # of every column
    published: dict[str, PublishedCell] = {}  # by column; those without a published accuracy are ours
    budgets: dict[Unit, Budget] = {}  # by unit, of all columns

    @property
    def key(self) -> int | str:
        """Return what tells the row from the others of its table."""
        return self.label or self.clients

    @property
    def cited(self) -> str:
        """Return how the row is cited."""
        return self.label or f"N = {self.clients:,}"

    def private_runs(self) -> Mapping[str, str]:
        """Return the private run of every column; under the empty name, the one run of all of them."""
        return self.runs or dict.fromkeys(("", *self.published), self.run)


class AccuracyTable(TableSpec):
    """Accuracies in the paper's layout, published under reproduced, and what the runs had spent by then."""

    kind: Literal["accuracy"] = "accuracy"
    heading: str = "Clients"  # of what tells rows apart
    columns: dict[str, Column] = Field(min_length=1)
    rows: tuple[Row, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self) -> "AccuracyTable":
        """Raise the error that names what is missing, or too much, in a row."""
        names = ", ".join(self.columns)
        units = dict.fromkeys(unit for column in self.columns.values() for unit in column.spends)
        for row in self.rows:
            of = f"of {row.cited}"
            if bool(row.run) == bool(row.runs):
                raise choice_error(f"rows.run {of}", filter(None, [row.run, *row.runs]), "run, or runs")
            if row.runs and set(row.runs) != set(self.columns):
                raise choice_error(f"rows.runs {of}", row.runs, f"exactly the columns {names}")
            if not set(row.published) <= set(self.columns):
                raise choice_error(f"rows.published {of}", row.published, f"some of the columns {names}")
            if set(row.budgets) != set(units):
                allowed = f"exactly the spends of the columns, {', '.join(units) or 'none'}"
                raise choice_error(f"rows.budgets {of}", row.budgets, allowed)
            for name, column in self.columns.items():
                found = row.published[name].model_dump(exclude_none=True) if name in row.published else {}
                wanted = ["accuracy", "epsilon", "delta"] if column.spend else ["accuracy"]
                if list(found) != wanted and (found or column.spend):
                    raise choice_error(f"rows.published.{name} {of}", found, ", ".join(wanted))
        keys = [row.key for row in self.rows]
        if len(set(keys)) < len(keys):
            raise choice_error("rows.label", map(str, keys), "every label once")
        return self

    @property
    def labels(self) -> dict[str, str]:
        """Return the label of every column of accuracies, the baseline first, if every row has one."""
        baseline = {BASELINE: "Baseline"} if all(row.baseline for row in self.rows) else {}
        return baseline | {name: column.label for name, column in self.columns.items()}

    def cell(self, row: Row, name: str) -> Cell:
        """Return the cell of column `name`."""
        if name == BASELINE and row.baseline:
            return Cell(row.baseline.run, (), row.baseline.accuracy)
        printed = row.published.get(name)
        budgets: dict[str, Any] = {**row.budgets, "": printed}
        within = tuple(
            EpsilonBudget(unit, spend, budgets[unit].epsilon, budgets[unit].delta)
            for unit, spend in self.columns[name].by_unit().items()
        )
        return Cell(row.runs.get(name, row.run), within, printed and printed.accuracy)

    def runs(self) -> Iterator[str]:
        for row in self.rows:
            yield from dict.fromkeys(self.cell(row, name).run for name in self.labels)


def with_cells(tables: Mapping[str, TableSpec]) -> dict[str, AccuracyTable]:
    """Return the tables that have cells, which a claim may be about."""
    return {name: table for name, table in tables.items() if isinstance(table, AccuracyTable)}
