"""A table with a run in every line: any number that can be read of a run, with its interval over seeds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from fedpriv.account.spend import marked, status
from fedpriv.paper.cells import titled
from fedpriv.paper.spends import SPEND_COLUMNS
from fedpriv.paper.tables import Line, RunsTable
from fedpriv.report import numbers
from fedpriv.report.notes import LEVELS, RELATIONS, accountings, footnotes, stand_ins
from fedpriv.report.reading import MEANING, meaning, spent
from fedpriv.report.render import Table
from fedpriv.report.results import Results
from fedpriv.report.settings import config_of, differing, flattened
from fedpriv.report.tables.columns import QUANTITIES, Column
from fedpriv.report.tables.long import STATISTIC, Number, display_frame, spend_words, tidy

COLUMNS = ["table", "row", "run", "column", "quantity", *STATISTIC, "delta", *SPEND_COLUMNS, *MEANING]
# Every ε that no ledger has: its kind, and the assumption that fails.
NOT_COUNTED = {
    "epsilon_label": ("nominal", ""),
    "epsilon_if": ("guarantee", "nothing keeps an upload within 2C/n"),
}
HOW_READ = (
    "Accuracy, last round: of all clients. Best round of sampled clients: as the authors' code prints it; "
    "the test split itself chooses the round. Where all clients hold the server's weights, both are of these."
)


def runs_table(results: Results, declared: RunsTable, name: str) -> Table:
    """Return a line a run: what it is called, what it was set to, its numbers.

    Where the best come first, a run without a first number comes last.
    """
    chosen = lines_of(results, declared)
    there = [line for line in chosen if results.has(line.run)]
    columns = columns_of(results, declared)
    found = {line: [number_of(results, line, column) for column in columns] for line in there}
    if declared.best_first:
        firsts = {
            line: numbers.interval(some[0]["sample"].fillna(0.0)).mean for line, some in found.items() if some
        }
        chosen = sorted(chosen, key=lambda line: firsts.get(line, float("-inf")), reverse=True)
    configs = {line: flattened(config_of(results, line.run)) for line in there}
    keys = declared.keys or (differing([*configs.values()]) if declared.reference else ())
    settings = {line: {key: configs.get(line, {}).get(key, "") for key in keys} for line in chosen}
    texts = [shown_line(line, settings[line], columns, found.get(line)) for line in chosen]
    display = display_frame(texts or [{("", "Run"): f"not run: {declared.match}"}])
    lines = [{**number, **settings[line]} for line in chosen for number in found.get(line, [])]
    long = tidy(name, [*COLUMNS, *keys, "status"], lines)
    if long["status"].isna().all():  # no run has diverged
        long = long.drop(columns="status")
    used = results.of(*(line.run for line in there))
    notes = [
        *([f"∞: {declared.infinite}"] if declared.infinite and (display == "∞").to_numpy().any() else []),
        *how_counted(columns, [number for some in found.values() for number in some]),
        *how_compared(declared, chosen),
        *footnotes(used, [line.run for line in chosen if line not in found]),
    ]
    return Table(name, titled(declared) + stand_ins(used.runs), long, display, notes)


def shown_line(
    line: Line, settings: Mapping[str, str], columns: Sequence[Column], found: Sequence[Number] | None
) -> dict[tuple[str, str], str]:
    """Return the cells of one line; a run that was not run has dashes for numbers."""
    texts = [numbers.NONE] * len(columns)
    if found is not None:
        texts = [shown(one, number) for one, number in zip(columns, found, strict=True)]
    return (
        {("", "Run"): line.label if found is not None else f"{line.label} (not run)"}
        | {("", key): text for key, text in settings.items()}
        | {(one.group, one.label): text for one, text in zip(columns, texts, strict=True)}
    )


def shown(column: Column, number: Number) -> str:
    """Return a number in words; an ε with the mark of what it is."""
    text = column.show(number["sample"])
    return marked(text, number.get("epsilon_status", "")) if column.quantity.startswith("epsilon") else text


def lines_of(results: Results, declared: RunsTable) -> list[Line]:
    """Return the lines as declared, or the reference and the runs that match, under their own names."""
    if declared.lines:
        return [*declared.lines]
    matching = (run for run in results.runs["run"].unique() if fnmatchcase(run, declared.match))
    runs = dict.fromkeys(filter(None, [declared.reference, *matching]))
    return [Line(run=run, label=run) for run in runs]


def columns_of(results: Results, declared: RunsTable) -> list[Column]:
    """Return the columns; there are no gains over a reference that was not run."""
    gains = results.has(declared.reference)
    wanted = [one for one in declared.columns if gains or not one.name.startswith("gain")]
    return [column for one in wanted for column in QUANTITIES[one.name](one, declared)]


def number_of(results: Results, line: Line, column: Column) -> Number:
    """Return a number of one run; an ε, or what is read within one, with everything that gives it meaning."""
    found: Number = {"row": line.label, "run": line.run, "column": column.name, "quantity": column.quantity}
    found["sample"] = column.read(results, line.run)
    if column.quantity in NOT_COUNTED:
        kind, unmet = NOT_COUNTED[column.quantity]
        found |= {"kind": kind, "epsilon_status": status(kind, unmet)}
    if column.spend:
        found |= spend_words(column.spend) | meaning(spent(results, line.run, column.spend), "delta")
    return found


def how_counted(columns: Iterable[Column], found: Sequence[Number]) -> Iterator[str]:
    """Yield the notes that say at which δ, for whom and against whom the ε of the columns are counted."""
    said: dict[str, list[str]] = {}
    epsilons = [column for column in columns if column.quantity == "epsilon"]
    for column in epsilons:
        there = [line for line in found if line["column"] == column.name]
        meant = {line["row"]: meant_by(line) for line in there if line.get("unit", "none") != "none"}
        for one in dict.fromkeys(meant.values()):
            rows = ", ".join(row for row, other in meant.items() if other == one)
            of = f" of {rows}" * (len(set(meant.values())) > 1)
            said.setdefault(one, []).append(f"{column.label} ({column.spend}){of}")
    yield from (f"ε {'; '.join(labels)}: {meant}." for meant, labels in said.items())
    yield from accountings(column.spend for column in epsilons if column.spend)


def meant_by(line: Number) -> str:
    """Return whose ε a number is, against which neighbours, at which δ, and what it is."""
    level, relation = LEVELS.get(line["unit"], line["unit"]), RELATIONS[line["relation"]]
    whose = f"{level}, {relation} neighbours, δ = {numbers.delta(line['delta'])}"
    return f"{whose}; {line['epsilon_status']}"


def how_compared(declared: RunsTable, chosen: Sequence[Line]) -> Iterator[str]:
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
