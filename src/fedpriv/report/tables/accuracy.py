"""Accuracies in the paper's layout, what is published in brackets, and below each the ε that it cost.

A cell is read at the last round, or within budgets at one level or at both. What was read is a `ReadCell`:
of these are made the lines for machines, the blocks for people, and the notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from fedpriv.account.statement import attacker_accuracy
from fedpriv.paper.epsilons import SELECTOR_COLUMNS
from fedpriv.paper.tables import BASELINE, AccuracyTable, Row, full_title
from fedpriv.report import numbers
from fedpriv.report.lines import STATISTIC, Line, tidy
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import accountings, footnotes, substitutes_title
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import MEANING, Results
from fedpriv.report.sample import Sample, reach_verdict
from fedpriv.report.tables.accuracy_notes import WHOSE, caveats, reading_notes
from fedpriv.report.tables.cells import ReadCell, deltas_by_level, read_cells, ways_of_counting
from fedpriv.report.texts import INDENT
from fedpriv.report.verdicts import ANOTHER_NETWORK, CUT, NOT_JUDGED, SUBSTITUTE, UNSTABLE
from fedpriv.trace import EVALUATED

KEY = ["table", "row", "column", "source", "quantity"]
OF_CELL = ("verdict", "status", "substitute_for", "cut", "run", "clients")
LONG_COLUMNS = [*KEY, *STATISTIC, *OF_CELL, *SELECTOR_COLUMNS, *MEANING]


def accuracy_table(results: Results, declared: AccuracyTable, name: str) -> PrintedTable:
    """Return the table in the paper's layout, what is published in brackets, our columns below."""
    cells = read_cells(results, declared)
    theirs, ours = blocks(declared, cells)
    used = results.of(*declared.runs())
    selectors = [selector for column in declared.columns.values() for selector in column.by_unit().values()]
    return PrintedTable(
        name,
        full_title(declared) + substitutes_title(used.runs),
        tidy(name, LONG_COLUMNS, accuracy_lines(declared, cells)),
        theirs,
        [caveats(declared, cells, used)],
        details=[*reading_notes(declared, cells), *accountings(selectors), *footnotes(used)],
        ours=ours,
        seeds=seed_lines(name, declared.metric, cells),
        cells=METRICS[declared.metric].noun,
    )


# For machines.


def accuracy_lines(declared: AccuracyTable, cells: Sequence[ReadCell]) -> Iterator[Line]:
    """Yield what is published and what was measured, cell by cell."""
    baselines = {cell.row.key: cell for cell in cells if cell.column == BASELINE}
    for cell in cells:
        yield from published_lines(declared, cell, baselines.get(cell.row.key))
        yield from reproduced_lines(declared, cell)


def published_lines(declared: AccuracyTable, read: ReadCell, baseline: ReadCell | None) -> Iterator[Line]:
    """Yield what the paper prints in one cell, with the verdict; `baseline` is that of its row."""
    cell, metric = read.cell, declared.metric
    if cell.published is None:
        return
    about: dict[str, Any] = {"source": "published", "clients": read.row.clients}
    counted = ways_of_counting(cell)
    alone = about | (counted[0] if len(counted) == 1 else {})  # several ε have lines of their own
    yield read.line(metric, cell.published, alone | {"verdict": cell_verdict(declared, read, baseline)})
    if cell.published_std:
        yield read.line(f"{metric}_std", cell.published_std, alone)
    if cell.published_round:
        yield read.line("round", cell.published_round, alone)
    for budget, meaning in zip(cell.within, counted, strict=True):
        yield read.line("epsilon", budget.epsilon, about | meaning)
        yield read.line("delta", budget.delta, about | meaning)


def reproduced_lines(declared: AccuracyTable, read: ReadCell) -> Iterator[Line]:
    """Yield what was measured for one cell: the metric, the round, and what had been spent by then."""
    about = {"source": "reproduced", "run": read.cell.run, "status": read.status, **read.facts}
    counted = [spent.epsilon.meaning for spent in read.spent] if read.ran else ways_of_counting(read.cell)
    alone = about | (counted[0] if len(read.cell.within) == 1 else {})
    if not read.ran:
        yield read.line(declared.metric, None, alone)
        return
    yield read.line(declared.metric, read.value, alone | {"status": read.unstable or read.status})
    yield read.line("round", read.round, alone)
    for spent in read.spent:
        known, epsilons = about | spent.epsilon.meaning, spent.epsilon.seeds
        yield read.line("epsilon", spent.epsilon, known)
        if spent.level not in read.cell.free:
            yield read.line("delta", Sample(epsilons * 0 + spent.delta), known)
            yield read.line("attacker_accuracy", Sample(epsilons.map(attacker_accuracy)), known)


def cell_verdict(declared: AccuracyTable, ours: ReadCell, baseline: ReadCell | None) -> str:
    """Verdict on a published number: whether it is reached, or why it is not judged.

    Where a row is of another network than the paper's, its number is reached where it is no further from its
    `baseline` than the published one is from theirs.
    """
    own = ours.row.own_baseline
    baselines = [baseline] if own and baseline and ours.column != BASELINE else []
    if why := not_judged(ours, baselines):
        return why
    if own and ours.column == BASELINE:
        return ANOTHER_NETWORK
    value, published, digit = ours.value, ours.cell.published or 0.0, last_digit(declared)
    for other in baselines:
        value = Sample((value - other.value).seeds.dropna())
        published, digit = published - (other.cell.published or 0.0), 2 * digit
    less = EVALUATED[declared.metric].less
    return reach_verdict(value.interval, published, digit, ours.cell.published_std, less)


def not_judged(ours: ReadCell, baselines: Sequence[ReadCell]) -> str:
    """Why a published number is not judged; empty: it is."""
    if ours.cell.not_judged:
        return f"{NOT_JUDGED}: {ours.cell.not_judged}"
    for read in (ours, *baselines):
        if read.why:
            return read.why
    if ours.facts["substitute_for"]:
        return SUBSTITUTE
    return CUT if any(read.facts["cut"] for read in (ours, *baselines)) else ""


def seed_lines(name: str, metric: str, cells: Iterable[ReadCell]) -> pd.DataFrame:
    """Return a line for every seed of a cell: the metric and ε, at the round at which the cell is read.

    An ε has the level behind its name where a table has two, and what it is beside it. A seed that has
    diverged has -inf.
    """
    first, frames = ["table", "row", "column", "run", "seed", "round", metric], []
    for read in (read for read in cells if read.ran):
        frame = pd.DataFrame({"round": read.round.seeds, metric: read.value.seeds})
        for spent in read.spent:
            named = "_".join(filter(None, ("epsilon", spent.level)))
            frame = frame.assign(**{named: spent.epsilon.seeds, f"{named}_status": spent.status})
        key = {"table": name, "row": read.row.key, "column": read.column, "run": read.cell.run}
        frames.append(frame.rename_axis("seed").reset_index().assign(**key))
    every = pd.concat(frames) if frames else pd.DataFrame(columns=first)
    return every.astype({"round": "Int64"})[[*first, *every.columns.drop(first)]]


# For people.


def blocks(declared: AccuracyTable, cells: Sequence[ReadCell]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Columns that the paper prints with ours beside them, and those that only we have, if both are there.

    A row is its accuracies, what each cost, and the round where the paper says one. A row of which
    nothing was run is left out, unless there is no other.
    """
    printed = {read.column for read in cells if read.cell.published is not None}
    theirs = [name for name in declared.labels if name in printed]
    ours = [name for name in declared.labels if name not in printed]
    if theirs and ours:
        return block(declared, cells, theirs), block(declared, cells, ours)
    return block(declared, cells, theirs or ours), None


def block(declared: AccuracyTable, cells: Sequence[ReadCell], columns: Sequence[str]) -> pd.DataFrame:
    """Return these columns of the table, in text."""
    ran = {read.row.key for read in cells if read.ran}
    lines: list[list[str]] = []
    for row in declared.rows:
        if row.key in ran or not ran:
            lines += row_lines(declared, [read for read in cells if read.row.key == row.key], columns)
    return pd.DataFrame(lines, columns=[declared.heading, *(declared.labels[name] for name in columns)])


def row_lines(
    declared: AccuracyTable, cells: Sequence[ReadCell], columns: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the lines of a row: the accuracies, and below them every ε and round of which any is known."""
    row, shown = cells[0].row, [read for read in cells if read.column in columns]
    yield [row_heading(row, cells), *(metric_text(declared, read) for read in shown)]
    below = spent_lines(declared, row, shown)
    if any(cell.round for row in declared.rows for cell in row.published.values()):
        below["round"] = [round_text(read) for read in shown]
    yield from ([INDENT + head, *texts] for head, texts in below.items() if any(texts))


def row_heading(row: Row, cells: Iterable[ReadCell]) -> str:
    """Return what a row is called: its label, with its clients where they are not the paper's, or these."""
    clients = next((read.facts["clients"] for read in cells if read.ran), row.clients)
    if not row.label:
        return f"{clients:,}"
    return row.label if clients == row.clients else f"{row.label} (here N = {clients:,})"


def spent_lines(declared: AccuracyTable, row: Row, cells: Sequence[ReadCell]) -> dict[str, list[str]]:
    """Return what a row cost, by level: before an ε stands its δ, unless a note says it of all rows."""
    every, lines = deltas_by_level(declared, declared.rows), dict[str, list[str]]()
    for level, deltas in deltas_by_level(declared, [row]).items():
        named = deltas if len(every[level]) > 1 else []
        head = ", ".join([WHOSE[level], *(f"δ={numbers.delta(delta)}" for delta in named)])
        lines[head] = [spent_text(read, level) for read in cells]
    return lines


def round_text(read: ReadCell) -> str:
    """Text of the round at which a cell was read, and of what is published of it."""
    measured = numbers.round_range(read.round) if read.ran else ""
    return in_brackets(measured, f"{read.cell.published_round or ''}")


def metric_text(declared: AccuracyTable, read: ReadCell) -> str:
    """Text of the metric in a cell, and of what is published of it, with its spread."""
    metric, digits = METRICS[declared.metric], printed_digits(declared)
    measured = metric.show(read.value) if read.ran else numbers.NONE
    theirs = (value for value in (read.cell.published, read.cell.published_std) if value is not None)
    printed = " ± ".join(f"{metric.factor * value:.{digits}f}" for value in theirs)
    return in_brackets(UNSTABLE if read.unstable else measured, printed)


def spent_text(read: ReadCell, level: str) -> str:
    """Text of an ε at a level; how much that of seeds differs is in the CSV."""
    measured = numbers.NONE if level in read.cell.free else ""
    for spent in read.spent:
        if spent.level == level:
            mean = spent.epsilon.seeds.mean(skipna=False)
            measured = numbers.epsilon_of_seeds([mean], spent.status)
    budgets = read.cell.within if read.cell.published is not None else ()
    printed = next((f"{budget.epsilon:g}" for budget in budgets if budget.unit == level), "")
    return in_brackets(measured, printed)


def in_brackets(measured: str, printed: str) -> str:
    """Text of a number that was measured, and in brackets of what is published of it."""
    return f"{measured or numbers.NONE} ({printed})" if printed else measured


def printed_digits(declared: AccuracyTable) -> int:
    """Return the number of digits that the paper prints after the point, of fractions in percent."""
    factor = METRICS[declared.metric].factor
    cells = (declared.cell(row, name).published for row in declared.rows for name in declared.labels)
    printed = (f"{factor * value:.6g}" for value in cells if value is not None)
    return max((len(text.partition(".")[2]) for text in printed), default=0)


def last_digit(declared: AccuracyTable) -> float:
    """Return half of the last digit that the paper prints."""
    return 0.5 * 10.0 ** -printed_digits(declared) / METRICS[declared.metric].factor
