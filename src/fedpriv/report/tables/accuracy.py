"""Accuracies in the paper's layout, what is published in brackets, and below each the ε that it cost.

A cell is read at the last round, or within budgets at one level or at both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.account.spend import attacker_accuracy, status
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.paper.spends import SPEND_COLUMNS, SpendSelector
from fedpriv.paper.tables import BASELINE, AccuracyTable, Cell, Row, full_title
from fedpriv.report import numbers
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import (
    LEVELS,
    RELATIONS,
    SEARCHED,
    accountings,
    footnotes,
    preset_notes,
    stand_ins,
)
from fedpriv.report.numbers import (
    ANOTHER_NETWORK,
    CUT,
    LAST_DIGIT,
    MEANT,
    REACHED,
    STATISTIC,
    SUBSTITUTE,
    UNSTABLE,
    Number,
    instability,
    is_unstable,
    reach_verdict,
    seed_statistic,
    spend_words,
    tidy,
    verdict_alone,
)
from fedpriv.report.reading import MEANING, epsilon_at, ledger_rows, meaning, reading
from fedpriv.report.render import INDENT, PrintedTable
from fedpriv.report.results import Results, rows_of
from fedpriv.report.sample import ACCURACY
from fedpriv.trace import EVALUATED

KEY = ["table", "row", "column", "source", "quantity"]
OF_CELL = ("verdict", "status", "stand_in_for", "cut", "run", "clients")
LONG_COLUMNS = [*KEY, *STATISTIC, *OF_CELL, *SPEND_COLUMNS, *MEANING]
CELL = ("table", "row", "column", "run")
WHOSE = {"": "ε", "client": "client ε", "instance": "example ε"}


def accuracy_table(results: Results, declared: AccuracyTable, name: str) -> PrintedTable:
    """Return the table in the paper's layout, what is published in brackets, our columns apart."""
    found = [*with_verdicts(declared, cell_numbers(results, declared))]
    theirs, ours = blocks(declared, found)
    used = results.of(*declared.runs())
    spends = [spend for column in declared.columns.values() for spend in column.by_unit().values()]
    return PrintedTable(
        name,
        full_title(declared) + stand_ins(used.runs),
        tidy(name, LONG_COLUMNS, found),
        theirs,
        [caveats(declared, found, used)],
        details=[*reading_notes(declared, found), *accountings(spends), *footnotes(used)],
        ours=ours,
        seeds=seed_lines(name, found, declared.metric),
        cells=METRICS[declared.metric].noun,
    )


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
        for line in (
            *published_numbers(row, cell, declared.metric),
            *reproduced_numbers(results, cell, declared.metric),
        )
    ]


def ways_of_counting(cell: Cell) -> list[Number]:
    """Return the way of counting of each budget, by column."""
    return [
        spend_words(budget.spend) | ({"unit": budget.unit} if budget.unit else {}) for budget in cell.within
    ]


def published_numbers(row: Row, cell: Cell, metric: str) -> Iterator[Number]:
    """Yield what the paper prints in one cell."""
    if cell.published is None:
        return
    key, within = {"source": "published", "clients": row.clients}, ways_of_counting(cell)
    alone = key | (within[0] if len(within) == 1 else {})  # several ε have lines of their own
    spread = {"std": cell.published_std} if cell.published_std else {}
    yield alone | {"quantity": metric, "value": cell.published} | spread
    if spread:
        yield alone | {"quantity": f"{metric}_std", "value": cell.published_std}
    if cell.published_round:
        yield alone | {"quantity": "round", "value": cell.published_round}
    for budget, meant in zip(cell.within, within, strict=True):
        known = key | meant | {"level": budget.unit, "spend": budget.spend, "delta": budget.delta}
        yield known | {"quantity": "epsilon", "value": budget.epsilon}
        yield known | {"quantity": "delta", "value": budget.delta}


def reproduced_numbers(results: Results, cell: Cell, metric: str) -> Iterator[Number]:
    """Yield what was measured for one cell: the metric, the round, and what had been spent by then."""
    key: Number = {"source": "reproduced", "run": cell.run}
    ledgers = [ledger_rows(results, cell.run, budget.spend) for budget in cell.within]
    within = [counted | meaning(rows) for counted, rows in zip(ways_of_counting(cell), ledgers, strict=True)]
    meant = within[0] if len(within) == 1 else {}
    if not results.has(cell.run):
        yield key | meant | {"quantity": metric, "status": "not run"}
        return
    read = reading(results, cell, metric)
    clients = rows_of(results.rounds, cell.run)["population"].iloc[0]
    key |= {"clients": clients} | {name: results.fact(cell.run, name) for name in ("stand_in_for", "cut")}
    key["status"] = "no round within the budget" if any(read["value"].isna()) else "ok"
    if any(rows.empty for rows in ledgers):
        key["status"] = "no such ε in the ledger"
    if read.empty:
        key["status"] = "not measured"
    judged = cell.within and key["status"] == "ok" and metric == ACCURACY
    why = instability(results, cell.run, read) if judged else ""
    value = {"quantity": metric, "sample": read["value"]}
    yield key | meant | value | ({"status": why} if why else {})
    yield key | meant | {"quantity": "round", "sample": read["round"]}
    for level in cell.free:
        nothing = {"kind": "guarantee", "epsilon_status": status("guarantee")}
        yield key | nothing | {"level": level, "quantity": "epsilon", "sample": read["round"] * 0.0}
    for budget, rows, counted in zip(cell.within, ledgers, within, strict=True):
        epsilons = epsilon_at(results, cell.run, budget.spend, read["round"])
        delta = rows["delta"].iloc[0] if len(rows) else budget.delta
        known = key | counted | {"level": budget.unit, "spend": budget.spend, "delta": delta}
        yield known | {"quantity": "epsilon", "sample": epsilons}
        yield known | {"quantity": "delta", "sample": epsilons * 0 + delta}
        yield known | {"quantity": "attacker_accuracy", "sample": epsilons.map(attacker_accuracy)}


def with_verdicts(declared: AccuracyTable, found: Sequence[Number]) -> Iterator[Number]:
    """Yield numbers, what is published with its verdict: whether ours reaches it, or why not said."""
    rows = {row.key: row for row in declared.rows}
    ours = {
        (one["row"], one["column"]): one
        for one in found
        if (one["source"], one["quantity"]) == ("reproduced", declared.metric)
    }
    for one in found:
        if (one["source"], one["quantity"]) != ("published", declared.metric):
            yield one
            continue
        row, mine = rows[one["row"]], ours[one["row"], one["column"]]
        own = row.own_baseline and row.baseline
        of_baseline = one["column"] == BASELINE
        baseline = (ours[row.key, BASELINE], own.value) if own and not of_baseline else None
        how = {
            "std": one.get("std", 0.0),
            "less": EVALUATED[declared.metric].less,
            "last_digit": last_digit(declared),
        }
        said = accuracy_verdict(mine, one["value"], baseline, **how)
        compared = verdict_alone(said) in REACHED.values()
        yield one | {"verdict": ANOTHER_NETWORK if own and of_baseline and compared else said}


def accuracy_verdict(
    ours: Number,
    published: float,
    baseline: tuple[Number, float] | None = None,
    last_digit: float = LAST_DIGIT,
    **how: Any,
) -> str:
    """Verdict on a published number: whether it is reached, or why that is not said.

    With a `baseline`, ours and the published one, it is reached where ours is no further from its baseline.
    `last_digit` is half of it, and `how` what else `reach_verdict` takes.
    """
    for one in (ours, *([baseline[0]] if baseline else [])):
        if (status := (one | seed_statistic(one))["status"]) != "ok":
            return status
    if ours["stand_in_for"]:
        return SUBSTITUTE
    if ours["cut"] or (baseline and baseline[0]["cut"]):
        return CUT
    if baseline is None:
        return reach_verdict(numbers.interval(ours["sample"]), published, last_digit, **how)
    mine, base = ours["sample"], baseline[0]["sample"]
    below = (mine - base).loc[mine.index.intersection(base.index)]
    return reach_verdict(numbers.interval(below), published - baseline[1], 2 * last_digit, **how)


def seed_lines(name: str, found: Sequence[Number], metric: str) -> pd.DataFrame:
    """Return a line for every seed of a cell: the metric and ε, at the round at which the cell is read.

    An ε has the level behind its name where a table has two, and what it is beside it. A seed that has
    diverged has -inf.
    """
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in found:
        if "sample" in one and one["quantity"] in (metric, "round", "epsilon"):
            named = "_".join(filter(None, (one["quantity"], one.get("level", ""))))
            cell = cells.setdefault((name, one["row"], one["column"], one["run"]), {})
            cell[named] = one["sample"]
            if one["quantity"] == "epsilon":
                cell[f"{named}_status"] = one.get("epsilon_status", "")
    frames = [
        pd.DataFrame(values).rename_axis("seed").reset_index().assign(**dict(zip(CELL, cell, strict=True)))
        for cell, values in cells.items()
    ]
    first = [*CELL, "seed", "round", metric]
    every = pd.concat(frames) if frames else pd.DataFrame(columns=first)
    return every.astype({"round": "Int64"})[[*first, *every.columns.drop(first)]]


def blocks(declared: AccuracyTable, found: Sequence[Number]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Columns that the paper prints with ours beside them, and those that only we have, if both are there.

    A row is its accuracies, what each cost, and the round where the paper says one. A row of which
    nothing was run is left out, unless there is no other.
    """
    placed = {
        (one["row"], one["source"], one["quantity"], one["column"], one.get("level", "")): one
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
    yield [heading, *(cell(declared, row, found, declared.metric, name) for name in columns)]
    # Before an ε stands its δ, unless a note says it of all rows.
    quantities, of_all = [], deltas_by_level(declared, declared.rows)
    for level, deltas in deltas_by_level(declared, [row]).items():
        said = deltas if len(of_all[level]) > 1 else []
        quantities.append((", ".join([WHOSE[level], *(f"δ={numbers.delta(one)}" for one in said)]), level))
    quantities = [(head, "epsilon", level) for head, level in quantities]
    if any(one.round for other in declared.rows for one in other.published.values()):
        quantities.append(("round", "round", ""))
    for head, quantity, level in quantities:
        cells = [cell(declared, row, found, quantity, name, level) for name in columns]
        if any(cells):
            yield [INDENT + head, *cells]


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
    if ours:
        measured = measured_text(ours)
    else:
        free = quantity == "epsilon" and level in declared.cell(row, column).free
        measured = numbers.NONE if quantity == declared.metric or theirs or free else ""
    if not theirs:
        return measured
    value, printed = theirs["value"], f"{theirs['value']:g}"
    if quantity == declared.metric:
        factor, digits = METRICS[quantity].factor, printed_digits(declared)
        spread = f" ± {factor * theirs['std']:.{digits}f}" if theirs.get("std") else ""
        printed = f"{factor * value:.{digits}f}{spread}"
    return f"{measured} ({printed})".strip()


def measured_text(number: Number) -> str:
    """Return a measured number in words; how much the ε of seeds differ is in the CSV."""
    if number["quantity"] in EVALUATED:
        unstable = is_unstable(number.get("status"))
        return UNSTABLE if unstable else METRICS[number["quantity"]].show(number["sample"])
    if number["quantity"] == "round":
        return numbers.round_range(number["sample"])
    return numbers.epsilon_of_seeds([np.mean(number["sample"])], number.get("epsilon_status", ""))


def printed_digits(declared: AccuracyTable) -> int:
    """Return the number of digits that the paper prints after the point, of fractions in percent."""
    factor = METRICS[declared.metric].factor
    cells = (declared.cell(row, name).published for row in declared.rows for name in declared.labels)
    printed = (f"{factor * value:.6g}" for value in cells if value is not None)
    return max((len(text.partition(".")[2]) for text in printed), default=0)


def last_digit(declared: AccuracyTable) -> float:
    """Return half of the last digit that the paper prints; of accuracies, that of a whole percent."""
    if declared.metric == ACCURACY:
        return LAST_DIGIT
    return 0.5 * 10.0 ** -printed_digits(declared) / METRICS[declared.metric].factor


def reading_notes(declared: AccuracyTable, lines: Sequence[Number]) -> list[str]:
    """Return the notes that say at which round a column was read, and what its ε means."""
    cited, noun = {row.key: row.cited for row in declared.rows}, METRICS[declared.metric].noun
    labels = {name: column.label for name, column in declared.columns.items() if column.by_unit()}
    if not labels:
        return [f"{noun[0].upper()}{noun[1:]} at the last round."]
    rounds: dict[str, list[str]] = {}
    for one in lines:
        if (one["quantity"], one["source"]) == ("round", "reproduced") and one["column"] in labels:
            at = f"{labels[one['column']]} {numbers.round_range(one['sample'])}"
            rounds.setdefault(cited[one["row"]], []).append(at)
    read = "; ".join(f"{row}: {', '.join(some)}" for row, some in rounds.items())
    notes = [f"Read at round: {read}."] if rounds else []
    said: dict[str, list[str]] = {}
    for name, label in labels.items():
        column = declared.columns[name]
        means = {level: counting_text(lines, name, level, spend) for level, spend in column.by_unit().items()}
        if "" in means:
            other = declared.labels.get(column.within)
            budget = f"the ε published for {other}" if other else "the published budget"
            until = f"before ε ({means['']}) exceeds {budget}, and the ε spent by then."
        else:
            both = ", ".join(f"{LEVELS[level]} ε ({words})" for level, words in means.items())
            until = f"before any ε exceeds its budget, and the ε spent by then: {both}."
        said.setdefault(until, []).append(label)
    notes += [f"{'; '.join(some)}: read at the last evaluated round {until}" for until, some in said.items()]
    if BASELINE in declared.labels:
        notes.append(f"Baseline: {noun} at the last round.")
    for one in lines:
        if (one["quantity"], one["source"]) == ("epsilon", "reproduced") and "epsilon_status" not in one:
            notes.append(f"The ledger of {one['run']} holds no ε ({one['spend']}).")
    return notes + ([SEARCHED.format(declared.searched)] if declared.searched else [])


def counting_text(lines: Sequence[Number], column: str, level: str, spend: SpendSelector) -> str:
    """Way of counting an ε, with its meaning in the ledgers of a column's runs."""
    there = [
        line
        for line in lines
        if (line["quantity"], line["column"], line.get("level", "")) == ("epsilon", column, level)
        and "relation" in line
    ]
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


def caveats(declared: AccuracyTable, found: Sequence[Number], used: Results) -> str:
    """Return the note that no reader can do without: signs, and differences from the paper."""
    metric, measured = METRICS[declared.metric], [one for one in found if one["quantity"] == declared.metric]
    seeds = sorted({len(one["sample"]) for one in measured if "sample" in one}) or [0]
    many = f"{seeds[0]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    signs = [f"{metric.noun[0].upper()}{metric.noun[1:]}{' in %' * metric.percent}"]
    if seeds[-1] > 1:
        signs.append(f"x ± y: mean and half-width of the 95 % Student-t interval over {many}")
    if seeds[0] == 1:
        signs.append("one seed has no interval")
    if any(one["source"] == "published" for one in found):
        signs.append("in brackets: published")
    if any("std" in one for one in found):
        signs.append("a published ± is a standard deviation, and widens our interval")
    for level, deltas in deltas_by_level(declared, declared.rows).items():
        if len(deltas) == 1:
            signs.append(f"{WHOSE[level]} at δ = {numbers.delta(*deltas)}")
    said = [f"{'; '.join(signs)}."]

    heads = {row.key: row.label or f"{row.clients:,}" for row in declared.rows}
    reasons: dict[str, list[str]] = {}
    for one in measured:
        if is_unstable(one.get("status")):
            where = f"{heads[one['row']]} ({declared.labels[one['column']]})"
            reasons.setdefault(one["status"].removeprefix(f"{UNSTABLE}: "), []).append(where)
    said += [f"Unstable: {MEANT[why]} at {', '.join(cells)}." for why, cells in reasons.items()]
    if any(one.get("status") == "no round within the budget" for one in measured):
        said.append(f"{numbers.NONE}: some seed has no evaluated round within the budget.")
    if rows := [row.cited for row in declared.rows if row.own_baseline]:
        which = f" at {', '.join(rows)}" if len(rows) < len(declared.rows) else ""
        said.append(f"Another network than the paper's{which}: it is held against its own baseline.")
    cited = {row.key: row.cited for row in declared.rows}
    ran = {one["row"] for one in measured if "sample" in one}
    missing = [
        f"{cited[one['row']]} ({declared.labels[one['column']]})" if one["row"] in ran else cited[one["row"]]
        for one in measured
        if one.get("status") == "not run"
    ]
    said += preset_notes(used.runs, missing)
    return " ".join(said)
