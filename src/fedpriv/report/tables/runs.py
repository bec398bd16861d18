"""A table with a run in every line: any number that can be read of a run, with its interval over seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from fedpriv.paper.metrics import COLUMNS as NEEDS
from fedpriv.paper.spends import SPEND_COLUMNS, SpendSelector
from fedpriv.paper.tables import Cell, EpsilonBudget, LabelledRun, RunColumn, RunsTable, full_title
from fedpriv.report import numbers
from fedpriv.report.long import STATISTIC, Number, display_frame, tidy
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import LEVELS, RELATIONS, accountings, footnotes, stand_ins
from fedpriv.report.reading import MEANING
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, config_of, flatten
from fedpriv.report.sample import Sample

LABELS = {"last": "last round", "best_drawn": "best round of sampled clients"}  # of a measure


class TableColumn(NamedTuple):
    """A number of every run: its heading, its name in the CSV, how it is read by seed, how it is printed."""

    group: str
    label: str
    quantity: str
    read: Callable[[Results, str], Sample]
    show: Callable[[Sample], str]
    spend: SpendSelector | None = None  # whose ε it is, or that it is read within

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.group, self.label)))


def table_columns(results: Results, declared: RunsTable) -> list[TableColumn]:
    """Return the columns; there are no gains over a reference that was not run."""
    gains = results.has(declared.reference)
    wanted = [one for one in declared.columns if gains or not one.name.startswith("gain")]
    return [column for one in wanted for column in columns_named(one, declared)]


def columns_named(declared: RunColumn, table: RunsTable) -> Iterator[TableColumn]:
    """Yield the columns of a name: one, but of `round` one for every accuracy that is read at a round."""
    of, _, measure = declared.name.partition("_")
    if declared.name == "round":
        for one in table.columns:
            if one.name in ("accuracy_last", "accuracy_within"):
                yield round_column(one)
        return
    known = measure in LABELS
    metric = METRICS["accuracy" if known else declared.name]
    arguments = [measure] if known else [getattr(declared, need) for need in NEEDS[declared.name]]

    def read(results: Results, run: str) -> Sample:
        found = metric.read(results, Cell(run), *arguments)
        return found - metric.read(results, Cell(table.reference), *arguments) if of == "gain" else found

    group = declared.group or ("Difference (points)" if of == "gain" else metric.group)
    spent_label = str(declared.spend) if declared.spend and not declared.within else ""
    label = declared.label or (LABELS[measure] if known else metric.label or spent_label)
    yield TableColumn(group, label, declared.name, read, metric.show, declared.spend)


def round_column(of: RunColumn) -> TableColumn:
    """Return the column of the rounds at which a column of accuracies is read."""
    budget = [EpsilonBudget("", of.spend, of.within, 0.0)] if of.spend and of.within else []
    metric, label = METRICS["round"], of.label or ("" if budget else LABELS["last"])
    return TableColumn(
        metric.group,
        label,
        metric.name,
        lambda results, run: metric.read(results, Cell(run, tuple(budget))),
        metric.show,
    )


RUN_COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, "delta", *SPEND_COLUMNS, *MEANING]
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
    chosen = lines_of(results, declared)
    there = [line for line in chosen if results.has(line.run)]
    columns = columns or table_columns(results, declared)
    found = {line: [column.read(results, line.run) for column in columns] for line in there}
    if declared.best_first:
        firsts = {
            line: numbers.interval(some[0].seeds.fillna(0.0)).mean for line, some in found.items() if some
        }
        chosen = sorted(chosen, key=lambda line: firsts.get(line, float("-inf")), reverse=True)
    configs = {line: flatten(config_of(results, line.run)) for line in there}
    keys = list(declared.keys)
    if declared.reference and not keys:  # in which those differ that have them
        every = dict.fromkeys(key for config in configs.values() for key in config)
        found_in = {key: {one[key] for one in configs.values() if key in one} for key in every}
        keys = [key for key, values in found_in.items() if len(values) > 1]
    settings = {line: {key: configs.get(line, {}).get(key, "") for key in keys} for line in chosen}
    texts = [shown_line(line, settings[line], columns, found.get(line)) for line in chosen]
    display = display_frame(texts or [{("", "Run"): f"not run: {declared.match}"}])
    measured: dict[LabelledRun, list[Number]] = {
        line: [
            {"row": line.label, "run": line.run, "column": column.name, "quantity": column.quantity}
            | {"sample": sample.seeds, **sample.meaning}
            for column, sample in zip(columns, some, strict=True)
        ]
        for line, some in found.items()
    }
    lines = [number | settings[line] for line in chosen for number in measured.get(line, [])]
    long = tidy(name, [*RUN_COLUMNS, *keys, "status"], lines)
    if long["status"].isna().all():  # no run has diverged
        long = long.drop(columns="status")
    used = results.of(*(line.run for line in there))
    infinite = declared.infinite if (display == "∞").to_numpy().any() else ""
    notes = [f"∞: {infinite}"] * bool(infinite) + [*comparison_notes(declared, chosen)]
    details = [
        *counting_notes(columns, [number for some in measured.values() for number in some]),
        *footnotes(used, [line.run for line in chosen if line not in found]),
    ]
    title = full_title(declared) + stand_ins(used.runs)
    return PrintedTable(name, title, long, display, notes, details=details)


def shown_line(
    line: LabelledRun,
    settings: Mapping[str, str],
    columns: Sequence[TableColumn],
    found: Sequence[Sample] | None,
) -> dict[tuple[str, str], str]:
    """Return the cells of one line; a run that was not run has dashes for numbers."""
    texts = [numbers.NONE] * len(columns)
    if found is not None:
        texts = [column.show(sample) for column, sample in zip(columns, found, strict=True)]
    return (
        {("", "Run"): line.label if found is not None else f"{line.label} (not run)"}
        | {("", key): text for key, text in settings.items()}
        | {(one.group, one.label): text for one, text in zip(columns, texts, strict=True)}
    )


def lines_of(results: Results, declared: RunsTable) -> list[LabelledRun]:
    """Return the lines as declared, or the reference and the runs that match, under their own names."""
    if declared.lines:
        return [*declared.lines]
    matching = (run for run in results.runs["run"].unique() if fnmatchcase(run, declared.match))
    runs = dict.fromkeys(filter(None, [declared.reference, *matching]))
    return [LabelledRun(run=run, label=run) for run in runs]


def counting_notes(columns: Iterable[TableColumn], found: Sequence[Number]) -> Iterator[str]:
    """Yield the notes that say at which δ, for whom and against whom the ε of the columns are counted."""
    said: dict[str, list[str]] = {}
    epsilons = [column for column in columns if column.quantity == "epsilon"]
    for column in epsilons:
        there = [line for line in found if line["column"] == column.name]
        meant = {}
        for line in there:
            if line.get("unit", "none") != "none":
                level, relation = LEVELS.get(line["unit"], line["unit"]), RELATIONS[line["relation"]]
                whose = f"{level}, {relation} neighbours, δ = {numbers.delta(line['delta'])}"
                meant[line["row"]] = f"{whose}; {line['epsilon_status']}"
        for one in dict.fromkeys(meant.values()):
            rows = ", ".join(row for row, other in meant.items() if other == one)
            of = f" of {rows}" * (len(set(meant.values())) > 1)
            said.setdefault(one, []).append(f"{column.label} ({column.spend}){of}")
    yield from (f"ε {'; '.join(labels)}: {meant}." for meant, labels in said.items())
    yield from accountings(column.spend for column in epsilons if column.spend)


def comparison_notes(declared: RunsTable, chosen: Sequence[LabelledRun]) -> Iterator[str]:
    """Yield the notes that say at which round accuracies are read, and against what."""
    for one in declared.columns:
        if one.name == "accuracy_within":
            yield f"{one.label}: at the last evaluated round before ε ({one.spend}) exceeds {one.within:g}."
    if declared.reference:
        yield f"Differences: points over {declared.reference}, paired by seed."
    if any(one.name == "accuracy_best_drawn" for one in declared.columns):
        yield HOW_READ
    if declared.match and not any(line.run != declared.reference for line in chosen):
        yield f"Not run in this preset: {declared.match}."
