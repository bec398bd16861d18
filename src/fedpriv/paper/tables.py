"""The kinds of tables that a paper's YAML may declare; torch-free and free of pandas.

A cell answers three questions: which run is read, within which ε, and what accuracy was published. A
table knows the runs that it reads, so that a misspelt run is an error before anything is computed. Which
ε of a ledger is meant is declared in the same words by tables, figures and claims.
"""

import ast
import hashlib
import runpy
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, PrivateAttr, StringConstraints, WithJsonSchema, computed_field, model_validator

from fedpriv.errors import BadInput, plain
from fedpriv.frozen import (
    Count,
    Delta,
    Frozen,
    Label,
    OneOf,
    Positive,
    PositiveOrZero,
    choice_error,
    single_value,
)
from fedpriv.paper.arithmetic import Caption
from fedpriv.paper.epsilons import EpsilonSelector, SelectorInWords
from fedpriv.paper.metrics import COLUMNS, RUN
from fedpriv.trace import EVALUATED

BASELINE = "baseline"  # the column that is the end of the baseline run
BudgetUnit = Literal["client", "instance"]


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


class TableSpec(Rendered):
    """A table of any kind."""


def full_title(declared: Rendered) -> str:
    """Return the title, after the place in the paper that the table or figure stands for."""
    place = declared.theirs
    return f"{place[0].upper()}{place[1:]}. {declared.title}" if place else declared.title


def main_of_places(declared: Mapping[str, Rendered]) -> set[str]:
    """Return the names of what stands for a place in the paper: of several for one place the first."""
    first: dict[str, str] = {}
    for name, spec in declared.items():
        first.setdefault(spec.theirs, name)
    return {name for place, name in first.items() if place}


class EpsilonBudget(NamedTuple):
    """An ε that must not be exceeded where a cell is read; `unit` is empty where a table has one ε only."""

    unit: str
    selector: EpsilonSelector
    epsilon: float
    delta: float


class Cell(NamedTuple):
    """A run, read at its last evaluated round within all budgets; without any, at the last evaluated one."""

    run: str
    within: tuple[EpsilonBudget, ...] = ()
    published: float | None = None  # None: no such number in the paper
    published_round: int | None = None
    published_std: float | None = None
    free: tuple[str, ...] = ()  # the units whose ε is 0, for the run saw no private data
    metric: str = "accuracy"  # what is published
    not_judged: str = ""  # why the published number decides nothing

    @property
    def budgets(self) -> list[tuple[EpsilonSelector, float]]:
        return [(budget.selector, budget.epsilon) for budget in self.within]


class Baseline(Frozen):
    """The run without privacy that a row is compared with, and what is published of it."""

    run: str
    """Without privacy, read at its last round."""
    value: PositiveOrZero
    """Published, of the table's metric."""


class RowBudget(Frozen):
    """An (ε, δ) that may be spent."""

    epsilon: Positive
    """Of the unit; not exceeded where a cell is read."""
    delta: Delta
    """At which that ε is counted."""


class Published(Frozen):
    """What the paper prints for one cell: a number, the (ε, δ) it cost if that is its own, and when."""

    value: PositiveOrZero
    """As printed, of the table's metric."""
    epsilon: Positive | None = None
    """Of the printed (ε, δ)."""
    delta: Delta | None = None
    """Of the printed (ε, δ)."""
    round: Count | None = None
    """At which it was reached, if that is printed."""
    std: Positive | None = None
    """Over the paper's runs, if that is printed."""


PublishedCell = Annotated[Published, single_value("value", PositiveOrZero | Published)]


class AccuracyColumn(Frozen):
    """A column of accuracies: within the ε that each cell publishes, the row's budgets, or at the end."""

    label: str
    """Above the column."""
    accountant: SelectorInWords | None = None
    """How the published ε of each cell is counted."""
    within: str = ""
    """The column whose published ε that is; by default its own."""
    accountants: dict[BudgetUnit, SelectorInWords] = {}
    """By unit, how the row's budgets are counted."""

    @model_validator(mode="after")
    def _units(self) -> "AccuracyColumn":
        if self.accountant and self.accountants:
            raise choice_error(self.label, ["accountant", "accountants"], "one of them, or none")
        if self.within and not self.accountant:
            raise choice_error(self.label, ["within"], "within with accountant")
        for unit, selector in self.accountants.items():
            if (unit == "instance") != (selector.accounting in ("sequential", "parallel")):
                clients = "sized, drawn, sum, upload or no accounting"
                allowed = "sequential or parallel" if unit == "instance" else clients
                raise choice_error(f"accountants.{unit}", [str(selector)], f"an accountant with {allowed}")
        return self

    def by_unit(self) -> Mapping[str, EpsilonSelector]:
        """Ways of counting the ε that it is read within; none: it is read at the last round."""
        return {"": self.accountant} if self.accountant else {**self.accountants}


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
    not_judged: str = ""
    """Why its published numbers decide nothing, if they do: `unverified`, or `its size was not searched`."""
    free: bool = False
    """Whether its runs learn from public data alone: they are read at their last round, and their ε is 0."""
    run: str = ""
    """Of all columns that are not in `runs`."""
    runs: dict[str, str] = {}
    """By column."""
    published: dict[str, PublishedCell] = {}
    """By column; those without a published number are ours."""
    budgets: dict[BudgetUnit, RowBudget] = {}
    """By unit, of all columns."""

    @model_validator(mode="after")
    def _complete(self) -> "Row":
        if self.own_baseline and not self.baseline:
            raise choice_error(f"own_baseline of {self.cited}", [True], "true beside a baseline")
        return self

    @property
    def key(self) -> int | str:
        """Key of the row in its table."""
        return self.label or self.clients

    @property
    def cited(self) -> str:
        """Label by which the row is cited."""
        return self.label or f"N = {self.clients:,}"

    def private_runs(self) -> Mapping[str, str]:
        """Return the private run of every column; if columns share one, that as `RUN` too."""
        return (dict.fromkeys((RUN, *self.published), self.run) if self.run else {}) | self.runs


class AccuracyTable(TableSpec):
    """Accuracies in the paper's layout, published under reproduced, and what the runs had spent by then."""

    kind: Literal["accuracy"] = "accuracy"
    metric: Annotated[str, OneOf(EVALUATED)] = "accuracy"
    """What every cell reads, prints and publishes: accuracy, auroc and f1 as fractions."""
    heading: str = "Clients"
    """Of what tells rows apart."""
    columns: dict[str, AccuracyColumn] = Field(min_length=1)
    """Name -> what stands below it."""
    rows: tuple[Row, ...] = Field(min_length=1)
    """From top to bottom."""
    searched: Count | None = None
    """Candidates among which private data chose what the private runs share."""

    @model_validator(mode="after")
    def _complete(self) -> "AccuracyTable":
        """Raise the error that names what is missing, or too much."""
        units = dict.fromkeys(unit for column in self.columns.values() for unit in column.accountants)
        for row in self.rows:
            self._check_row(row, units)
        self._check_columns()
        keys = [str(row.key) for row in self.rows]  # as a CSV has them
        if len(set(keys)) < len(keys):
            raise choice_error("rows.label", keys, "every label once")
        return self

    def _check_columns(self) -> None:
        """Raise the error of a column that is read within the ε of one that has none of its own."""
        budgets = [name for name, column in self.columns.items() if column.accountant and not column.within]
        for name, column in self.columns.items():
            if column.within and column.within not in budgets:
                allowed = f"a column with an ε of its own, {', '.join(budgets) or 'none'}"
                raise choice_error(f"columns.{name}.within", [column.within], allowed)

    def _check_row(self, row: Row, units: Iterable[str]) -> None:
        """Raise the error of a row that lacks a run, a budget or a column, or has one too many."""
        names, of = ", ".join(self.columns), f"of {row.cited}"
        if not row.run and set(row.runs) != set(self.columns):
            raise choice_error(f"rows.runs {of}", row.runs, f"run, or exactly the columns {names}")
        if row.run and not set(row.runs) < set(self.columns):
            raise choice_error(f"rows.runs {of}", row.runs, f"some of the columns {names}, beside run")
        if set(row.budgets) != set(units):
            allowed = f"exactly the accountants of the columns, {', '.join(units) or 'none'}"
            raise choice_error(f"rows.budgets {of}", row.budgets, allowed)
        if not set(row.published) <= set(self.columns):
            raise choice_error(f"rows.published {of}", row.published, f"some of the columns {names}")
        for name in self.columns:
            self._check_published(row, name)
        self._check_fractions(row)

    def _check_fractions(self, row: Row) -> None:
        """Raise the error of a published number that is in percent."""
        values = [cell.value for cell in (*row.published.values(), *filter(None, [row.baseline]))]
        if large := [value for value in values if value > 1 and EVALUATED[self.metric].digits is None]:
            allowed = f"{self.metric} as a fraction, at most 1"
            raise choice_error(f"rows.published of {row.cited}", large, allowed)

    def _check_published(self, row: Row, name: str) -> None:
        """Raise the error of a published cell without its (ε, δ), or with one that is not its own."""
        column, printed = self.columns[name], row.published.get(name)
        keys = list(printed.model_dump(exclude={"round", "std"}, exclude_none=True)) if printed else []
        own = bool(column.accountant) and not column.within and not row.free
        needs = ["value", "epsilon", "delta"] if own else ["value"]
        if keys != needs and (keys or own):
            raise choice_error(f"rows.published.{name} of {row.cited}", keys, ", ".join(needs))

    @property
    def labels(self) -> dict[str, str]:
        """Return the label of every column of accuracies, the baseline first, if every row has one."""
        baseline = {BASELINE: "Baseline"} if all(row.baseline for row in self.rows) else {}
        return baseline | {name: column.label for name, column in self.columns.items()}

    def cell(self, row: Row, name: str) -> Cell:
        """Return the cell of column `name`."""
        if name == BASELINE and row.baseline:
            own = row.baseline
            return Cell(own.run, published=own.value, metric=self.metric, not_judged=row.not_judged)
        column, printed = self.columns[name], row.published.get(name)
        budgets: dict[str, Any] = {**row.budgets, "": row.published.get(column.within or name)}
        within = tuple(
            EpsilonBudget(unit, selector, budgets[unit].epsilon, budgets[unit].delta)
            for unit, selector in (column.by_unit() if not row.free else {}).items()
        )
        run, free = row.runs.get(name, row.run), tuple(column.by_unit()) if row.free else ()
        if not printed:
            return Cell(run, within, free=free)
        return Cell(run, within, printed.value, printed.round, printed.std, free, self.metric, row.not_judged)

    def runs(self) -> Iterator[str]:
        for row in self.rows:
            yield from dict.fromkeys(self.cell(row, name).run for name in self.labels)


def accuracy_tables(tables: Mapping[str, TableSpec]) -> dict[str, AccuracyTable]:
    """Return the tables that have cells, which a claim may be about."""
    return {name: table for name, table in tables.items() if isinstance(table, AccuracyTable)}


Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]\w*$", max_length=100)]


class Scripted(Rendered):
    """What a function of the paper's folder makes."""

    kind: Literal["python"] = "python"
    function: Identifier
    """In `tables.py` or `figures.py` beside the YAML."""
    _file: Path = PrivateAttr(Path())

    @computed_field
    @property
    def code(self) -> str:
        """Return the digest of the function's file: what was made by another is made again."""
        return hashlib.sha256(self._file.read_bytes()).hexdigest()[:8] if self._file.is_file() else ""

    def find(self, file: Path, where: str) -> None:
        """Take the function from a file; BadInput unless that defines it. Nothing of the file runs."""
        try:
            defined = ast.parse(file.read_bytes()).body
        except (OSError, SyntaxError, ValueError) as error:
            why = f"{type(error).__name__}: {plain(str(error))}"
            raise BadInput(f"{where}: found {file} ({why}), allowed: a file of Python") from None
        there = [statement.name for statement in defined if isinstance(statement, ast.FunctionDef)]
        if self.function not in there:
            known = ", ".join(there) or "none is there"
            raise BadInput(f"{where}.function: found {self.function}, allowed: {known} (of {file})")
        self._file = file

    def call(self, *args: Any) -> Any:
        """Return the result of the function; whatever goes wrong in it is BadInput that names its file."""
        try:
            return runpy.run_path(str(self._file))[self.function](*args)
        except (Exception, SystemExit) as error:  # somebody's code runs here
            why = f"{type(error).__name__}: {plain(' '.join(str(error).split()))}"
            raise BadInput(f"{self._file}: {self.function}: found {why}, allowed: to end") from error


class EpsilonsTable(TableSpec):
    """The companion of a table of accuracies: each ε of `accountants` at the rounds at which it was read."""

    kind: Literal["epsilons"] = "epsilons"
    of: Annotated[AccuracyTable, WithJsonSchema({"type": "string"})]
    """The name of a table of accuracies."""
    accountants: tuple[SelectorInWords, ...] = Field(min_length=1)
    """Which ε of every run."""

    def runs(self) -> Iterator[str]:
        return self.of.runs()


class LabelledRun(Frozen):
    """A run under the name that readers know it by."""

    run: str
    label: Label


Quantity = Annotated[str, OneOf(COLUMNS)]


class RunColumn(Frozen):
    """A number of every run, by its name; of an ε, and of an accuracy within one, how it is counted."""

    name: Quantity
    group: str = ""
    """What stands above the label; by default what the quantity says of itself."""
    label: str = ""
    """By default the quantity's own."""
    accountant: SelectorInWords | None = None
    """How its ε is counted."""
    within: Positive | None = None
    """The ε that is not exceeded where an accuracy is read."""

    @model_validator(mode="after")
    def _complete(self) -> "RunColumn":
        keys, needs = [name for name in ("accountant", "within") if getattr(self, name)], COLUMNS[self.name]
        if keys != sorted(needs):
            allowed = f"{self.name} with {', '.join(sorted(needs)) or 'nothing'}"
            raise choice_error(self.name, keys, allowed)
        return self


ColumnChoice = Annotated[RunColumn, single_value("name", Quantity | RunColumn)]


class RunsTable(TableSpec):
    """A line a run: those of `lines`, or those that `match` a glob; any number that can be read of it."""

    kind: Literal["runs"] = "runs"
    columns: tuple[ColumnChoice, ...] = Field(min_length=1)
    """From left to right; a name alone will do."""
    lines: tuple[LabelledRun, ...] = ()
    """From top to bottom."""
    match: str = ""
    """Glob of runs, instead of `lines`, which are then those of the paper that match."""
    reference: str = ""
    """The run that the others are held against: which config keys differ, and gains."""
    keys: tuple[str, ...] = ()
    """Dotted paths into the run's config, shown before the columns."""
    best_first: bool = False
    """In the order of the first column."""
    infinite: str = ""
    """What ∞ in a cell means."""

    @model_validator(mode="after")
    def _complete(self) -> "RunsTable":
        if bool(self.lines) == bool(self.match):
            raise choice_error("lines", [self.match] if self.match else [], "lines, or match")
        gains = [column.name for column in self.columns if column.name.startswith("gain")]
        if gains and not self.reference:
            raise choice_error("columns", gains, "these with a reference")
        return self

    def matched(self, runs: Iterable[str]) -> "RunsTable":
        """Return the table of a glob with lines: the reference and those of `runs` that match."""
        names = [self.reference, *(run for run in runs if fnmatchcase(run, self.match))]
        lines = tuple(LabelledRun(run=run, label=run) for run in dict.fromkeys(filter(None, names)))
        return self.model_copy(update={"lines": lines})

    def runs(self) -> Iterator[str]:
        yield from filter(None, [self.reference, *(line.run for line in self.lines)])


class AuditsTable(TableSpec):
    """Lower bounds beside what is stated: a line for every ε of a run that is audited."""

    kind: Literal["audits"] = "audits"
    lines: tuple[LabelledRun, ...] = Field(min_length=1)
    """Audited runs, from top to bottom."""

    def runs(self) -> Iterator[str]:
        return (line.run for line in self.lines)


class PythonTable(Scripted, TableSpec):
    """A table by a function of `tables.py`, `(results, declared, name) -> render.PrintedTable`."""

    lines: dict[str, str] = {}
    """A run that it reads -> what readers know it by."""

    def runs(self) -> Iterator[str]:
        yield from self.lines


TABLES: dict[str, type[TableSpec]] = {
    "accuracy": AccuracyTable,
    "epsilons": EpsilonsTable,
    "runs": RunsTable,
    "python": PythonTable,
    "audits": AuditsTable,
}


def resolve_tables(tables: Any, defaults: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return declared tables, each over its kind's `defaults`; where it is `of` another, with that in it.

    What is no mapping is left to the schema to refuse; a name that is not there is the error that says so.
    """
    if not isinstance(tables, Mapping):
        return tables
    whole: dict[Any, dict[str, Any]] = {
        name: {**defaults.get(str(table.get("kind")), {}), **table}
        for name, table in tables.items()
        if isinstance(table, Mapping)
    }
    accuracies = [name for name, table in whole.items() if table.get("kind") == "accuracy"]
    for name, table in whole.items():
        if isinstance(of := table.get("of"), str):
            if of not in accuracies:
                raise choice_error(f"{name}.of", [of], ", ".join(map(str, accuracies)) or "none is there")
            whole[name] = table | {"of": whole[of]}
    return {**tables, **whole}
