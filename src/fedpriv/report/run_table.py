"""A table with a run in every line: any number that can be read of a run, with its interval over seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from fedpriv.paper.spends import WORDS, Choice, Measure
from fedpriv.report import cells
from fedpriv.report.declared_runs import Line
from fedpriv.report.footnotes import accountings, footnotes, stand_ins
from fedpriv.report.reading import MEASURES, epsilon_at, present, spent
from fedpriv.report.render import Table
from fedpriv.report.rows import TableSpec
from fedpriv.report.tidy import MEANING, number

COLUMNS = [
    *("table", "row", "run", "column", "quantity", "value", "low", "high", "seeds"),
    *("delta", *WORDS, *MEANING),
]
HOW_READ = (
    "Accuracy, last round: of all clients. Best round of drawn clients: as the released code prints it; the "
    "test split itself chooses the round. Where all clients hold the server's weights, both are of these."
)


class Column(NamedTuple):
    """A number of every run: its heading, its name in the CSV, how it is read by seed, how it is printed."""

    group: str
    label: str
    quantity: str
    read: Callable[[pd.DataFrame, str], pd.Series]
    show: Callable[[Iterable[float]], str]
    spend: Choice | None = None  # whose ε it is


def fact(frame: pd.DataFrame, run: str, name: str) -> pd.Series:
    """Return by seed the mean over rounds of a column of the trace."""
    rows = frame.loc[frame["run"] == run].drop_duplicates(["seed", "round"])
    return rows.groupby("seed")[name].mean()


def accuracy(measure: Measure, label: str) -> Column:
    """Return the column of accuracies under one measure."""

    def read(frame: pd.DataFrame, run: str) -> pd.Series:
        return MEASURES[measure](frame, run).loc[:, "accuracy"]

    return Column("Accuracy (%)", label, f"accuracy_{measure}", read, cells.percent)


ACCURACIES = (accuracy("last", "last round"), accuracy("best_drawn", "best round of drawn clients"))


def epsilon(spend: Choice, group: str, label: str) -> Column:
    """Return the column of an ε after the last round; a ledger that does not hold it has a dash."""

    def read(frame: pd.DataFrame, run: str) -> pd.Series:
        there = len(spent(frame, run, spend)) > 0
        return epsilon_at(frame, run, spend) if there else pd.Series([float("nan")])

    return Column(group, label, "epsilon", read, cells.epsilon, spend)


def run_table(
    frame: pd.DataFrame,
    declared: TableSpec,
    name: str,
    lines: Sequence[Line],
    columns: Sequence[Column],
    notes: Sequence[str],
    lead: Mapping[str, Mapping[str, str]] | None = None,
) -> Table:
    """Return a line a run: what it is called, what `lead` says of it, its numbers. `notes` come first."""
    there = [line for line in lines if present(frame, line.run)]
    values = {line: [column.read(frame, line.run) for column in columns] for line in there}
    words = lead or {}
    shown = [
        {("", "Run"): line.label if line in there else f"{line.label} (not run)"}
        | {("", key): text for key, text in words.get(line.run, {}).items()}
        | {
            (column.group, column.label): column.show(values[line][number]) if line in there else cells.NONE
            for number, column in enumerate(columns)
        }
        for line in lines
    ]
    display = pd.DataFrame(shown)
    display.columns = pd.MultiIndex.from_tuples(list(shown[0]))
    numbers = [
        {"table": name, **one, **words.get(line.run, {})}
        for line in there
        for one in tidy(frame, line, columns, values[line])
    ]
    long = pd.DataFrame(numbers) if numbers else pd.DataFrame(columns=COLUMNS)
    long = long.reindex(columns=[*dict.fromkeys([*COLUMNS, *long.columns])])
    used = frame.loc[frame["run"].isin([line.run for line in there])]
    told = [*notes, *footnotes(used, [line.run for line in lines if line not in there])]
    return Table(name, titled(declared) + stand_ins(used), long, display, told)


def titled(declared: TableSpec) -> str:
    """Return the title, after the place in the paper that the table stands for."""
    theirs = declared.place and not declared.place.startswith("ours")
    return f"{declared.place}. {declared.title}" if theirs else declared.title


def tidy(
    frame: pd.DataFrame, line: Line, columns: Sequence[Column], values: Sequence[pd.Series]
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of one run, one line each; an ε with everything that gives it meaning."""
    for column, found in zip(columns, values, strict=True):
        key = {
            "row": line.label,
            "run": line.run,
            "column": " ".join(filter(None, (column.group, column.label))),
        }
        if column.spend:
            rows = spent(frame, line.run, column.spend)
            key |= dict(zip(WORDS, column.spend.key, strict=True))
            key |= {one: rows.iloc[0][one] for one in ("delta", *MEANING) if len(rows)}
        yield key | number(column.quantity, found)


def counted(frame: pd.DataFrame, lines: Sequence[Line], columns: Sequence[Column]) -> list[str]:
    """Return the notes that say at which δ, for whom and against whom the ε of the columns are counted."""
    found: dict[str, list[str]] = {}
    spends = [(column, column.spend) for column in columns if column.spend]
    for column, spend in spends:
        rows = pd.concat([spent(frame, line.run, spend) for line in lines])
        if len(rows):
            deltas = ", ".join(map(cells.delta, sorted(set(rows["delta"]))))
            said = f"unit {rows['unit'].iloc[0]}, neighbours by {rows['relation'].iloc[0]}, δ = {deltas}"
            found.setdefault(said, []).append(f"{column.label} ({spend})")
    notes = [f"ε {'; '.join(labels)}: {said}." for said, labels in found.items()]
    return [*notes, *accountings([spend for _, spend in spends])]
