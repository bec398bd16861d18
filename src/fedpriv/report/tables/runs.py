"""A table with a run in every line: any number that can be read of a run, with its interval over seeds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.paper.metrics import COLUMNS as NEEDS
from fedpriv.paper.tables import Cell, EpsilonBudget, LabelledRun, RunColumn, RunsTable
from fedpriv.report import numbers
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import accountings, meaning_text, printed_table
from fedpriv.report.numbers import STATISTIC, Number
from fedpriv.report.reading import MEANING
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, config_of, flatten
from fedpriv.report.sample import Sample

LABELS = {"last": "last round", "best_drawn": "best round of sampled clients"}  # of a measure
READ_AT = ("accuracy_last", "accuracy_within")  # accuracies with a round


class TableColumn(NamedTuple):
    """A number of every run: its heading, its name in the CSV, how it is read by seed, how it is printed."""

    group: str
    label: str
    quantity: str
    read: Callable[[Results, str], Sample]
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
            columns += [round_column(of) for of in declared.columns if of.name in READ_AT]
        elif results.has(declared.reference) or not column.name.startswith("gain"):
            columns.append(number_column(column, declared.reference))
    return columns


def number_column(declared: RunColumn, reference: str) -> TableColumn:
    """Return the column of a number, or of what an accuracy gains over that of the reference."""
    of, _, measure = declared.name.partition("_")
    known, gain = measure in LABELS, of == "gain"
    metric = METRICS["accuracy" if known else declared.name]
    arguments = [measure] if known else [getattr(declared, need) for need in NEEDS[declared.name]]

    def read(results: Results, run: str) -> Sample:
        measured = metric.read(results, Cell(run), *arguments)
        return measured - metric.read(results, Cell(reference), *arguments) if gain else measured

    group = declared.group or ("Difference (points)" if gain else metric.group)
    own_label = str(declared.accountant) if declared.accountant and not declared.within else ""
    label = declared.label or (LABELS[measure] if known else metric.label or own_label)
    return TableColumn(group, label, declared.name, read, metric.show, declared.accountant)


def round_column(of: RunColumn) -> TableColumn:
    """Return the column of the rounds at which a column of accuracies is read."""
    budget = (EpsilonBudget("", of.accountant, of.within, 0.0),) if of.accountant and of.within else ()
    metric, label = METRICS["round"], of.label or ("" if budget else LABELS["last"])
    return TableColumn(
        metric.group,
        label,
        metric.name,
        lambda results, run: metric.read(results, Cell(run, budget)),
        metric.show,
    )


RUN_COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, "delta", *SELECTOR_COLUMNS, *MEANING]
HOW_READ = (
    "Accuracy, last round: of all clients. Best round of sampled clients: as the authors' code prints it; "
    "the test split itself chooses the round. Where all clients hold the server's weights, both are of these."
)


def runs_table(
    results: Results, declared: RunsTable, name: str, columns: Sequence[TableColumn] = ()
) -> PrintedTable:
    """Return a line a run: what it is called, what it was set to, its numbers.

    A paper's own script may give `columns` in place of those declared. Where the best come first, a run
    without a first number comes last.
    """
    # Each line that is declared has its place, and the reference; of a glob those that were run.
    chosen = [
        line
        for line in declared.lines
        if not declared.match or line.run == declared.reference or results.has(line.run)
    ]
    columns = columns or table_columns(results, declared)
    by_line = {
        line: [column.read(results, line.run) for column in columns]
        for line in chosen
        if results.has(line.run)
    }
    if declared.best_first:
        firsts = {
            line: numbers.interval(some[0].seeds.fillna(0.0)).mean for line, some in by_line.items() if some
        }
        chosen = sorted(chosen, key=lambda line: firsts.get(line, float("-inf")), reverse=True)

    # What they were set to: the keys declared, or those in which runs differ that have them.
    configs = {line: flatten(config_of(results, line.run)) for line in by_line}
    keys = list(declared.keys)
    if declared.reference and not keys:
        every = dict.fromkeys(key for config in configs.values() for key in config)
        found_in = {key: {config[key] for config in configs.values() if key in config} for key in every}
        keys = [key for key, values in found_in.items() if len(values) > 1]

    # What people read, with dashes for a run that was not run, and what machines do.
    texts, lines = [], list[Number]()
    for line in chosen:
        settings = {key: configs.get(line, {}).get(key, "") for key in keys}
        samples = by_line.get(line, [])
        cells = [column.show(sample) for column, sample in zip(columns, samples, strict=False)]
        cells = cells or [numbers.NONE] * len(columns)
        texts.append(
            {"Run": line.label if line in by_line else f"{line.label} (not run)"}
            | settings
            | {column.name: text for column, text in zip(columns, cells, strict=True)}
        )
        for column, sample in zip(columns, samples, strict=False):
            number = {"row": line.label, "run": line.run, "column": column.name, "quantity": column.quantity}
            lines.append(number | {"sample": sample.seeds, **sample.meaning, **settings})
    endless = declared.infinite and any("∞" in text.values() for text in texts)
    table = printed_table(
        results,
        declared,
        name,
        columns=[*RUN_COLUMNS, *keys, "status"],
        lines=lines,
        display=texts or [{"Run": f"not run: {declared.match}"}],
        notes=[f"∞: {declared.infinite}"] * bool(endless) + [*comparison_notes(declared, chosen)],
        details=counting_notes(columns, lines),
    )
    if table.tidy["status"].isna().all():  # no run has diverged
        table = table._replace(tidy=table.tidy.drop(columns="status"))
    return table


def counting_notes(columns: Iterable[TableColumn], lines: Sequence[Number]) -> Iterator[str]:
    """Yield the notes that say at which δ, for whom and against whom the ε of the columns are counted."""
    columns_of: dict[str, list[str]] = {}
    epsilons = [column for column in columns if column.quantity == "epsilon"]
    for column in epsilons:
        rows: dict[str, list[str]] = {}
        for line in lines:
            if line["column"] == column.name and line.get("unit", "none") != "none":
                rows.setdefault(meaning_text(line), []).append(line["row"])
        for meaning, some in rows.items():
            of = f" of {', '.join(some)}" if len(rows) > 1 else ""
            columns_of.setdefault(meaning, []).append(f"{column.label} ({column.selector}){of}")
    yield from (f"ε {'; '.join(labels)}: {meaning}." for meaning, labels in columns_of.items())
    yield from accountings(column.selector for column in epsilons if column.selector)


def comparison_notes(declared: RunsTable, chosen: Sequence[LabelledRun]) -> Iterator[str]:
    """Yield the notes that say at which round accuracies are read, and against what."""
    for column in declared.columns:
        if column.name == "accuracy_within":
            epsilon = f"ε ({column.accountant})"
            yield f"{column.label}: at the last evaluated round before {epsilon} exceeds {column.within:g}."
    if declared.reference:
        yield f"Differences: points over {declared.reference}, paired by seed."
    if any(column.name == "accuracy_best_drawn" for column in declared.columns):
        yield HOW_READ
    if declared.match and not any(line.run != declared.reference for line in chosen):
        yield f"Not run in this preset: {declared.match}."
