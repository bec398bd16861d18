"""Accuracies in the paper's layout, what is published in brackets, and below each the ε that it cost.

A cell is read at the last round, or within budgets at one level or at both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.statement import attacker_accuracy, status
from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.paper.tables import BASELINE, AccuracyTable, Cell, Row, full_title
from fedpriv.report import numbers
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import (
    LEVELS,
    SEARCHED,
    accountings,
    footnotes,
    meaning_text,
    preset_notes,
    substitutes_title,
)
from fedpriv.report.numbers import (
    ANOTHER_NETWORK,
    CUT,
    MEANT,
    NOT_JUDGED,
    NOT_RUN,
    STATISTIC,
    SUBSTITUTE,
    UNSTABLE,
    Number,
    instability,
    reach_verdict,
    selector_words,
    tidy,
)
from fedpriv.report.reading import MEANING, READING, epsilon_at, ledger_rows, meaning, reading
from fedpriv.report.render import INDENT, PrintedTable
from fedpriv.report.results import Results, rows_of
from fedpriv.report.sample import ACCURACY
from fedpriv.trace import EVALUATED

KEY = ["table", "row", "column", "source", "quantity"]
OF_CELL = ("verdict", "status", "substitute_for", "cut", "run", "clients")
LONG_COLUMNS = [*KEY, *STATISTIC, *OF_CELL, *SELECTOR_COLUMNS, *MEANING]
WHOSE = {"": "ε", "client": "client ε", "instance": "example ε"}
OK, NO_ROUND = "ok", "no round within the budget"
NOTHING_SPENT = {"kind": "guarantee", "epsilon_status": status("guarantee")}


@dataclass(frozen=True)
class Spent:
    """An ε of a cell at the rounds where it is read, by seed, and what it means by column of the ledger."""

    level: str  # client, instance, or nothing where a table has one ε only
    epsilons: pd.Series
    meaning: Number
    delta: float = 0.0


@dataclass(frozen=True)
class ReadCell:
    """A cell of a table: what the paper prints there, and what was read of its run."""

    row: Row
    column: str
    cell: Cell
    status: str = NOT_RUN  # ok; not run, no round within the budget, no such ε in the ledger, not measured
    unstable: str = ""  # the reason, where an accuracy says nothing of its run
    read: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=READING))
    spent: Sequence[Spent] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # clients, substitute_for and cut of what was run

    @property
    def ran(self) -> bool:
        """Whether there is anything to read."""
        return self.status != NOT_RUN

    @property
    def why(self) -> str:
        """Why the number says nothing of what is published; empty: it says something."""
        if np.isneginf(self.read["value"].to_numpy(dtype=float)).any():
            return "diverged"
        return self.unstable or self.status.removeprefix(OK)


def accuracy_table(results: Results, declared: AccuracyTable, name: str) -> PrintedTable:
    """Return the table in the paper's layout, what is published in brackets, our columns apart."""
    cells = read_cells(results, declared)
    theirs, ours = blocks(declared, cells)
    used = results.of(*declared.runs())
    selectors = [selector for column in declared.columns.values() for selector in column.by_unit().values()]
    baselines = {place.row.key: place for place in cells if place.column == BASELINE}
    lines = [
        {"row": place.row.key, "column": place.column, **line}
        for place in cells
        for line in (
            *published_lines(declared, place, baselines.get(place.row.key)),
            *reproduced_lines(declared, place),
        )
    ]
    return PrintedTable(
        name,
        full_title(declared) + substitutes_title(used.runs),
        tidy(name, LONG_COLUMNS, lines),
        theirs,
        [caveats(declared, cells, used)],
        details=[*reading_notes(declared, cells), *accountings(selectors), *footnotes(used)],
        ours=ours,
        seeds=seed_lines(name, declared.metric, cells),
        cells=METRICS[declared.metric].noun,
    )


def read_cells(results: Results, declared: AccuracyTable) -> list[ReadCell]:
    """Return the cells of a table, row by row."""
    return [read_cell(results, declared, row, name) for row in declared.rows for name in declared.labels]


def read_cell(results: Results, declared: AccuracyTable, row: Row, column: str) -> ReadCell:
    """Read the metric of a cell, the round, and what had been spent by then."""
    cell = declared.cell(row, column)
    if not results.has(cell.run):
        return ReadCell(row, column, cell)
    read = reading(results, cell, declared.metric)
    spent = [Spent(level, read["round"] * 0.0, NOTHING_SPENT) for level in cell.free]
    for budget, way in zip(cell.within, ways_of_counting(cell), strict=True):
        rows = ledger_rows(results, cell.run, budget.selector)
        epsilons = epsilon_at(results, cell.run, budget.selector, read["round"])
        delta = rows["delta"].iloc[0] if len(rows) else budget.delta
        spent.append(Spent(budget.unit, epsilons, way | meaning(rows), delta))
    state = NO_ROUND if any(read["value"].isna()) else OK
    if not all("epsilon_status" in spending.meaning for spending in spent):
        state = "no such ε in the ledger"
    if read.empty:
        state = "not measured"
    judged = cell.within and state == OK and declared.metric == ACCURACY
    why = instability(results, cell.run, read) if judged else ""
    clients = rows_of(results.rounds, cell.run)["population"].iloc[0]
    facts = {"clients": clients} | {name: results.fact(cell.run, name) for name in ("substitute_for", "cut")}
    return ReadCell(row, column, cell, state, why, read, spent, facts)


def ways_of_counting(cell: Cell) -> list[Number]:
    """Return the way of counting of each budget, by column."""
    return [
        selector_words(budget.selector) | ({"unit": budget.unit} if budget.unit else {})
        for budget in cell.within
    ]


def published_lines(declared: AccuracyTable, place: ReadCell, baseline: ReadCell | None) -> Iterator[Number]:
    """Yield what the paper prints in one cell, with the verdict; `baseline` is that of its row."""
    cell, metric = place.cell, declared.metric
    if cell.published is None:
        return
    key, ways = {"source": "published", "clients": place.row.clients}, ways_of_counting(cell)
    alone = key | (ways[0] if len(ways) == 1 else {})  # several ε have lines of their own
    verdict = cell_verdict(declared, place, baseline)
    yield alone | {"quantity": metric, "value": cell.published, "verdict": verdict}
    if cell.published_std:
        yield alone | {"quantity": f"{metric}_std", "value": cell.published_std}
    if cell.published_round:
        yield alone | {"quantity": "round", "value": cell.published_round}
    for budget, way in zip(cell.within, ways, strict=True):
        yield key | way | {"quantity": "epsilon", "value": budget.epsilon}
        yield key | way | {"quantity": "delta", "value": budget.delta}


def reproduced_lines(declared: AccuracyTable, place: ReadCell) -> Iterator[Number]:
    """Yield what was measured for one cell: the metric, the round, and what had been spent by then."""
    key: Number = {"source": "reproduced", "run": place.cell.run, "status": place.status, **place.facts}
    ways = [spent.meaning for spent in place.spent] if place.ran else ways_of_counting(place.cell)
    alone = key | (ways[0] if len(place.cell.within) == 1 else {})
    if not place.ran:
        yield alone | {"quantity": declared.metric}
        return
    value = {"sample": place.read["value"], "status": place.unstable or place.status}
    yield alone | {"quantity": declared.metric} | value
    yield alone | {"quantity": "round", "sample": place.read["round"]}
    for spent in place.spent:
        known, epsilons = key | spent.meaning, spent.epsilons
        yield known | {"quantity": "epsilon", "sample": epsilons}
        if spent.level not in place.cell.free:
            yield known | {"quantity": "delta", "sample": epsilons * 0 + spent.delta}
            yield known | {"quantity": "attacker_accuracy", "sample": epsilons.map(attacker_accuracy)}


def cell_verdict(declared: AccuracyTable, ours: ReadCell, baseline: ReadCell | None) -> str:
    """Verdict on a published number: whether it is reached, or why that is not said.

    Where a row is of another network than the paper's, its number is reached where it is no further from its
    `baseline` than the published one is from theirs.
    """
    own = ours.row.baseline if ours.row.own_baseline else None
    baselines = [baseline] if own and baseline and ours.column != BASELINE else []
    if ours.ran and ours.cell.not_judged:
        return f"{NOT_JUDGED}: {ours.cell.not_judged}"
    for place in (ours, *baselines):
        if place.why:
            return place.why
    if ours.facts["substitute_for"]:
        return SUBSTITUTE
    if any(place.facts["cut"] for place in (ours, *baselines)):
        return CUT
    values, published, digit = ours.read["value"], ours.cell.published or 0.0, last_digit(declared)
    if own and baselines:
        values = (values - baselines[0].read["value"]).dropna()
        published, digit = published - own.value, 2 * digit
    margin = numbers.interval(values)
    if own and ours.column == BASELINE:
        return ANOTHER_NETWORK
    spread, less = ours.cell.published_std or 0.0, EVALUATED[declared.metric].less
    return reach_verdict(margin, published, digit, spread, less)


def seed_lines(name: str, metric: str, cells: Iterable[ReadCell]) -> pd.DataFrame:
    """Return a line for every seed of a cell: the metric and ε, at the round at which the cell is read.

    An ε has the level behind its name where a table has two, and what it is beside it. A seed that has
    diverged has -inf.
    """
    first, frames = ["table", "row", "column", "run", "seed", "round", metric], []
    for place in (place for place in cells if place.ran):
        frame = place.read.rename(columns={"value": metric})
        for spent in place.spent:
            named = "_".join(filter(None, ("epsilon", spent.level)))
            state = spent.meaning.get("epsilon_status", "")
            frame = frame.assign(**{named: spent.epsilons, f"{named}_status": state})
        key = {"table": name, "row": place.row.key, "column": place.column, "run": place.cell.run}
        frames.append(frame.rename_axis("seed").reset_index().assign(**key))
    every = pd.concat(frames) if frames else pd.DataFrame(columns=first)
    return every.astype({"round": "Int64"})[[*first, *every.columns.drop(first)]]


def blocks(declared: AccuracyTable, cells: Sequence[ReadCell]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Columns that the paper prints with ours beside them, and those that only we have, if both are there.

    A row is its accuracies, what each cost, and the round where the paper says one. A row of which
    nothing was run is left out, unless there is no other.
    """
    ran = {place.row.key for place in cells if place.ran}
    printed = {place.column for place in cells if place.cell.published is not None}
    rows = [row for row in declared.rows if row.key in ran or not ran]
    by_row = {row.key: [place for place in cells if place.row.key == row.key] for row in rows}

    def block(columns: Sequence[str]) -> pd.DataFrame:
        lines = [line for row in rows for line in row_lines(declared, by_row[row.key], columns)]
        return pd.DataFrame(lines, columns=[declared.heading, *(declared.labels[name] for name in columns)])

    theirs = [name for name in declared.labels if name in printed]
    ours = [name for name in declared.labels if name not in printed]
    return block(theirs or ours), block(ours) if theirs and ours else None


def row_lines(
    declared: AccuracyTable, cells: Sequence[ReadCell], columns: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the lines of a row: the accuracies, and below them every ε and round of which any is known."""
    row, places = cells[0].row, [place for place in cells if place.column in columns]
    clients = next((place.facts["clients"] for place in cells if place.ran), row.clients)
    heading = row.label or f"{clients:,}"
    heading += f" (here N = {clients:,})" * bool(row.label and clients != row.clients)
    yield [heading, *(metric_text(declared, place) for place in places)]
    # Before an ε stands its δ, unless a note says it of all rows.
    of_all, lines = deltas_by_level(declared, declared.rows), dict[str, list[str]]()
    for level, deltas in deltas_by_level(declared, [row]).items():
        named = deltas if len(of_all[level]) > 1 else []
        head = ", ".join([WHOSE[level], *(f"δ={numbers.delta(delta)}" for delta in named)])
        lines[head] = [spent_text(place, level) for place in places]
    if any(cell.round for row in declared.rows for cell in row.published.values()):
        rounds = [numbers.round_range(place.read["round"]) if place.ran else "" for place in places]
        printed = [f"{place.cell.published_round or ''}" for place in places]
        lines["round"] = list(map(in_brackets, rounds, printed))
    yield from ([INDENT + head, *texts] for head, texts in lines.items() if any(texts))


def deltas_by_level(declared: AccuracyTable, rows: Iterable[Row]) -> dict[str, list[float]]:
    """Return by level the δ at which the ε of rows are counted."""
    deltas: dict[str, set[float]] = {}
    for cell in (declared.cell(row, name) for row in rows for name in declared.columns):
        for level in cell.free:
            deltas.setdefault(level, set())
        for budget in cell.within:
            deltas.setdefault(budget.unit, set()).add(budget.delta)
    return {level: sorted(some) for level, some in deltas.items()}


def metric_text(declared: AccuracyTable, place: ReadCell) -> str:
    """Text of the metric in a cell, and of what is published of it, with its spread."""
    metric, digits = METRICS[declared.metric], printed_digits(declared)
    measured = metric.show(place.read["value"]) if place.ran else numbers.NONE
    theirs = (value for value in (place.cell.published, place.cell.published_std) if value is not None)
    printed = " ± ".join(f"{metric.factor * value:.{digits}f}" for value in theirs)
    return in_brackets(UNSTABLE if place.unstable else measured, printed)


def spent_text(place: ReadCell, level: str) -> str:
    """Text of an ε at a level; how much that of seeds differs is in the CSV."""
    measured = numbers.NONE if level in place.cell.free else ""
    for spent in place.spent:
        if spent.level == level:
            mean, state = spent.epsilons.mean(skipna=False), spent.meaning.get("epsilon_status", "")
            measured = numbers.epsilon_of_seeds([mean], state)
    budgets = place.cell.within if place.cell.published is not None else ()
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


def reading_notes(declared: AccuracyTable, cells: Sequence[ReadCell]) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    noun = METRICS[declared.metric].noun
    labels = {name: column.label for name, column in declared.columns.items() if column.by_unit()}
    if not labels:
        return [f"{noun[0].upper()}{noun[1:]} at the last round."]
    rounds: dict[str, list[str]] = {}
    for place in cells:
        if place.ran and place.column in labels:
            at = f"{labels[place.column]} {numbers.round_range(place.read['round'])}"
            rounds.setdefault(place.row.cited, []).append(at)
    read = "; ".join(f"{row}: {', '.join(some)}" for row, some in rounds.items())
    notes = [f"Read at round: {read}."] if rounds else []
    names: dict[str, list[str]] = {}
    for name, label in labels.items():
        column = declared.columns[name]
        means = {
            level: counting_text(cells, name, level, selector) for level, selector in column.by_unit().items()
        }
        if "" in means:
            other = declared.labels.get(column.within)
            budget = f"the ε published for {other}" if other else "the published budget"
            until = f"before ε ({means['']}) exceeds {budget}, and the ε spent by then."
        else:
            both = ", ".join(f"{LEVELS[level]} ε ({words})" for level, words in means.items())
            until = f"before any ε exceeds its budget, and the ε spent by then: {both}."
        names.setdefault(until, []).append(label)
    notes += [f"{'; '.join(some)}: read at the last evaluated round {until}" for until, some in names.items()]
    if BASELINE in declared.labels:
        notes.append(f"Baseline: {noun} at the last round.")
    for place in cells:
        for budget, spent in zip(place.cell.within, place.spent, strict=False):
            if "epsilon_status" not in spent.meaning:
                notes.append(f"The ledger of {place.cell.run} holds no ε ({budget.selector}).")
    return notes + ([SEARCHED.format(declared.searched)] if declared.searched else [])


def counting_text(cells: Sequence[ReadCell], column: str, level: str, selector: EpsilonSelector) -> str:
    """Way of counting an ε, with its meaning in the ledgers of a column's runs."""
    of_column = [place for place in cells if place.column == column]
    means = [spent.meaning for place in of_column for spent in place.spent if spent.level == level]
    texts = {meaning_text(words) for words in means if "relation" in words}
    return f"{selector}; {' or '.join(sorted(texts)) or selector.kind}"


def caveats(declared: AccuracyTable, cells: Sequence[ReadCell], used: Results) -> str:
    """Return the note that no reader can do without: signs, and differences from the paper."""
    sentences, reasons = [f"{'; '.join(signs(declared, cells))}."], dict[str, list[str]]()
    for place in cells:
        if place.unstable:
            where = f"{place.row.label or f'{place.row.clients:,}'} ({declared.labels[place.column]})"
            reasons.setdefault(place.unstable.removeprefix(f"{UNSTABLE}: "), []).append(where)
    sentences += [f"Unstable: {MEANT[why]} at {', '.join(places)}." for why, places in reasons.items()]
    if any(place.status == NO_ROUND for place in cells):
        sentences.append(f"{numbers.NONE}: some seed has no evaluated round within the budget.")
    if rows := [row.cited for row in declared.rows if row.own_baseline]:
        which = f" at {', '.join(rows)}" if len(rows) < len(declared.rows) else ""
        sentences.append(f"Another network than the paper's{which}: it is held against its own baseline.")
    ran = {place.row.key for place in cells if place.ran}
    missing = [
        place.row.cited + f" ({declared.labels[place.column]})" * (place.row.key in ran)
        for place in cells
        if not place.ran
    ]
    return " ".join([*sentences, *preset_notes(used.runs, missing)])


def signs(declared: AccuracyTable, cells: Sequence[ReadCell]) -> Iterator[str]:
    """Yield what the signs of a table mean."""
    metric = METRICS[declared.metric]
    yield f"{metric.noun[0].upper()}{metric.noun[1:]}{' in %' * metric.percent}"
    seeds = sorted({len(place.read) for place in cells if place.ran}) or [0]
    if seeds[-1] > 1:
        many = f"{seeds[0]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        yield f"x ± y: mean and half-width of the 95 % Student-t interval over {many}"
    if seeds[0] == 1:
        yield "one seed has no interval"
    if any(place.cell.published is not None for place in cells):
        yield "in brackets: published"
    if any(place.cell.published_std for place in cells):
        yield "a published ± is a standard deviation, and widens the interval"
    for level, deltas in deltas_by_level(declared, declared.rows).items():
        if len(deltas) == 1:
            yield f"{WHOSE[level]} at δ = {numbers.delta(*deltas)}"
