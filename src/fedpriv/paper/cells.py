"""Settings beside published values: all that tables, checks and comparisons ask of an accuracy.

A cell answers three questions: which run is read, within which ε, and what accuracy was published. A table
knows the runs that it reads, so that a misspelt run is an error before anything is computed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from fedpriv.frozen import Count, Delta, Fraction, Frozen, Label, Positive, alone, choice_error
from fedpriv.paper.arithmetic import RUN, Caption
from fedpriv.paper.spends import SpendInWords, SpendSelector

BASELINE = "baseline"  # the column that is the end of the baseline run
Unit = Literal["client", "instance"]


class Rendered(Frozen):
    """What every table and every figure says of itself."""

    kind: str
    title: str
    """After the place."""
    place: str = ""
    """In the paper, as `Table II`; of what it does not print, `ours`."""
    caption: Caption = ""
    """What it is, how to read it, what to doubt; `{accuracy(RUN)}` and such stand for what is measured."""

    @property
    def theirs(self) -> str:
        """Return the place in the paper that it stands for; empty where it is ours."""
        return "" if self.place.startswith("ours") else self.place

    def runs(self) -> Iterator[str]:
        """Return the names of the runs that it reads."""
        raise NotImplementedError

    def reads(self, there: Iterable[str]) -> Iterator[str]:
        """Return the names of the runs that it reads where these are `there`."""
        return self.runs()


class TableSpec(Rendered):
    """A table of any kind."""


def titled(declared: Rendered) -> str:
    """Return the title, after the place in the paper that the table or figure stands for."""
    place = declared.theirs
    return f"{place[0].upper()}{place[1:]}. {declared.title}" if place else declared.title


class EpsilonBudget(NamedTuple):
    """An ε that must not be exceeded where a cell is read; `unit` is empty where a table has one ε only."""

    unit: str
    spend: SpendSelector
    epsilon: float
    delta: float


class Cell(NamedTuple):
    """A run, read at its last evaluated round within all budgets; without any, at the last evaluated one."""

    run: str
    within: tuple[EpsilonBudget, ...] = ()
    published: float | None = None  # accuracy; None: no such number in the paper
    published_round: int | None = None
    free: tuple[str, ...] = ()  # the units whose ε is 0, for the run saw no private data

    @property
    def budgets(self) -> list[tuple[SpendSelector, float]]:
        return [(budget.spend, budget.epsilon) for budget in self.within]


class Baseline(Frozen):
    """The run without privacy that a row is compared with, and its published accuracy."""

    run: str
    """Without privacy, read at its last round."""
    accuracy: Fraction
    """Published."""


class Budget(Frozen):
    """An (ε, δ) that may be spent."""

    epsilon: Positive
    """Of the unit; not exceeded where a cell is read."""
    delta: Delta
    """At which that ε is counted."""


class Published(Frozen):
    """What the paper prints for one cell: an accuracy, the (ε, δ) it cost if that is its own, and when."""

    accuracy: Fraction
    """As printed."""
    epsilon: Positive | None = None
    """Of the printed (ε, δ)."""
    delta: Delta | None = None
    """Of the printed (ε, δ)."""
    round: Count | None = None
    """At which the accuracy was reached, if that is printed."""


PublishedCell = Annotated[Published, alone("accuracy", Fraction | Published)]


class Column(Frozen):
    """A column of accuracies: within the ε that each cell publishes, the row's budgets, or at the end."""

    label: str
    """Above the column."""
    spend: SpendInWords | None = None
    """How the published ε of each cell is counted."""
    within: str = ""
    """The column whose published ε that is; by default its own."""
    spends: dict[Unit, SpendInWords] = {}
    """By unit, how the row's budgets are counted."""

    @model_validator(mode="after")
    def _units(self) -> "Column":
        if self.spend and self.spends:
            raise choice_error(self.label, ["spend", "spends"], "one of them, or none")
        if self.within and not self.spend:
            raise choice_error(self.label, ["within"], "within with spend")
        for unit, spend in self.spends.items():
            if (unit == "instance") != (spend.accounting in ("sequential", "parallel")):
                of = (
                    "sequential or parallel"
                    if unit == "instance"
                    else "sized, drawn, sum, upload or no accounting"
                )
                raise choice_error(f"spends.{unit}", [str(spend)], f"a spend with {of}")
        return self

    def by_unit(self) -> Mapping[str, SpendSelector]:
        """Return how the ε are counted that it is read within; none: it is read at the last round."""
        return {"": self.spend} if self.spend else {**self.spends}


class Row(Frozen):
    """One setting: a private run for all columns but those with their own, and a baseline if there is one."""

    clients: Count
    """Of the row's runs."""
    label: Label = ""
    """By default a row is called by its clients."""
    baseline: Baseline | None = None
    """The row's run without privacy."""
    own_baseline: bool = False
    """Whether another network than the paper's ran: accuracies are then held against its own baseline."""
    free: bool = False
    """Whether its runs learn from public data alone: they are read at their last round, and their ε is 0."""
    run: str = ""
    """Of all columns that are not in `runs`."""
    runs: dict[str, str] = {}
    """By column."""
    published: dict[str, PublishedCell] = {}
    """By column; those without a published accuracy are ours."""
    budgets: dict[Unit, Budget] = {}
    """By unit, of all columns."""

    @property
    def key(self) -> int | str:
        """Return what tells the row from the others of its table."""
        return self.label or self.clients

    @property
    def cited(self) -> str:
        """Return how the row is cited."""
        return self.label or f"N = {self.clients:,}"

    def private_runs(self) -> Mapping[str, str]:
        """Return the private run of every column; if columns share one, that as `RUN` too."""
        return (dict.fromkeys((RUN, *self.published), self.run) if self.run else {}) | self.runs


class AccuracyTable(TableSpec):
    """Accuracies in the paper's layout, published under reproduced, and what the runs had spent by then."""

    kind: Literal["accuracy"] = "accuracy"
    heading: str = "Clients"
    """Of what tells rows apart."""
    columns: dict[str, Column] = Field(min_length=1)
    """Name -> what stands below it."""
    rows: tuple[Row, ...] = Field(min_length=1)
    """From top to bottom."""
    searched: Count | None = None
    """Candidates among which private data chose what the private runs share."""

    @model_validator(mode="after")
    def _complete(self) -> "AccuracyTable":
        """Raise the error that names what is missing, or too much, in a row."""
        names = ", ".join(self.columns)
        units = dict.fromkeys(unit for column in self.columns.values() for unit in column.spends)
        for row in self.rows:
            of = f"of {row.cited}"
            if not row.run and set(row.runs) != set(self.columns):
                raise choice_error(f"rows.runs {of}", row.runs, f"run, or exactly the columns {names}")
            if row.run and not set(row.runs) < set(self.columns):
                raise choice_error(f"rows.runs {of}", row.runs, f"some of the columns {names}, beside run")
            if not set(row.published) <= set(self.columns):
                raise choice_error(f"rows.published {of}", row.published, f"some of the columns {names}")
            if row.own_baseline and not row.baseline:
                raise choice_error(f"rows.own_baseline {of}", [True], "true beside a baseline")
            if set(row.budgets) != set(units):
                allowed = f"exactly the spends of the columns, {', '.join(units) or 'none'}"
                raise choice_error(f"rows.budgets {of}", row.budgets, allowed)
            for name, column in self.columns.items():
                printed = row.published.get(name)
                found = printed.model_dump(exclude={"round"}, exclude_none=True) if printed else {}
                own = column.spend and not column.within and not row.free
                wanted = ["accuracy", "epsilon", "delta"] if own else ["accuracy"]
                if list(found) != wanted and (found or own):
                    raise choice_error(f"rows.published.{name} {of}", found, ", ".join(wanted))
        budgets = [name for name, column in self.columns.items() if column.spend and not column.within]
        for name, column in self.columns.items():
            if column.within and column.within not in budgets:
                allowed = f"a column with an ε of its own, {', '.join(budgets) or 'none'}"
                raise choice_error(f"columns.{name}.within", [column.within], allowed)
        keys = [str(row.key) for row in self.rows]  # as a CSV has them
        if len(set(keys)) < len(keys):
            raise choice_error("rows.label", keys, "every label once")
        return self

    @property
    def labels(self) -> dict[str, str]:
        """Return the label of every column of accuracies, the baseline first, if every row has one."""
        baseline = {BASELINE: "Baseline"} if all(row.baseline for row in self.rows) else {}
        return baseline | {name: column.label for name, column in self.columns.items()}

    def cell(self, row: Row, name: str) -> Cell:
        """Return the cell of column `name`."""
        if name == BASELINE and row.baseline:
            return Cell(row.baseline.run, published=row.baseline.accuracy)
        column, printed = self.columns[name], row.published.get(name)
        budgets: dict[str, Any] = {**row.budgets, "": row.published.get(column.within or name)}
        within = tuple(
            EpsilonBudget(unit, spend, budgets[unit].epsilon, budgets[unit].delta)
            for unit, spend in (column.by_unit() if not row.free else {}).items()
        )
        run, free = row.runs.get(name, row.run), tuple(column.by_unit()) if row.free else ()
        return Cell(run, within, printed and printed.accuracy, printed and printed.round, free)

    def runs(self) -> Iterator[str]:
        for row in self.rows:
            yield from dict.fromkeys(self.cell(row, name).run for name in self.labels)


def accuracy_tables(tables: Mapping[str, TableSpec]) -> dict[str, AccuracyTable]:
    """Return the tables that have cells, which a claim may be about."""
    return {name: table for name, table in tables.items() if isinstance(table, AccuracyTable)}
