"""Accuracies, published under reproduced: at the last round, or within budgets at one level or at both."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.spend import attacker_accuracy, status
from fedpriv.paper.spends import SPEND_COLUMNS, SpendSelector
from fedpriv.paper.tables import BASELINE, AccuracyTable, Cell, EpsilonBudget, Row, titled
from fedpriv.report import numbers
from fedpriv.report.long import STATISTIC, Number, display_frame, over_seeds, spend_words, tidy
from fedpriv.report.notes import LAWS, LEVELS, RELATIONS, SEARCHED, accountings, footnotes, stand_ins
from fedpriv.report.numbers import (
    ANOTHER_NETWORK,
    CUT,
    MEANT,
    REACHED,
    SUBSTITUTE,
    UNSTABLE,
    is_unstable,
    outcome,
    reached,
    unstable,
    without_interval,
)
from fedpriv.report.reading import MEANING, difference, epsilon_at, meaning, reading, spent
from fedpriv.report.render import PrintedTable
from fedpriv.report.results import Results, rows_of


def cell_numbers(results: Results, declared: AccuracyTable) -> list[Number]:
    """Return every number of `declared`, published and reproduced.

    An ε has its `spend`, its `delta` and its `level` beside it: client, instance, or nothing if a table has
    one ε only. `status` of a reproduced number: ok, not run, no round within the budget, no such ε in the
    ledger, or of an accuracy "unstable" with the reason.
    """
    return [
        {"row": row.key, "column": name, **line}
        for row in declared.rows
        for name in declared.labels
        for cell in [declared.cell(row, name)]
        for line in (*published(row, cell), *reproduced(results, cell))
    ]


def words(budget: EpsilonBudget) -> Number:
    """Return which ε a budget means, by column."""
    return spend_words(budget.spend) | ({"unit": budget.unit} if budget.unit else {})


def shared(found: Sequence[Number]) -> Number:
    """Return what an accuracy is read within, where that is one ε; several have lines of their own."""
    return found[0] if len(found) == 1 else {}


def published(row: Row, cell: Cell) -> Iterator[Number]:
    """Yield what the paper prints in one cell."""
    if cell.published is None:
        return
    key = {"source": "published", "clients": row.clients}
    within = [words(budget) for budget in cell.within]
    yield key | shared(within) | {"quantity": "accuracy", "value": cell.published}
    if cell.published_round:
        yield key | shared(within) | {"quantity": "round", "value": cell.published_round}
    for budget, meant in zip(cell.within, within, strict=True):
        known = key | meant | {"level": budget.unit, "spend": budget.spend, "delta": budget.delta}
        yield known | {"quantity": "epsilon", "value": budget.epsilon}
        yield known | {"quantity": "delta", "value": budget.delta}


def reproduced(results: Results, cell: Cell) -> Iterator[Number]:
    """Yield what was measured for one cell: accuracy, round, and what had been spent by then."""
    key: Number = {"source": "reproduced", "run": cell.run}
    ledgers = [spent(results, cell.run, budget.spend) for budget in cell.within]
    within = [words(budget) | meaning(rows) for budget, rows in zip(cell.within, ledgers, strict=True)]
    if not results.has(cell.run):
        yield key | shared(within) | {"quantity": "accuracy", "status": "not run"}
        return
    read = reading(results, cell)
    clients = rows_of(results.rounds, cell.run)["population"].iloc[0]
    key |= {"clients": clients} | {name: results.fact(cell.run, name) for name in ("stand_in_for", "cut")}
    key["status"] = "no round within the budget" if any(read["accuracy"].isna()) else "ok"
    if any(rows.empty for rows in ledgers):
        key["status"] = "no such ε in the ledger"
    why = unstable(results, cell.run, read) if cell.within and key["status"] == "ok" else ""
    said = {"status": why} if why else {}
    yield key | shared(within) | {"quantity": "accuracy", "sample": read["accuracy"]} | said
    yield key | shared(within) | {"quantity": "round", "sample": read["round"]}
    for level in cell.free:
        nothing = {"kind": "guarantee", "epsilon_status": status("guarantee")}
        yield key | nothing | {"level": level, "quantity": "epsilon", "sample": read["round"] * 0.0}
    for budget, rows, meant in zip(cell.within, ledgers, within, strict=True):
        epsilons = epsilon_at(results, cell.run, budget.spend, read["round"])
        delta = rows["delta"].iloc[0] if len(rows) else budget.delta
        known = key | meant | {"level": budget.unit, "spend": budget.spend, "delta": delta}
        yield known | {"quantity": "epsilon", "sample": epsilons}
        yield known | {"quantity": "delta", "sample": epsilons * 0 + delta}
        yield known | {"quantity": "attacker_accuracy", "sample": epsilons.map(attacker_accuracy)}


KEY = ["table", "row", "column", "source", "quantity"]
OF_CELL = ("verdict", "status", "stand_in_for", "cut", "run", "clients")
COLUMNS = [*KEY, *STATISTIC, *OF_CELL, *SPEND_COLUMNS, *MEANING]
CELL = ("table", "row", "column", "run")
ABSENT = "not run, or some seed has no evaluated round within the budget"
AT_END = "Accuracy at the last round."


def accuracy_table(results: Results, declared: AccuracyTable, name: str) -> PrintedTable:
    """Return the table in the paper's layout, with the round at which each column was read beside it."""
    found = [*judged(declared, cell_numbers(results, declared))]
    display = display_frame(shown_lines(declared, found))
    used = results.of(*declared.runs())
    notes = [*how_read(declared, found), *run_notes(used, declared)]
    notes[:0] = [*note_unstable(declared, found), *note_own_baseline(declared)]
    levels = deltas(declared)
    if levels and (display == numbers.NONE).to_numpy().any():
        notes.insert(0, f"{numbers.NONE}: {ABSENT}{'s' if len(levels) > 1 else ''}.")
    title = titled(declared) + stand_ins(used.runs)
    seeds = seed_lines(name, found)
    return PrintedTable(name, title, tidy(name, COLUMNS, found), display, notes, seeds=seeds, printed=True)


def judged(declared: AccuracyTable, found: Sequence[Number]) -> Iterator[Number]:
    """Yield numbers, a published accuracy with its verdict: whether ours reaches it, or why not said."""
    rows = {row.key: row for row in declared.rows}
    ours = {
        (one["row"], one["column"]): one
        for one in found
        if (one["source"], one["quantity"]) == ("reproduced", "accuracy")
    }
    for one in found:
        if (one["source"], one["quantity"]) != ("published", "accuracy"):
            yield one
            continue
        row, mine = rows[one["row"]], ours[one["row"], one["column"]]
        if not (row.own_baseline and row.baseline):
            said = verdict(mine, one["value"])
        elif one["column"] != BASELINE:
            said = verdict(mine, one["value"], (ours[row.key, BASELINE], row.baseline.accuracy))
        else:
            said = verdict(mine, one["value"])
            said = ANOTHER_NETWORK if outcome(said) in REACHED.values() else said
        yield one | {"verdict": said}


def verdict(ours: Number, published: float, baseline: tuple[Number, float] | None = None) -> str:
    """Return whether a published accuracy is reached, or why that is not said.

    With a `baseline`, ours and the published one, it is reached where ours is no further below its baseline.
    """
    for one in (ours, *([baseline[0]] if baseline else [])):
        if (status := (one | over_seeds(one))["status"]) != "ok":
            return status
    if ours["stand_in_for"]:
        return SUBSTITUTE
    if ours["cut"] or (baseline and baseline[0]["cut"]):
        return CUT
    if baseline is None:
        return reached(numbers.interval(ours["sample"]), published)
    below = difference(ours["sample"], baseline[0]["sample"])
    return reached(numbers.interval(below), published - baseline[1], numbers=2)


def seed_lines(name: str, found: Sequence[Number]) -> pd.DataFrame:
    """Return a line for every seed of a cell: accuracy and ε, at the round at which the cell is read.

    An ε has the level behind its name where a table has two, and what it is beside it. A seed that has
    diverged has -inf.
    """
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in found:
        if "sample" in one and one["quantity"] in ("accuracy", "round", "epsilon"):
            named = "_".join(filter(None, (one["quantity"], one.get("level", ""))))
            cell = cells.setdefault((name, one["row"], one["column"], one["run"]), {})
            cell[named] = one["sample"]
            if one["quantity"] == "epsilon":
                cell[f"{named}_status"] = one.get("epsilon_status", "")
    frames = [
        pd.DataFrame(values).rename_axis("seed").reset_index().assign(**dict(zip(CELL, cell, strict=True)))
        for cell, values in cells.items()
    ]
    first = [*CELL, "seed", "round", "accuracy"]
    every = pd.concat(frames) if frames else pd.DataFrame(columns=first)
    return every.astype({"round": "Int64"})[[*first, *every.columns.drop(first)]]


def shown_lines(declared: AccuracyTable, found: Sequence[Number]) -> list[dict[tuple[str, str], str]]:
    """Return of every row what was measured, a dash where there is no number, and what was published."""
    layout, lines = headings(declared), []
    for row in declared.rows:
        for source, nothing in (("reproduced", numbers.NONE), ("published", "")):
            of_line = [one for one in found if (one["row"], one["source"]) == (row.key, source)]
            there = {place(one): one for one in of_line if "sample" in one or "value" in one}
            clients = next((one["clients"] for one in there.values()), row.clients)
            if source == "published" and row.free and not there:
                continue
            said = source if there or source == "published" else "not run"
            line = {("", declared.heading): row_heading(row, clients), ("", "Source"): said}
            cells = {layout[key]: text(declared, there[key]) if key in there else nothing for key in layout}
            lines.append(line | cells)
    return lines


def place(number: Number) -> tuple[str, ...]:
    """Return what tells a number from the others of its line."""
    return number["quantity"], number["column"], number.get("level", "")


def headings(declared: AccuracyTable) -> dict[tuple[str, ...], tuple[str, str]]:
    """Return the headings of the numbers that are shown, by their `place`, in order."""
    columns = declared.columns.items()
    found = {("accuracy", name, ""): ("Accuracy (%)", label) for name, label in declared.labels.items()}
    for level, delta in deltas(declared).items():
        whose = LEVELS[level].capitalize() if level else "Privacy"
        heading = f"{whose} ε at δ = {numbers.delta(delta)}" if delta else f"{whose} (ε, δ)"
        counted = {name: column.label for name, column in columns if level in column.by_unit()}
        found |= {("epsilon", name, level): (heading, label) for name, label in counted.items()}
    dated = {name for row in declared.rows for name, one in row.published.items() if one.round}
    rounds = {("round", name, ""): one for name, one in columns if one.by_unit() or name in dated}
    return found | {key: ("Read at round", column.label) for key, column in rounds.items()}


def deltas(declared: AccuracyTable) -> dict[str, float | None]:
    """Return by level the one δ that its heading says; none if the cells show it."""
    cells = [declared.cell(row, name) for row in declared.rows for name in declared.columns]
    found: dict[str, set[float]] = {}
    for budget in (budget for cell in cells for budget in cell.within):
        found.setdefault(budget.unit, set()).add(budget.delta)
    return {level: min(some) if level and len(some) == 1 else None for level, some in found.items()}


def text(declared: AccuracyTable, number: Number) -> str:
    """Return a number in words; an ε with its δ, unless the heading says it."""
    measured = "sample" in number
    found = number["sample"] if measured else number["value"]
    if number["quantity"] == "accuracy":
        if is_unstable(number.get("status")):
            return without_interval(np.mean(found))
        if measured:
            return numbers.percent(found)
        said = number["verdict"]
        said = said if said == CUT or outcome(said) in REACHED.values() else ""
        return ", ".join(filter(None, (f"{100 * found:.{digits(declared)}f}", said)))
    if number["quantity"] == "round":
        return numbers.rounds(found) if measured else f"{found}"
    if "delta" not in number:  # it costs nothing, at any
        return "0"
    epsilon = numbers.epsilon(found, number.get("epsilon_status", "")) if measured else f"{found:g}"
    alone = number["delta"] == deltas(declared)[number["level"]] or epsilon == numbers.NONE
    return epsilon if alone else f"({epsilon}, {numbers.delta(number['delta'])})"


def digits(declared: AccuracyTable) -> int:
    """Return how many digits the paper prints after the point of a percentage."""
    cells = (declared.cell(row, name).published for row in declared.rows for name in declared.labels)
    printed = (f"{100 * value:.6g}" for value in cells if value is not None)
    return max((len(text.partition(".")[2]) for text in printed), default=0)


def row_heading(row: Row, clients: int) -> str:
    """Return what a row is called; of so many `clients`, if they are not those declared."""
    if not row.label:
        return f"{clients:,}"
    return row.label if clients == row.clients else f"{row.label} (here N = {clients:,})"


def how_read(declared: AccuracyTable, lines: Sequence[Number]) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    found: dict[str, list[str]] = {}
    for name, column in declared.columns.items():
        means = {level: stated(lines, name, level, spend) for level, spend in column.by_unit().items()}
        if "" in means:
            other = declared.labels.get(column.within)
            budget = f"the ε published for {other}" if other else "the published budget"
            said = f"before ε ({means['']}) exceeds {budget}, and the ε spent by then."
        else:
            both = ", ".join(f"{LEVELS[level]} ε ({words})" for level, words in means.items())
            said = f"before any ε exceeds its budget, and the ε spent by then: {both}."
        if means:
            found.setdefault(said, []).append(column.label)
    if not found:
        return [AT_END]
    read = "read at the last evaluated round"
    notes = [f"{'; '.join(labels)}: {read} {said}" for said, labels in found.items()]
    baseline = ["Baseline: accuracy at the last round."] if BASELINE in declared.labels else []
    absent = (
        f"The ledger of {line['run']} holds no ε ({line['spend']})."
        for line in lines
        if line["quantity"] == "epsilon" and line["source"] == "reproduced" and "epsilon_status" not in line
    )
    return [*notes, *baseline, *absent]


def stated(lines: Sequence[Number], column: str, level: str, spend: SpendSelector) -> str:
    """Return how an ε is counted, with what the ledgers of a column's runs say it means."""
    there = [line for line in lines if place(line) == ("epsilon", column, level) and "relation" in line]
    meant = ""
    if there:
        unit, relation, law = (
            ", ".join(sorted({words[line[name]] for line in there}))
            for name, words in zip(MEANING, (LEVELS, RELATIONS, LAWS), strict=False)
        )
        meant = f"; {unit}, {relation} neighbours, {law}"
    are = " or ".join(sorted({line["epsilon_status"] for line in there})) or spend.kind
    return f"{spend}; {are}{meant}"


def note_unstable(declared: AccuracyTable, lines: Sequence[Number]) -> Iterator[str]:
    """Yield the note that says which accuracies say nothing of their runs, and why."""
    heads = {row.key: row.label or f"{row.clients:,}" for row in declared.rows}
    reasons: dict[str, list[str]] = {}
    for line in lines:
        if is_unstable(line.get("status")):
            cell = f"{heads[line['row']]} ({declared.labels[line['column']]})"
            reasons.setdefault(line["status"].removeprefix(f"{UNSTABLE}: "), []).append(cell)
    if reasons:
        said = "; ".join(f"{MEANT[why]} at {', '.join(cells)}" for why, cells in reasons.items())
        yield f"Unstable, a mean without an interval that decides nothing: {said}."


def note_own_baseline(declared: AccuracyTable) -> Iterator[str]:
    """Yield the note that says which rows are held against their own baseline."""
    if rows := [row.cited for row in declared.rows if row.own_baseline]:
        yield (
            f"{'; '.join(rows)}: another network than the paper's ran. An accuracy is reached where it is no "
            "further below its own baseline than the published one is below the published baseline."
        )


def run_notes(used: Results, declared: AccuracyTable) -> list[str]:
    """Return the notes about the runs of a table, whose results are `used`."""
    spends = [spend for column in declared.columns.values() for spend in column.by_unit().values()]
    missing = (run for run in declared.runs() if not used.has(run))
    searched = [SEARCHED.format(declared.searched)] if declared.searched else []
    return [*accountings(spends), *searched, *footnotes(used, missing)]
