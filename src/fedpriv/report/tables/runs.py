"""A table with a run in every line: any number that can be read of a run, with its interval over seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.paper.metrics import COLUMNS as NEEDS
from fedpriv.paper.tables import Cell, EpsilonBudget, LabelledRun, RunColumn, RunsTable
from fedpriv.report import numbers
from fedpriv.report.lines import STATISTIC, Line
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import accountings, meaning_text, printed_table
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import MEANING, Results, RunResults, flatten
from fedpriv.report.sample import Sample

LABELS = {"last": "last round", "best_drawn": "best round of sampled clients"}  # of a measure
READ_AT = ("accuracy_last", "accuracy_within")  # accuracies with a round


class TableColumn(NamedTuple):
    """A number of every run: its heading, its name in the CSV, how it is read by seed, how it is printed."""

    group: str
    label: str
    quantity: str
    read: Callable[[RunResults], Sample]
    show: Callable[[Sample], str]
    selector: EpsilonSelector | None = None  # whose ε it is, or that it is read within

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.group, self.label)))


def table_columns(results: Results, declared: RunsTable) -> list[TableColumn]:
    """Return the columns; there are no gains over a reference that was not run."""
    columns = []
    for column in declared.columns:
        if column.name == "round":  # one for every accuracy that is read at a round
            columns += [round_column(each) for each in declared.columns if each.name in READ_AT]
        elif not column.name.startswith("gain"):
            columns.append(number_column(column))
        elif results.has(declared.reference):
            columns.append(gain_column(column, results.run(declared.reference)))
    return columns


def number_column(declared: RunColumn) -> TableColumn:
    """Return the column of a number; of a gain, the column of its accuracy."""
    _, _, measure = declared.name.partition("_")
    measured = measure in LABELS
    metric = METRICS["accuracy" if measured else declared.name]
    arguments = [measure] if measured else [getattr(declared, need) for need in NEEDS[declared.name]]
    counted = "" if declared.within else str(declared.accountant or "")
    return TableColumn(
        declared.group or metric.group,
        declared.label or LABELS.get(measure) or metric.label or counted,
        declared.name,
        lambda run: metric.read(run, Cell(run.name), *arguments),
        metric.show,
        declared.accountant,
    )


def gain_column(declared: RunColumn, reference: RunResults) -> TableColumn:
    """Return the column of what an accuracy gains over that of the reference."""
    accuracy, group = number_column(declared), declared.group or "Difference (points)"
    return accuracy._replace(group=group, read=lambda run: accuracy.read(run) - accuracy.read(reference))


def round_column(accuracies: RunColumn) -> TableColumn:
    """Return the column of the rounds at which a column of accuracies is read."""
    selector, epsilon = accuracies.accountant, accuracies.within
    budget = (EpsilonBudget("", selector, epsilon, 0.0),) if selector and epsilon else ()
    metric, label = METRICS["round"], accuracies.label or ("" if budget else LABELS["last"])
    return TableColumn(
        metric.group,
        label,
        metric.name,
        lambda run: metric.read(run, Cell(run.name, budget)),
        metric.show,
    )


RUN_COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, "delta", *SELECTOR_COLUMNS, *MEANING]
HOW_READ = (
    "Accuracy, last round: of all clients. Best round of sampled clients: as the authors' code prints it; "
    "the test split itself chooses the round. Where all clients hold the server's weights, both are of these."
)


class RunLine(NamedTuple):
    """A line of the table: a run, what it was set to, and a sample for each column, if it was run."""

    label: str
    run: str
    settings: Mapping[str, str]
    samples: Sequence[Sample]


def runs_table(
    results: Results, declared: RunsTable, name: str, columns: Sequence[TableColumn] = ()
) -> PrintedTable:
    """Return a line a run: what it is called, what it was set to, its numbers.

    A paper's own script may give `columns` in place of those declared. Where the best come first, a run
    without a first number comes last.
    """
    columns = columns or table_columns(results, declared)
    each = run_lines(results, declared, columns)
    keys = list(each[0].settings) if each else []
    display = [shown_line(line, columns) for line in each]
    lines = [number for line in each for number in tidy_lines(line, columns)]
    table = printed_table(
        results,
        declared,
        name,
        columns=[*RUN_COLUMNS, *keys, "status"],
        lines=lines,
        display=display or [{"Run": f"not run: {declared.match}"}],
        notes=[*infinite_notes(declared, display), *comparison_notes(declared, each)],
        details=counting_notes(columns, lines),
    )
    if table.tidy["status"].isna().all():  # no run has diverged
        table = table._replace(tidy=table.tidy.drop(columns="status"))
    return table


def run_lines(results: Results, declared: RunsTable, columns: Sequence[TableColumn]) -> list[RunLine]:
    """Return the lines, read: each that is declared, and the reference; of a glob those that were run."""
    read = [read_line(results, line, columns) for line in declared.lines]
    each = [line for line in read if not declared.match or line.run == declared.reference or line.settings]
    keys = setting_keys(declared, [line.settings for line in each])
    each = [line._replace(settings={key: line.settings.get(key, "") for key in keys}) for line in each]
    return sorted(each, key=first_mean, reverse=True) if declared.best_first else each


def read_line(results: Results, declared: LabelledRun, columns: Iterable[TableColumn]) -> RunLine:
    """Return a line with all settings of its run, and its samples; of what was not run neither."""
    if not results.has(declared.run):
        return RunLine(declared.label, declared.run, {}, [])
    run = results.run(declared.run)
    samples = [column.read(run) for column in columns]
    return RunLine(declared.label, declared.run, flatten(run.config), samples)


def first_mean(line: RunLine) -> float:
    """Mean of the first column; of a run without a number it is below every other."""
    return numbers.interval(line.samples[0].seeds.fillna(0.0)).mean if line.samples else float("-inf")


def setting_keys(declared: RunsTable, configs: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys that are shown: those declared, or those in which runs differ that have them."""
    if declared.keys or not declared.reference:
        return list(declared.keys)
    values: dict[str, set[str]] = {}
    for config in configs:
        for key, value in config.items():
            values.setdefault(key, set()).add(value)
    return [key for key, different in values.items() if len(different) > 1]


def shown_line(line: RunLine, columns: Sequence[TableColumn]) -> dict[str, str]:
    """Return the cells of a line, with dashes for a run that was not run."""
    if not line.samples:
        dashes = {column.name: numbers.NONE for column in columns}
        return {"Run": f"{line.label} (not run)", **line.settings, **dashes}
    texts = {column.name: column.show(sample) for column, sample in zip(columns, line.samples, strict=True)}
    return {"Run": line.label, **line.settings, **texts}


def tidy_lines(line: RunLine, columns: Sequence[TableColumn]) -> Iterator[Line]:
    """Yield the numbers of a line for machines."""
    for column, sample in zip(columns, line.samples, strict=False):
        about = {"run": line.run, **sample.meaning, **line.settings}
        yield Line(line.label, column.name, column.quantity, sample, about)


def counting_notes(columns: Iterable[TableColumn], lines: Sequence[Line]) -> Iterator[str]:
    """Yield the notes that say at which δ, for whom and against whom the ε of the columns are counted."""
    columns_of: dict[str, list[str]] = {}
    epsilons = [column for column in columns if column.quantity == "epsilon"]
    for column in epsilons:
        for meaning, rows in rows_by_meaning(column, lines).items():
            columns_of.setdefault(meaning, []).append(f"{column.label} ({column.selector}){rows}")
    yield from (f"ε {'; '.join(labels)}: {meaning}." for meaning, labels in columns_of.items())
    yield from accountings(column.selector for column in epsilons if column.selector)


def rows_by_meaning(column: TableColumn, lines: Sequence[Line]) -> dict[str, str]:
    """Return what the ε of a column mean, and of which rows: nothing, where it is of all."""
    rows: dict[str, list[str]] = {}
    for line in lines:
        if line.column == column.name and line.about.get("unit", "none") != "none":
            rows.setdefault(meaning_text(line.about), []).append(str(line.row))
    if len(rows) == 1:
        return dict.fromkeys(rows, "")
    return {meaning: f" of {', '.join(labels)}" for meaning, labels in rows.items()}


def infinite_notes(declared: RunsTable, display: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Yield the note that says what ∞ means, if it is in a cell."""
    if declared.infinite and any("∞" in text for cells in display for text in cells.values()):
        yield f"∞: {declared.infinite}"


def comparison_notes(declared: RunsTable, each: Sequence[RunLine]) -> Iterator[str]:
    """Yield the notes that say at which round accuracies are read, and against what."""
    for column in declared.columns:
        if column.name == "accuracy_within":
            epsilon = f"ε ({column.accountant})"
            yield f"{column.label}: at the last evaluated round before {epsilon} exceeds {column.within:g}."
    if declared.reference:
        yield f"Differences: points over {declared.reference}, paired by seed."
    if any(column.name == "accuracy_best_drawn" for column in declared.columns):
        yield HOW_READ
    if declared.match and not any(line.run != declared.reference for line in each):
        yield f"Not run in this preset: {declared.match}."
