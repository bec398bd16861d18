"""The table of the client-privacy experiments: accuracy within a budget, published under reproduced."""

import pandas as pd

from fedpriv.report import cells
from fedpriv.report.declared import BudgetTable, Row, Rows
from fedpriv.report.footnotes import footnotes, stand_ins
from fedpriv.report.reading import BASELINE, column, present, spent
from fedpriv.report.render import Table
from fedpriv.report.tidy import tidy

ACCURACY, PRIVACY, ROUND = "Accuracy (%)", "Privacy (ε, δ)", "Read at round"
Line = dict[tuple[str, str], str]


def budget_table(frame: pd.DataFrame, declared: BudgetTable, name: str) -> Table:
    """Return the table in the paper's layout, with the round at which each column was read beside it."""
    lines = [
        line for row in declared.rows for line in (reproduced(frame, declared, row), published(declared, row))
    ]
    display = pd.DataFrame(lines)
    display.columns = pd.MultiIndex.from_tuples(list(lines[0]))
    notes = [*how_read(frame, declared), *under(frame, declared)]
    if (display == cells.NONE).to_numpy().any():
        notes.insert(0, f"{cells.NONE}: not run, or some seed has no evaluated round within the budget.")
    title = f"{declared.place}. {declared.title}{stand_ins(used(frame, declared))}"
    return Table(name, title, tidy(frame, declared, name), display, notes)


def how_read(frame: pd.DataFrame, declared: Rows) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    labels = " and ".join(column.label for column in declared.columns.values())
    notes = []
    for one in declared.columns.values():
        rows = pd.concat([spent(frame, row.run, one.spend) for row in declared.rows])
        meaning = [", ".join(sorted(set(rows[name]))) for name in ("unit", "relation", "sampling_law")]
        stated = "; unit {}, neighbours by {}, {} sampling".format(*meaning) if len(rows) else ""
        notes.append(
            f"{one.label}: read at the last evaluated round before ε ({one.spend}; {one.spend.kind}{stated}) "
            "exceeds the published budget, and the ε spent by then."
        )
    return [
        *notes,
        f"Baseline: accuracy at the last round. {labels} come from one run, and differ in how ε is counted.",
    ]


def under(frame: pd.DataFrame, declared: Rows) -> list[str]:
    """Return the notes about the runs of a table."""
    return footnotes(used(frame, declared), (run for run in declared.runs() if not present(frame, run)))


def used(frame: pd.DataFrame, declared: Rows) -> pd.DataFrame:
    """Return the runs of a table."""
    return frame.loc[frame["run"].isin(list(declared.runs()))]


def delta_of(frame: pd.DataFrame, run: str) -> float:
    """Return the δ that the ε of `run` are stated at."""
    return float(frame.loc[(frame["run"] == run) & (frame["accountant"] != ""), "delta"].iloc[0])


def reproduced(frame: pd.DataFrame, declared: BudgetTable, row: Row) -> Line:
    """Return the line of what was measured; a cell that was not run or not within budget shows a dash."""
    ran = {
        name: present(frame, row.baseline.run if name == BASELINE else row.run) for name in names(declared)
    }
    read = {name: column(frame, declared, row, name) for name, there in ran.items() if there}
    clients = frame.loc[frame["run"].isin((row.baseline.run, row.run)), "population"]
    line = {
        ("", "Clients"): f"{clients.iloc[0] if len(clients) else row.clients:,}",
        ("", "Source"): "reproduced" if read else "not run",
    }
    for name, label in names(declared).items():
        line[ACCURACY, label] = cells.percent(read[name]["accuracy"]) if name in read else cells.NONE
    for name, one in declared.columns.items():
        line[PRIVACY, one.label] = cells.NONE
        if name in read:
            epsilon = cells.epsilon(read[name]["epsilon"])
            line[PRIVACY, one.label] = cells.pair(epsilon, cells.delta(delta_of(frame, row.run)))
    for name, one in declared.columns.items():
        line[ROUND, one.label] = cells.rounds(read[name]["round"]) if name in read else cells.NONE
    return line


def published(declared: BudgetTable, row: Row) -> Line:
    """Return the line that the paper prints."""
    accuracies = {BASELINE: row.baseline.accuracy}
    accuracies |= {name: cell.accuracy for name, cell in row.published.items()}
    line = {("", "Clients"): f"{row.clients:,}", ("", "Source"): "published"}
    line |= {(ACCURACY, label): f"{100 * accuracies[name]:.0f}" for name, label in names(declared).items()}
    for name, one in declared.columns.items():
        cell = row.published[name]
        line[PRIVACY, one.label] = cells.pair(f"{cell.epsilon:g}", cells.delta(cell.delta))
    return line | {(ROUND, one.label): "" for one in declared.columns.values()}


def names(declared: Rows) -> dict[str, str]:
    """Return the label of every column of accuracies."""
    return {BASELINE: "Baseline"} | {name: column.label for name, column in declared.columns.items()}
