"""Rows and columns of runs as a paper prints them: the accuracy reproduced, the published one under it."""

import pandas as pd

from fedpriv.report import cells
from fedpriv.report.budget import subject, used
from fedpriv.report.declared_tables import GridTable, LabelledRow
from fedpriv.report.footnotes import footnotes, stand_ins
from fedpriv.report.reading import present, reading
from fedpriv.report.render import Table
from fedpriv.report.run_table import titled
from fedpriv.report.tidy import tidy

GROUP = "Accuracy (%)"


def grid_table(frame: pd.DataFrame, declared: GridTable, name: str) -> Table:
    """Return the table in the paper's layout; a cell that was not run shows a dash."""
    lines = [
        line for row in declared.rows for line in (reproduced(frame, declared, row), published(declared, row))
    ]
    display = pd.DataFrame(lines)
    display.columns = pd.MultiIndex.from_tuples(list(lines[0]))
    runs = used(frame, declared)
    missing = (run for run in declared.runs() if not present(frame, run))
    notes = ["Accuracy at the last round; every cell is a run of its own.", *footnotes(runs, missing)]
    return Table(name, titled(declared) + stand_ins(runs), tidy(frame, declared, name), display, notes)


def reproduced(frame: pd.DataFrame, declared: GridTable, row: LabelledRow) -> dict[tuple[str, str], str]:
    """Return the line of what was measured."""
    there = {name: declared.cell(row, name) for name in declared.labels}
    found = {name: cell for name, cell in there.items() if present(frame, cell.run)}
    line = {
        ("", declared.subject): subject(frame, declared, row),
        ("", "Source"): "reproduced" if found else "not run",
    }
    for name, label in declared.labels.items():
        accuracy = cells.percent(reading(frame, there[name])["accuracy"]) if name in found else cells.NONE
        line[GROUP, label] = accuracy
    return line


def published(declared: GridTable, row: LabelledRow) -> dict[tuple[str, str], str]:
    """Return the line that the paper prints, with its digits; nothing stands where it has no number."""
    line = {("", declared.subject): row.label, ("", "Source"): "published"}
    for name, label in declared.labels.items():
        accuracy = declared.cell(row, name).published
        line[GROUP, label] = "" if accuracy is None else f"{100 * accuracy:.{digits(declared)}f}"
    return line


def digits(declared: GridTable) -> int:
    """Return how many digits the paper prints after the point of a percentage."""
    printed = [f"{100 * value:.6g}" for row in declared.rows for value in row.published.values()]
    return max((len(text.partition(".")[2]) for text in printed), default=0)
