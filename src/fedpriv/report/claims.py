"""The claims of a paper and their verdicts: read off the runs by seed, judged, written as one table.

A claim compares two sides, each arithmetic over numbers of runs, in one case or several. Of every case the
margins by seed are taken; their interval decides it, unless a reason stands in the way: it was not run, its
data or its size decide nothing about the paper, it diverged, nothing was learned. The cases make the verdict.

    check: accuracy(bdp) >= accuracy(dp) + 0.01          # in the paper's claims.yaml
    iid_n100: 90.1 ± 0.5 % against 86.9 ± 1.3 %, gain 3.2 ± 1.2 points (holds)
"""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.paper.arithmetic import Call, call_of, pieces, runs_in
from fedpriv.paper.claims import Case, Claim, Reads
from fedpriv.paper.epsilons import EpsilonSelector
from fedpriv.paper.metrics import ACCOUNT, ACCURACY, PRIVATE
from fedpriv.paper.tables import Cell, Rendered, TableSpec, accuracy_tables
from fedpriv.report import render, sentences
from fedpriv.report.metrics import METRICS
from fedpriv.report.notes import footnotes, preset_notes, substitutes, substitutes_title
from fedpriv.report.results import Results, rows_of
from fedpriv.report.sample import ROUNDING, decision_of_margins, margins
from fedpriv.report.sentences import Measured, combine, number
from fedpriv.report.stability import instability
from fedpriv.report.verdicts import (
    CLAIM_COUNTS,
    COUNTS,
    CUT,
    NOT_JUDGED,
    NOT_RUN,
    ONE_SEED,
    OUTCOMES,
    PARTLY,
    REPRODUCED,
    SOUNDNESS,
    STANDING,
    SUBSTITUTE,
    UNDECIDED,
    UNSOUND,
    claim_verdict,
    verdict_alone,
)

# What is made of the accuracies of several cells, of a difference, or of an ε.
COMBINED: dict[str, Callable[..., Measured]] = {
    "lead": sentences.lead,
    "rise": sentences.rise,
    "abs": sentences.either_sign,
    "attacker": sentences.attacker,
}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def value(node: ast.expr, results: Results, names: Mapping[str, Cell | float]) -> Measured:
    """Value of a tree of `paper.arithmetic`; `names` stand for cells and numbers."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            sides = value(left, results, names), value(right, results, names)
            return combine(OPERATORS[type(op)], *sides)
        case ast.UnaryOp(operand=operand):
            return combine(operator.mul, value(operand, results, names), number(-1.0))
        case ast.Constant(value=int() | float() as given):
            return number(given)
        case ast.Name(id=name) if not isinstance(given := names[name], Cell):
            return number(given)
        case ast.Call():
            return called(call_of(node), results, names)
        case _:
            raise TypeError(ast.dump(node))


def called(call: Call, results: Results, names: Mapping[str, Cell | float]) -> Measured:
    """Value of a number that is read of cells, or of what is made of several."""
    cells = [cell for name in call.names if isinstance(cell := names[name], Cell)]
    arguments = [
        value(node, results, names) if isinstance(node, ast.expr) else node for node in call.arguments
    ]
    if call.function in COMBINED:
        each = [measured("accuracy", results, cell, arguments) for cell in cells]
        return COMBINED[call.function](*(each or arguments))
    return measured(call.function, results, cells[0], arguments)


def measured(name: str, results: Results, cell: Cell, arguments: Sequence[Any] = ()) -> Measured:
    """Return a number of a cell, and its words."""
    plain = [argument.sample if isinstance(argument, Measured) else argument for argument in arguments]
    sample = METRICS[name].sample(results, cell, *plain)
    kinds = {"spent": sentences.EPSILON}
    if cell.metric != sentences.ACCURACY:
        kinds[sentences.PUBLISHED] = cell.metric
    return Measured(sample, METRICS[name].words(sample, cell, *plain), kinds.get(name, name))


def caption(results: Results, declared: Rendered) -> str:
    """Return the caption of a table or figure, with what was measured in its placeholders.

    A number of runs that are not in `results` is "not run".
    """

    def text(piece: str | ast.expr) -> str:
        if isinstance(piece, str):
            return piece
        cells = {run: Cell(run) for run in runs_in(piece)}
        return value(piece, results, cells).words if all(map(results.has, cells)) else NOT_RUN

    return "".join(map(text, pieces(declared.caption)))


class Outcome(NamedTuple):
    """What one case says: its margins, and the measured numbers in words.

    Margins are [seeds], or [seeds, comparisons] where all of several comparisons must hold. `instead` is
    what stands in place of a decision: not run, not judged, or undecided whatever the margins are. `seeds`
    has what was measured on either side.
    """

    cell: str
    margins: np.ndarray | None
    measured: str
    instead: str = ""
    seeds: pd.DataFrame | None = None


def outcome(results: Results, claim: Claim, case: Case) -> Outcome:
    """Outcome of one case of a claim."""
    left, at_least, right = claim.comparison
    sides = claim.reads(case)
    named = {*case.left.values(), *case.right.values()}
    if why := not_compared(results, claim, [*sides[0], *sides[1]], named):
        return Outcome(case.name, None, *why)
    first = value(left, results, {**case.left, **case.numbers})
    second = value(right, results, {**case.right, **case.numbers})
    by_seed = margins(first.sample, second.sample, at_least)
    if len(by_seed) == 1 and all(map(same_for_every_seed, claim.calls)):
        by_seed = np.repeat(by_seed, 2, axis=0)  # as any other seed has it
    doubt, instead = undecided_reason(results, claim, sides)
    words = sentences.sentence(first, at_least, second)
    return Outcome(case.name, by_seed, words + doubt, instead, sentences.seeds_of(first, second))


def not_compared(
    results: Results, claim: Claim, read: Reads, named: Iterable[Cell]
) -> tuple[str, str] | None:
    """Reason why nothing is compared, and the words in place of a decision; else None.

    Not run is what lacks a run, or the ε of a run, that it reads; not judged a number of data that stand in
    for the paper's, and what the paper claims of cells whose published numbers decide nothing; undecided what
    has diverged.
    """
    if lacks := lacking(results, read):
        return lacks, NOT_RUN
    runs = [cell.run for _, cell in read]
    if claim.depends_on_data and (others := substitutes(rows_of(results.runs, *runs))):
        return f"{NOT_RUN if claim.printed else NOT_JUDGED}, {', '.join(others)}", SUBSTITUTE
    whys = {cell.not_judged for cell in named} - {""}
    if whys and claim.about_paper:
        return f"{NOT_JUDGED}, {min(whys)}", f"{NOT_JUDGED}: {min(whys)}"
    diverged = (run for run in runs if len(results.run(run).divergence_rounds()))
    return next(((f"{run} diverged", UNDECIDED) for run in diverged), None)


def lacking(results: Results, read: Reads) -> str:
    """Return what a comparison reads that is not there, a run or the ε of one; empty: nothing."""
    if not all(results.has(cell.run) for _, cell in read):
        return NOT_RUN
    uncounted = (selector for call, cell in read for selector in not_counted(results, call, cell))
    return next((f"no ε ({selector}) in the ledger" for selector in uncounted), "")


def not_counted(results: Results, call: Call, cell: Cell) -> Iterator[EpsilonSelector]:
    """Yield the ε that a call reads of a cell, and that its ledger has not."""
    budgets = [] if call.of(PRIVATE) else [selector for selector, _ in cell.budgets]
    for selector in [*budgets, *call.selectors]:
        if results.run(cell.run).ledger(selector).empty:
            yield selector


def undecided_reason(results: Results, claim: Claim, sides: Sequence[Reads]) -> tuple[str, str]:
    """Reason why a comparison decides nothing, and the words in place of a decision; else nothing.

    Not judged is what a paper claims of a run that the preset has cut. Where nothing was learned, or an
    accuracy within a budget is unstable, a comparison of accuracies is undecided.
    """
    cut = any(results.run(cell.run).fact("cut") for side in sides for _, cell in side)
    if cut and claim.about_paper:
        return "", CUT
    left, right = ([cell for call, cell in side if call.about == ACCURACY] for side in sides)
    doubt = doubted_accuracies(results, left, right)
    return (f", {doubt}", UNDECIDED) if doubt else ("", "")


def doubted_accuracies(results: Results, left: Sequence[Cell], right: Sequence[Cell]) -> str:
    """Return why the accuracies on both sides decide nothing; empty: they do."""
    for cell in (*left, *right):
        run = results.run(cell.run)
        if cell.within and (unstable := instability(run, run.within(*cell.budgets))):
            return f"{cell.run} {unstable}"
    # An accuracy and an accuracy, or one and a number, are compared with each other; of several, each side.
    compared = [[*left, *right]] if max(len(left), len(right)) < 2 else [left, right]
    return "nothing learned" if any(nothing_learned(results, cells) for cells in compared) else ""


def nothing_learned(results: Results, cells: Sequence[Cell]) -> bool:
    """Return True of several accuracies none of which is above the share of the largest class."""
    return len(cells) > 1 and not any(learned(results, cell) for cell in cells)


def learned(results: Results, cell: Cell) -> bool:
    """Return True where the accuracy of a cell is above the share of the largest class.

    One seed is believed here, and so is any accuracy where that share is not known (NaN).
    """
    largest = results.run(cell.run).fact("majority")
    ours = METRICS["accuracy"].sample(results, cell).interval
    least = ours.mean if ours.n == 1 else ours.low
    return bool(np.isnan(largest) or least > largest + ROUNDING)


def same_for_every_seed(call: Call) -> bool:
    """Return True of an ε that is counted from the noise alone, and of what is made of such."""
    counted = call.about == ACCOUNT and (call.selectors or not call.names)
    return bool(counted) and all(selector.kind == "guarantee" for selector in call.selectors)


def judge(claim: Claim, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the line of one claim: what its cells decide, how many do, and the verdict that follows."""
    standings = [standing_of(case) for case in outcomes]
    words = [verdict_alone(standing) for standing in standings]
    counts = {name: words.count(standing) for standing, name in COUNTS.items()}
    outcome = claim_verdict(counts, claim.needs == "some", bool(claim.elsewhere))
    unsound = bool(claim.unsound) and outcome in (REPRODUCED, PARTLY)
    verdict = outcome
    if outcome == NOT_JUDGED:  # with the reason of the first such cell
        verdict = standings[words.index(NOT_JUDGED)]
    seeds = {len(case.margins) for case in outcomes if case.margins is not None}
    verdict += f", {UNSOUND}" * unsound + f" ({ONE_SEED})" * (outcome == UNDECIDED and seeds == {1})
    return {
        "id": claim.id,
        "place": claim.place,
        "claim": claim.text,
        "verdict": verdict,
        "outcome": outcome,
        "soundness": UNSOUND if unsound else "",
        "measured": "; ".join(map(measured_text, outcomes, standings)),
        "test": claim.check,
        "reason": claim.unsound,
        "cells": len(outcomes),
        "decided": counts["hold"] + counts["fail"],
    } | counts


def standing_of(case: Outcome) -> str:
    """Return what a case decides, or what stands instead."""
    if case.instead:
        return case.instead
    return NOT_RUN if case.margins is None else decision_of_margins(case.margins)


def measured_text(case: Outcome, standing: str) -> str:
    """Text of a case: what was measured, and what that decides."""
    if case.margins is None:
        return f"{case.cell}: {case.measured}"
    alone = f": {ONE_SEED}" if len(case.margins) == 1 else ""
    return f"{case.cell}: {case.measured} ({standing}{alone})"


CLAIM_COLUMNS = [
    *("id", "place", "claim", "verdict", "outcome", "soundness", "measured", "test", "reason"),
    *CLAIM_COUNTS,
]
# Of a case, a line a seed: what was measured on either side, and of accuracies how much larger the first is.
CASE = ["id", "case", "seed", "left", "right", "gain"]


def write_claims(
    results: Results, claims: Sequence[Claim], tables: Mapping[str, TableSpec], stem: Path
) -> list[Path]:
    """Judge claims about these tables; write `stem`.csv, _seeds.csv, .json and .md, a line a claim."""
    rows, lines, seeds = accuracy_tables(tables), [], [pd.DataFrame(columns=CASE)]
    for claim in claims:
        outcomes = [outcome(results, claim, case) for case in claim.judged(rows)]
        lines.append(judge(claim, outcomes))
        seeds += [
            case.seeds.assign(id=claim.id, case=case.cell) for case in outcomes if case.seeds is not None
        ]
    table = claims_table(results, lines)
    return render.write_table_files(table._replace(seeds=pd.concat(seeds)[CASE]), stem)


def claims_table(results: Results, lines: Sequence[Mapping[str, Any]]) -> render.PrintedTable:
    """Return the table of judged claims, a line each, with what was tested and measured."""
    tidy = pd.DataFrame(lines, columns=CLAIM_COLUMNS)
    display = pd.DataFrame(
        {"No.": [str(nth) for nth in range(1, len(lines) + 1)]}
        | {name.capitalize(): tidy[name] for name in ("claim", "place", "verdict")}
        | {"Cells decided": [f"{line['decided']} of {line['cells']}" for line in lines]}
        | {f"Cells {name}": tidy[name].astype(str) for name in ("hold", "fail", "undecided")}
    )
    items = [
        f"Tested: {line['test']}. Measured: {line['measured']}."
        + (f" Unsound: {line['reason']}" if line["reason"] else "")
        for line in lines
    ]
    meanings = [f"{verdict}: {meaning}." for verdict, meaning in {**OUTCOMES, **SOUNDNESS}.items()]
    notes, title = [*meanings, STANDING], "Claims and verdicts" + substitutes_title(results.runs)
    details = [*footnotes(results), *preset_notes(results.runs, ())]
    return render.PrintedTable("claims", title, tidy, display, notes, items, details)
