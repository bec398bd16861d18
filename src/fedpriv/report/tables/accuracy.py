"""Accuracies in the paper's layout, what is published in brackets, and below each the ε that it cost.

A cell is read at the last round, or within budgets at one level or at both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.spend import attacker_accuracy, legend, status
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.paper.spends import SPEND_COLUMNS, SpendSelector
from fedpriv.paper.tables import BASELINE, AccuracyTable, Cell, EpsilonBudget, Row, full_title
from fedpriv.report import numbers
from fedpriv.report.long import STATISTIC, Number, seed_statistic, spend_words, tidy
from fedpriv.report.notes import LEVELS, RELATIONS, SEARCHED, accountings, footnotes, stand_ins
from fedpriv.report.numbers import (
    ANOTHER_NETWORK,
    CUT,
    MEANT,
    REACHED,
    SUBSTITUTE,
    UNSTABLE,
    instability,
    is_unstable,
    reach_verdict,
    verdict_alone,
)
from fedpriv.report.reading import MEANING, epsilon_at, ledger_rows, meaning, reading
from fedpriv.report.render import INDENT, PrintedTable
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
        for line in (*published_numbers(row, cell), *reproduced_numbers(results, cell))
    ]


def budget_columns(budget: EpsilonBudget) -> Number:
    """Way of counting a budget's ε, by column."""
    return spend_words(budget.spend) | ({"unit": budget.unit} if budget.unit else {})


def single_budget(found: Sequence[Number]) -> Number:
    """Budget that an accuracy is read within, where that is one ε; several have lines of their own."""
    return found[0] if len(found) == 1 else {}


def published_numbers(row: Row, cell: Cell) -> Iterator[Number]:
    """Yield what the paper prints in one cell."""
    if cell.published is None:
        return
    key = {"source": "published", "clients": row.clients}
    within = [budget_columns(budget) for budget in cell.within]
    spread = {"std": cell.published_std} if cell.published_std else {}
    yield key | single_budget(within) | {"quantity": "accuracy", "value": cell.published} | spread
    if spread:
        yield key | single_budget(within) | {"quantity": "accuracy_std", "value": cell.published_std}
    if cell.published_round:
        yield key | single_budget(within) | {"quantity": "round", "value": cell.published_round}
    for budget, meant in zip(cell.within, within, strict=True):
        known = key | meant | {"level": budget.unit, "spend": budget.spend, "delta": budget.delta}
        yield known | {"quantity": "epsilon", "value": budget.epsilon}
        yield known | {"quantity": "delta", "value": budget.delta}


def reproduced_numbers(results: Results, cell: Cell) -> Iterator[Number]:
    """Yield what was measured for one cell: accuracy, round, and what had been spent by then."""
    key: Number = {"source": "reproduced", "run": cell.run}
    ledgers = [ledger_rows(results, cell.run, budget.spend) for budget in cell.within]
    within = [
        budget_columns(budget) | meaning(rows) for budget, rows in zip(cell.within, ledgers, strict=True)
    ]
    if not results.has(cell.run):
        yield key | single_budget(within) | {"quantity": "accuracy", "status": "not run"}
        return
    read = reading(results, cell)
    clients = rows_of(results.rounds, cell.run)["population"].iloc[0]
    key |= {"clients": clients} | {name: results.fact(cell.run, name) for name in ("stand_in_for", "cut")}
    key["status"] = "no round within the budget" if any(read["accuracy"].isna()) else "ok"
    if any(rows.empty for rows in ledgers):
        key["status"] = "no such ε in the ledger"
    why = instability(results, cell.run, read) if cell.within and key["status"] == "ok" else ""
    said = {"status": why} if why else {}
    yield key | single_budget(within) | {"quantity": "accuracy", "sample": read["accuracy"]} | said
    yield key | single_budget(within) | {"quantity": "round", "sample": read["round"]}
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
LONG_COLUMNS = [*KEY, *STATISTIC, *OF_CELL, *SPEND_COLUMNS, *MEANING]
CELL = ("table", "row", "column", "run")
WHOSE = {"": "ε", "client": "client ε", "instance": "example ε"}
AT_END = "Accuracy at the last round."


def accuracy_table(results: Results, declared: AccuracyTable, name: str) -> PrintedTable:
    """Return the table in the paper's layout, what is published in brackets, our columns apart."""
    found = [*with_verdicts(declared, cell_numbers(results, declared))]
    theirs, ours = blocks(declared, found)
    used = results.of(*declared.runs())
    return PrintedTable(
        name,
        full_title(declared) + stand_ins(used.runs),
        tidy(name, LONG_COLUMNS, found),
        theirs,
        [*caveats(declared, found, used)],
        details=[*read_at(declared, found), *reading_notes(declared, found), *run_notes(used, declared)],
        ours=ours,
        seeds=seed_lines(name, found),
        printed=True,
    )


def with_verdicts(declared: AccuracyTable, found: Sequence[Number]) -> Iterator[Number]:
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
        own = row.own_baseline and row.baseline
        of_baseline = one["column"] == BASELINE
        baseline = (ours[row.key, BASELINE], own.accuracy) if own and not of_baseline else None
        said = accuracy_verdict(mine, one["value"], baseline, one.get("std", 0.0))
        compared = verdict_alone(said) in REACHED.values()
        yield one | {"verdict": ANOTHER_NETWORK if own and of_baseline and compared else said}


def accuracy_verdict(
    ours: Number, published: float, baseline: tuple[Number, float] | None = None, std: float = 0.0
) -> str:
    """Verdict on a published accuracy: whether it is reached, or why that is not said.

    With a `baseline`, ours and the published one, it is reached where ours is no further below its baseline.
    `std` is how much the paper's runs differ, 0 where that is not printed.
    """
    for one in (ours, *([baseline[0]] if baseline else [])):
        if (status := (one | seed_statistic(one))["status"]) != "ok":
            return status
    if ours["stand_in_for"]:
        return SUBSTITUTE
    if ours["cut"] or (baseline and baseline[0]["cut"]):
        return CUT
    if baseline is None:
        return reach_verdict(numbers.interval(ours["sample"]), published, std=std)
    mine, base = ours["sample"], baseline[0]["sample"]
    below = (mine - base).loc[mine.index.intersection(base.index)]
    return reach_verdict(numbers.interval(below), published - baseline[1], 2, std)


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


def blocks(declared: AccuracyTable, found: Sequence[Number]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Columns that the paper prints with ours beside them, and those that only we have, if both are there.

    A row is its accuracies, what each cost, and the round where the paper says one. A row of which
    nothing was run is left out, unless there is no other.
    """
    placed = {
        (one["row"], one["source"], *number_key(one)): one
        for one in found
        if "sample" in one or "value" in one
    }
    ran = {row for row, source, *_ in placed if source == "reproduced"}
    printed = {column for _, source, _, column, _ in placed if source == "published"}
    rows = [row for row in declared.rows if row.key in ran or not ran]

    def block(columns: Sequence[str]) -> pd.DataFrame:
        lines = [line for row in rows for line in lines_of(declared, row, columns, placed)]
        return pd.DataFrame(lines, columns=[declared.heading, *(declared.labels[name] for name in columns)])

    theirs = [name for name in declared.labels if name in printed]
    ours = [name for name in declared.labels if name not in printed]
    return block(theirs or ours), block(ours) if theirs and ours else None


Placed = Mapping[tuple[Any, ...], Number]  # numbers by row, source, quantity, column and level


def lines_of(declared: AccuracyTable, row: Row, columns: Sequence[str], found: Placed) -> Iterator[list[str]]:
    """Yield the lines of a row: the accuracies, and below them every ε and round of which any is known."""
    measured = [one for (key, source, *_), one in found.items() if (key, source) == (row.key, "reproduced")]
    clients = next((one["clients"] for one in measured), row.clients)
    heading = row.label or f"{clients:,}"
    heading += f" (here N = {clients:,})" * bool(row.label and clients != row.clients)
    yield [heading, *(cell(declared, row, found, "accuracy", name) for name in columns)]
    quantities = [(head, "epsilon", level) for level, head in budget_headings(declared, row).items()]
    if any(one.round for other in declared.rows for one in other.published.values()):
        quantities.append(("round", "round", ""))
    for head, quantity, level in quantities:
        cells = [cell(declared, row, found, quantity, name, level) for name in columns]
        if any(cells):
            yield [INDENT + head, *cells]


def budget_headings(declared: AccuracyTable, row: Row) -> dict[str, str]:
    """Return by level what stands before the ε of a row: their δ, too, unless a note says it of all rows."""
    found = deltas_by_level(declared, [row])
    of_all = deltas_by_level(declared, declared.rows)
    return {
        level: ", ".join(
            [WHOSE[level], *(f"δ={numbers.delta(one)}" for one in some if len(of_all.get(level, some)) > 1)]
        )
        for level, some in found.items()
    }


def deltas_by_level(declared: AccuracyTable, rows: Iterable[Row]) -> dict[str, list[float]]:
    """Return by level the δ at which the ε of rows are counted."""
    found: dict[str, set[float]] = {}
    for one in (declared.cell(row, name) for row in rows for name in declared.columns):
        for level in one.free:
            found.setdefault(level, set())
        for budget in one.within:
            found.setdefault(budget.unit, set()).add(budget.delta)
    return {level: sorted(some) for level, some in found.items()}


def cell(
    declared: AccuracyTable, row: Row, found: Placed, quantity: str, column: str, level: str = ""
) -> str:
    """Text of a cell: measured, and in brackets published; empty where there can be neither."""
    ours, theirs = (
        found.get((row.key, source, quantity, column, level)) for source in ("reproduced", "published")
    )
    brackets = f"({text(declared, theirs)})" if theirs else ""
    asked = (
        quantity == "accuracy"
        or theirs
        or (quantity == "epsilon" and level in declared.cell(row, column).free)
    )
    nothing = numbers.NONE if asked else ""
    return " ".join(filter(None, (text(declared, ours) if ours else nothing, brackets)))


def number_key(number: Number) -> tuple[str, ...]:
    """Key of a number in its line."""
    return number["quantity"], number["column"], number.get("level", "")


def text(declared: AccuracyTable, number: Number) -> str:
    """Return a number in words."""
    measured, quantity = "sample" in number, number["quantity"]
    found = number["sample"] if measured else number["value"]
    if quantity == "accuracy" and measured:
        return UNSTABLE if is_unstable(number.get("status")) else numbers.percent(found)
    if quantity == "accuracy":
        spread = f" ± {100 * number['std']:.{digits(declared)}f}" if number.get("std") else ""
        return f"{100 * found:.{digits(declared)}f}{spread}"
    if not measured:
        return f"{found:g}"
    if quantity == "round":
        return numbers.round_range(found)
    # How much seeds differ is in the CSV.
    return numbers.epsilon_of_seeds([np.mean(found)], number.get("epsilon_status", ""))


def digits(declared: AccuracyTable) -> int:
    """Return the number of digits that the paper prints after the point of a percentage."""
    cells = (declared.cell(row, name).published for row in declared.rows for name in declared.labels)
    printed = (f"{100 * value:.6g}" for value in cells if value is not None)
    return max((len(text.partition(".")[2]) for text in printed), default=0)


def reading_notes(declared: AccuracyTable, lines: Sequence[Number]) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    found: dict[str, list[str]] = {}
    for name, column in declared.columns.items():
        means = {level: counting_text(lines, name, level, spend) for level, spend in column.by_unit().items()}
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


def counting_text(lines: Sequence[Number], column: str, level: str, spend: SpendSelector) -> str:
    """Way of counting an ε, with its meaning in the ledgers of a column's runs."""
    there = [line for line in lines if number_key(line) == ("epsilon", column, level) and "relation" in line]
    meant = ""
    if there:
        laws = {name: law.words for name, law in COHORTS.items()}
        unit, relation, law = (
            ", ".join(sorted({words[line[name]] for line in there}))
            for name, words in zip(MEANING, (LEVELS, RELATIONS, laws), strict=False)
        )
        meant = f"; {unit}, {relation} neighbours, {law}"
    are = " or ".join(sorted({line["epsilon_status"] for line in there})) or spend.kind
    return f"{spend}; {are}{meant}"


def caveats(declared: AccuracyTable, found: Sequence[Number], used: Results) -> Iterator[str]:
    """Yield what nobody can read the table without: its signs, and in one note what is unlike the paper."""
    accuracies = [one for one in found if one["quantity"] == "accuracy"]
    seeds = sorted({len(one["sample"]) for one in accuracies if "sample" in one})
    many = f"{seeds[0]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds" if seeds else ""
    signs = ["Accuracy in %"]
    signs += [f"x ± y: mean and half-width of the 95 % Student-t interval over {many}"] * bool(
        seeds and seeds[-1] > 1
    )
    signs += ["one seed has no interval"] * bool(seeds and seeds[0] == 1)
    signs += ["in brackets: published"] * any(one["source"] == "published" for one in found)
    spreads = "a published ± is a standard deviation, and widens our interval"
    signs += [spreads] * any("std" in one for one in found)
    marks = legend(*(text(declared, one) for one in found if one["quantity"] == "epsilon"))
    signs += [f"ε {marks}"] * bool(marks)
    alike = {
        level: some for level, some in deltas_by_level(declared, declared.rows).items() if len(some) == 1
    }
    signs += [f"{WHOSE[level]} at δ = {numbers.delta(*some)}" for level, some in alike.items()]
    yield f"{'; '.join(signs)}."
    heads = {row.key: row.label or f"{row.clients:,}" for row in declared.rows}
    said, ran = [], {one["row"] for one in accuracies if "sample" in one}
    reasons: dict[str, list[str]] = {}
    for one in accuracies:
        if is_unstable(one.get("status")):
            reasons.setdefault(one["status"].removeprefix(f"{UNSTABLE}: "), []).append(
                f"{heads[one['row']]} ({declared.labels[one['column']]})"
            )
    said += [f"Unstable: {MEANT[why]} at {', '.join(cells)}" for why, cells in reasons.items()]
    if any(one.get("status") == "no round within the budget" for one in accuracies):
        said.append(f"{numbers.NONE}: some seed has no evaluated round within the budget")
    if rows := [row.cited for row in declared.rows if row.own_baseline]:
        which = f" at {', '.join(rows)}" if len(rows) < len(declared.rows) else ""
        said.append(f"Another network than the paper's{which}: it is held against its own baseline")
    if gone := [row.cited for row in declared.rows if row.key not in ran]:
        said.append(f"Not run in this preset: {', '.join(gone)}")
    if cut := {run: less for run, less in used.runs[["run", "cut"]].itertuples(index=False) if less}:
        said.append(f"Cut by the preset, so that nothing published is judged: {', '.join(cut)}")
    if said:
        yield f"{'. '.join(said)}."


def read_at(declared: AccuracyTable, found: Sequence[Number]) -> Iterator[str]:
    """Yield at which rounds the accuracies within budgets were read."""
    rows: dict[str, list[str]] = {}
    for row in declared.rows:
        for one in found:
            column = declared.columns.get(one["column"])
            if (
                (one["row"], one["quantity"], one["source"]) == (row.key, "round", "reproduced")
                and column
                and column.by_unit()
            ):
                rows.setdefault(row.cited, []).append(f"{column.label} {numbers.round_range(one['sample'])}")
    if rows:
        cells = [f"{row}: {', '.join(some)}" for row, some in rows.items()]
        yield f"Read at round: {'; '.join(cells)}."


def run_notes(used: Results, declared: AccuracyTable) -> list[str]:
    """Return the notes about the runs of a table, whose results are `used`."""
    spends = [spend for column in declared.columns.values() for spend in column.by_unit().values()]
    missing = (run for run in declared.runs() if not used.has(run))
    searched = [SEARCHED.format(declared.searched)] if declared.searched else []
    return [*accountings(spends), *searched, *footnotes(used, missing)]
