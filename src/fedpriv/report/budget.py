"""Accuracy within budgets, at one level or at both: published under reproduced."""

from collections.abc import Iterator

import pandas as pd

from fedpriv.paper.spends import Choice
from fedpriv.report import cells
from fedpriv.report.footnotes import accountings, footnotes, stand_ins
from fedpriv.report.reading import epsilon_at, present, reading, spent
from fedpriv.report.render import Table
from fedpriv.report.rows import BASELINE, Cap, Row, Rows
from fedpriv.report.tidy import tidy

ACCURACY, ROUND = "Accuracy (%)", "Read at round"
ABSENT = "not run, or some seed has no evaluated round within the budget"
Line = dict[tuple[str, str], str]


def budget_table(frame: pd.DataFrame, declared: Rows, name: str) -> Table:
    """Return the table in the paper's layout, with the round at which each column was read beside it."""
    lines = [
        line for row in declared.rows for line in (reproduced(frame, declared, row), published(declared, row))
    ]
    display = pd.DataFrame(lines)
    display.columns = pd.MultiIndex.from_tuples(list(lines[0]))
    notes = [*how_read(frame, declared), *ours(declared), *under(frame, declared)]
    if (display == cells.NONE).to_numpy().any():
        notes.insert(0, f"{cells.NONE}: {ABSENT}{'s' if len(units(declared)) > 1 else ''}.")
    title = f"{declared.place}. {declared.title}{stand_ins(used(frame, declared))}"
    return Table(name, title, tidy(frame, declared, name), display, notes)


def how_read(frame: pd.DataFrame, declared: Rows) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    found: dict[str, list[str]] = {}
    for name, column in declared.columns.items():
        runs = [declared.cell(row, name).run for row in declared.rows]
        means = {unit: meaning(frame, runs, spend) for unit, spend in column.by_unit().items()}
        both = ", ".join(f"{unit} ε ({words})" for unit, words in means.items())
        said = (
            f"before ε ({means['']}) exceeds the published budget, and the ε spent by then."
            if "" in means
            else f"before any ε exceeds its budget, and the ε spent by then: {both}."
        )
        found.setdefault(said, []).append(column.label)
    notes = [
        f"{'; '.join(labels)}: read at the last evaluated round {said}" for said, labels in found.items()
    ]
    if all(len({*row.private().values()}) == 1 for row in declared.rows):
        labels = " and ".join(column.label for column in declared.columns.values())
        runs = f"{labels} come from one run, and differ in how ε is counted."
    else:
        runs = "Every other column is a run of its own."
    baseline = "Baseline: accuracy at the last round. " if BASELINE in declared.labels else ""
    return [*notes, baseline + runs, *absent(frame, declared)]


def meaning(frame: pd.DataFrame, runs: list[str], spend: Choice) -> str:
    """Return a spend with what the ledgers of `runs` say it means."""
    rows = pd.concat([spent(frame, run, spend) for run in runs])
    words = [", ".join(sorted(set(rows[name]))) for name in ("unit", "relation", "sampling_law")]
    stated = "; unit {}, neighbours by {}, {} sampling".format(*words) if len(rows) else ""
    unmet = ", its assumptions not met" if not all(rows["assumptions_met"]) else ""
    return f"{spend}; {spend.kind}{unmet}{stated}"


def absent(frame: pd.DataFrame, declared: Rows) -> Iterator[str]:
    """Yield a note for every ε that a column is read within and the ledger of its run does not hold."""
    for row in declared.rows:
        for name in declared.columns:
            cell = declared.cell(row, name)
            for spend, _ in cell.budgets:
                if present(frame, cell.run) and spent(frame, cell.run, spend).empty:
                    yield f"The ledger of {cell.run} holds no ε ({spend})."


def ours(declared: Rows) -> Iterator[str]:
    """Yield the note that names the columns which the paper does not have."""
    labels = [
        column.label
        for name, column in declared.columns.items()
        if all(row.prints(name) is None for row in declared.rows)
    ]
    if labels:
        yield f"Ours, not in the paper: {', '.join(labels)}."


def under(frame: pd.DataFrame, declared: Rows) -> list[str]:
    """Return the notes about the runs of a table."""
    spends = [spend for column in declared.columns.values() for spend in column.by_unit().values()]
    missing = (run for run in declared.runs() if not present(frame, run))
    return [*accountings(spends), *footnotes(used(frame, declared), missing)]


def used(frame: pd.DataFrame, declared: Rows) -> pd.DataFrame:
    """Return the runs of a table."""
    return frame.loc[frame["run"].isin(list(declared.runs()))]


def reproduced(frame: pd.DataFrame, declared: Rows, row: Row) -> Line:
    """Return the line of what was measured; a cell that was not run or not within budget shows a dash."""
    there = {name: declared.cell(row, name) for name in declared.labels}
    read = {name: reading(frame, cell) for name, cell in there.items() if present(frame, cell.run)}
    line = {
        ("", declared.subject): subject(frame, declared, row),
        ("", "Source"): "reproduced" if read else "not run",
    }
    for name, label in declared.labels.items():
        line[ACCURACY, label] = cells.percent(read[name]["accuracy"]) if name in read else cells.NONE
    for unit, (heading, delta) in units(declared).items():
        for name, column in declared.columns.items():
            cap = next(cap for cap in there[name].caps if cap.unit == unit)
            found = spent_by_then(frame, there[name].run, cap, read[name], delta) if name in read else None
            line[heading, column.label] = found or cells.NONE
    for name, column in declared.columns.items():
        line[ROUND, column.label] = cells.rounds(read[name]["round"]) if name in read else cells.NONE
    return line


def published(declared: Rows, row: Row) -> Line:
    """Return the line that the paper prints; nothing stands where it has no number."""
    line = {("", declared.subject): here(declared, row, row.clients), ("", "Source"): "published"}
    for name, label in declared.labels.items():
        accuracy = declared.cell(row, name).published
        line[ACCURACY, label] = "" if accuracy is None else f"{100 * accuracy:.0f}"
    for unit, (heading, delta) in units(declared).items():
        for name, column in declared.columns.items():
            cell = declared.cell(row, name)
            cap = next(cap for cap in cell.caps if cap.unit == unit)
            text = with_delta(f"{cap.epsilon:g}", cap.delta, delta)
            line[heading, column.label] = "" if cell.published is None else text
    return line | {(ROUND, column.label): "" for column in declared.columns.values()}


def units(declared: Rows) -> dict[str, tuple[str, float | None]]:
    """Return by unit the heading of its ε, and the δ in that heading: none if the cells show it."""
    caps = [
        cap for row in declared.rows for name in declared.columns for cap in declared.cell(row, name).caps
    ]
    found = {}
    for unit in dict.fromkeys(cap.unit for cap in caps):
        deltas = {cap.delta for cap in caps if cap.unit == unit}
        if unit and len(deltas) == 1:
            (delta,) = deltas
            found[unit] = f"{unit.capitalize()} ε at δ = {cells.delta(delta)}", delta
        else:
            found[unit] = f"{unit.capitalize() or 'Privacy'} (ε, δ)", None
    return found


def with_delta(epsilon: str, delta: float, said: float | None) -> str:
    """Return ε, and δ unless it was said."""
    return epsilon if delta == said else cells.pair(epsilon, cells.delta(delta))


def spent_by_then(
    frame: pd.DataFrame, run: str, cap: Cap, read: pd.DataFrame, said: float | None
) -> str | None:
    """Return what `run` had spent at the rounds read; nothing if its ledger has no such ε."""
    rows = spent(frame, run, cap.spend)
    if rows.empty:
        return None
    epsilons = epsilon_at(frame, run, cap.spend, read["round"])
    return with_delta(cells.epsilon(epsilons), float(rows["delta"].iloc[0]), said)


def subject(frame: pd.DataFrame, declared: Rows, row: Row) -> str:
    """Return what a row is about, with the number of clients that there really were."""
    runs = {declared.cell(row, name).run for name in declared.labels}
    clients = frame.loc[frame["run"].isin(runs), "population"]
    return here(declared, row, int(clients.iloc[0]) if len(clients) else row.clients)


def here(declared: Rows, row: Row, clients: int) -> str:
    """Return what a row is about; of `clients`, if they are not those declared."""
    if isinstance(row.key, int):
        return f"{clients:,}"
    return str(row.key) if clients == row.clients else f"{row.key} (here N = {clients:,})"
