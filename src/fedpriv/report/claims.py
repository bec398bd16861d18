"""The claims of a paper and their verdicts: read off the runs by seed, judged, written as one table."""

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.statement import attacker_accuracy
from fedpriv.errors import BadInput
from fedpriv.paper.arithmetic import Call, call_of, parts, pieces, runs_in
from fedpriv.paper.claims import Case, Claim
from fedpriv.paper.metrics import ACCOUNT, ACCURACY, COLUMN, COUNTED, PRIVATE
from fedpriv.paper.tables import Cell, Rendered, TableSpec, accuracy_tables
from fedpriv.report import numbers, render
from fedpriv.report.metrics import METRICS, printed_number
from fedpriv.report.notes import footnotes, preset_notes, substitutes, substitutes_title
from fedpriv.report.numbers import (
    FAILS,
    HOLDS,
    NOT_JUDGED,
    NOT_RUN,
    ONE_SEED,
    STATISTIC,
    UNDECIDED,
    instability,
)
from fedpriv.report.reading import divergence_rounds, ledger_rows, reading
from fedpriv.report.results import Results, rows_of
from fedpriv.report.sample import Sample, join_comparisons, sample
from fedpriv.trace import EVALUATED


def lead(first: Sample, *others: Sample) -> Sample:
    """Gains of the first over each of the others."""
    words = f"{percents(first).removesuffix(' %')} against {percents(*others)}"
    return join_comparisons([first - other for other in others], words)


def rise(*samples: Sample) -> Sample:
    """Gains of each over the one before it."""
    return join_comparisons([after - before for before, after in pairwise(samples)], percents(*samples))


def percents(*samples: Sample) -> str:
    """Return accuracies in words, with their unit once."""
    words = ", ".join(sample.words.removesuffix(" %") for sample in samples)
    return words + " %" * words[-1].isdigit()


def attacker(epsilon: Sample) -> Sample:
    """Share of right guesses that an ε allows an attacker with a flat prior (BDP eq. 1)."""
    values = epsilon.values
    by_seed = isinstance(values, pd.DataFrame)
    shares = values.map(attacker_accuracy) if by_seed else float(attacker_accuracy(values))
    return Sample(shares, f"{100 * np.ravel(shares)[0]:.6g} %")


# What is made of the accuracies of some cells, of a difference, or of an ε.
COMBINED: dict[str, Callable[..., Sample]] = dict(lead=lead, rise=rise, abs=Sample.__abs__, attacker=attacker)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def value(node: ast.expr, results: Results, names: Mapping[str, Cell | float]) -> Sample:
    """Value of a tree of `paper.arithmetic`; `names` stand for cells and numbers."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](value(left, results, names), value(right, results, names))
        case ast.UnaryOp(operand=operand):
            return value(operand, results, names) * -1.0
        case ast.Constant(value=int() | float() as number):
            return sample(number)
        case ast.Name(id=name) if not isinstance(number := names[name], Cell):
            return sample(number)
        case ast.Call():
            call = call_of(node)
        case _:
            raise TypeError(ast.dump(node))
    operands = [
        value(node, results, names) if isinstance(node, ast.expr) else node for node in call.arguments
    ]
    cells = [cell for name in call.names if isinstance(cell := names[name], Cell)]
    if call.function not in COMBINED:
        return METRICS[call.function].sample(results, *cells, *operands)
    samples = [METRICS["accuracy"].sample(results, cell, *operands) for cell in cells]
    return COMBINED[call.function](*(samples or operands))


def caption(results: Results, declared: Rendered) -> str:
    """Return the caption of a table or figure, with what was measured in its places.

    A number of runs that are not in `results` is "not run".
    """

    def measured(piece: str | ast.expr) -> str:
        if isinstance(piece, str):
            return piece
        cells = {run: Cell(run) for run in runs_in(piece)}
        return value(piece, results, cells).words if all(map(results.has, cells)) else NOT_RUN

    return "".join(map(measured, pieces(declared.caption)))


READ = (COLUMN, COUNTED, PRIVATE)  # kinds of names whose runs a call reads


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


Reads = list[tuple[Call, Cell]]  # of one side of a claim: what is measured, and of which cell


def outcome(results: Results, claim: Claim, case: Case) -> Outcome:
    """Outcome of one case of a claim."""
    left, at_least, right = claim.comparison
    sides = [
        [(call, cells[name]) for call in parts(tree) if isinstance(call, Call) for name in call.of(*READ)]
        for tree, cells in ((left, case.left), (right, case.right))
    ]
    named = {*case.left.values(), *case.right.values()}
    if why := not_compared(results, claim, [*sides[0], *sides[1]], named):
        return Outcome(case.name, None, *why)
    number = value(left, results, {**case.left, **case.numbers})
    threshold = value(right, results, {**case.right, **case.numbers})
    compared = number >= threshold if at_least else number <= threshold
    margins = compared.margins
    if len(margins) == 1 and all(map(same_for_every_seed, claim.calls)):
        margins = np.repeat(margins, 2, axis=0)  # as any other seed has it
    doubt, instead = undecided_reason(results, claim, sides)
    return Outcome(case.name, margins, compared.words + doubt, instead, compared.seeds)


def not_compared(
    results: Results, claim: Claim, read: Reads, named: Iterable[Cell]
) -> tuple[str, str] | None:
    """Reason why nothing is compared, and the words in place of a decision; else None.

    Not run is what lacks a run, or the ε of a run, that it reads; not judged a number of data that stand in
    for the paper's, and what the paper claims of cells whose published numbers decide nothing; undecided what
    has diverged.
    """
    runs = [cell.run for _, cell in read]
    if not all(map(results.has, runs)):
        return NOT_RUN, NOT_RUN
    for call, cell in read:
        budgets = [] if call.of(PRIVATE) else [selector for selector, _ in cell.budgets]
        for selector in [*budgets, *call.selectors]:
            if ledger_rows(results, cell.run, selector).empty:
                return f"no ε ({selector}) in the ledger", NOT_RUN
    others = substitutes(rows_of(results.runs, *runs))
    if others and any(call.about != ACCOUNT for call in claim.calls):
        return f"{NOT_RUN if claim.printed else NOT_JUDGED}, {', '.join(others)}", numbers.SUBSTITUTE
    whys = sorted({cell.not_judged for cell in named if cell.not_judged})
    if whys and (claim.printed or not claim.ours):
        return f"{NOT_JUDGED}, {whys[0]}", f"{NOT_JUDGED}: {whys[0]}"
    if gone := [run for run in runs if len(divergence_rounds(results, run))]:
        return f"{gone[0]} diverged", UNDECIDED
    return None


def undecided_reason(results: Results, claim: Claim, sides: Sequence[Reads]) -> tuple[str, str]:
    """Reason why a comparison decides nothing, and the words in place of a decision; else nothing.

    Not judged is what a paper claims of a run that the preset has cut. Where nothing was learned, or an
    accuracy within a budget is unstable, a comparison of accuracies is undecided.
    """
    cut = any(results.fact(cell.run, "cut") for side in sides for _, cell in side)
    if cut and (claim.printed or not claim.ours):
        return "", numbers.CUT
    accuracies = [[cell for call, cell in side if call.about == ACCURACY] for side in sides]
    for cell in [*accuracies[0], *accuracies[1]]:
        if cell.within and (why := instability(results, cell.run, reading(results, cell))):
            return f", {cell.run} {why}", UNDECIDED
    if max(map(len, accuracies)) < 2:  # an accuracy and an accuracy, or one and a number
        accuracies = [accuracies[0] + accuracies[1]]
    for compared in accuracies:
        if len(compared) > 1 and not any(learned(results, cell) for cell in compared):
            return ", nothing learned", UNDECIDED
    return "", ""


def learned(results: Results, cell: Cell) -> bool:
    """Return True where the accuracy of a cell is above the share of the largest class.

    One seed is believed here, and so is any accuracy where that share is not known (NaN).
    """
    largest, ours = results.fact(cell.run, "majority"), numbers.interval(reading(results, cell)["value"])
    least = ours.mean if ours.n == 1 else ours.low
    return bool(np.isnan(largest) or least > largest + numbers.ROUNDING)


def same_for_every_seed(call: Call) -> bool:
    """Return True of an ε that is counted from the noise alone, and of what is made of such."""
    counted = call.about == ACCOUNT and (call.selectors or not call.names)
    return bool(counted) and all(selector.kind == "guarantee" for selector in call.selectors)


PARTLY, REPRODUCED, NOT_REPRODUCED = "partly", "reproduced", "not reproduced"
UNSOUND = "interpretation unsound"
OUTCOMES = {
    REPRODUCED: "every cell that decides holds, and at least one does (a claim about some cell: one holds)",
    PARTLY: "some cells hold and some fail",
    NOT_REPRODUCED: "every cell that decides fails, and at least one does (what is one statement: one fails)",
    UNDECIDED: "cells were run, and none decides",
    NOT_JUDGED: "substitute data, a run that the preset has cut, a published number that nobody has verified "
    "and a size that was not searched decide nothing about the paper",
    NOT_RUN: "no cell was run",
}
SOUNDNESS = {UNSOUND: "what was observed is true, what is made of it does not follow; the reason is given"}
COUNTS = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NOT_JUDGED: "not_judged", NOT_RUN: "not_run"}


def judge(claim: Claim, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the line of one claim: what its cells decide, how many do, and the verdict that follows."""
    standings = []  # of every case what it decides, or what stands instead
    for case in outcomes:
        decided = NOT_RUN if case.margins is None else numbers.decision_of_margins(case.margins)
        standings.append(case.instead or decided)
    of_each = [numbers.verdict_alone(standing) for standing in standings]
    counts = {name: of_each.count(standing) for standing, name in COUNTS.items()}
    outcome = verdict(counts, claim)
    unjudged = (standing for standing in standings if numbers.verdict_alone(standing) == NOT_JUDGED)
    why = next(unjudged, outcome) if outcome == NOT_JUDGED else outcome
    unsound = bool(claim.unsound) and outcome in (REPRODUCED, PARTLY)
    measured, seeds = [], set[int]()
    for standing, case in zip(standings, outcomes, strict=True):
        if case.margins is None:
            measured.append(f"{case.cell}: {case.measured}")
            continue
        seeds.add(len(case.margins))
        alone = f": {ONE_SEED}" if len(case.margins) == 1 else ""
        measured.append(f"{case.cell}: {case.measured} ({standing}{alone})")
    of_one_seed = f" ({ONE_SEED})" if outcome == UNDECIDED and seeds == {1} else ""
    return {
        "id": claim.id,
        "place": claim.place,
        "claim": claim.text,
        "verdict": why + (f", {UNSOUND}" if unsound else "") + of_one_seed,
        "outcome": outcome,
        "soundness": UNSOUND if unsound else "",
        "measured": "; ".join(measured),
        "test": claim.check,
        "reason": claim.unsound,
        "cells": len(outcomes),
        "decided": counts["hold"] + counts["fail"],
    } | counts


def verdict(counts: Mapping[str, int], claim: Claim) -> str:
    """Verdict of the cells, as `OUTCOMES` defines it."""
    hold, fail, undecided = (counts[name] for name in ("hold", "fail", "undecided"))
    if claim.needs == "some" and (hold or undecided):
        return REPRODUCED if hold else UNDECIDED
    # What is the largest is larger than every other.
    if claim.elsewhere and (fail or 0 < hold < sum(counts.values())):
        return NOT_REPRODUCED if fail else UNDECIDED
    if hold or fail:
        return PARTLY if hold and fail else REPRODUCED if hold else NOT_REPRODUCED
    return UNDECIDED if undecided else NOT_JUDGED if counts["not_judged"] else NOT_RUN


CLAIM_COLUMNS = [
    *("id", "place", "claim", "verdict", "outcome", "soundness", "measured", "test", "reason"),
    *("cells", "decided", *COUNTS.values()),
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
    tidy = pd.DataFrame(lines, columns=CLAIM_COLUMNS)
    display = pd.DataFrame(
        {"No.": [str(number) for number in range(1, len(lines) + 1)]}
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
    notes, title = [*meanings, numbers.STANDING], "Claims and verdicts" + substitutes_title(results.runs)
    details = [*footnotes(results), *preset_notes(results.runs, ())]
    table = render.PrintedTable("claims", title, tidy, display, notes, items, details)
    return render.write_table_files(table._replace(seeds=pd.concat(seeds)[CASE]), stem)


CLAIM_COUNTS = ("cells", "decided", *COUNTS.values())  # of a claim
PUBLISHED_COLUMNS = ("Table", "Row", "Column", "Published", "Reproduced", "Verdict")


def papers(directory: Path) -> list[Path]:
    """Return `directory` if it is RESULTS/PAPER, or the finished papers in it if it is RESULTS."""
    finished = [directory] if (directory / "claims.csv").exists() else []
    finished = finished or sorted(path.parent for path in directory.glob("*/claims.csv"))
    if not finished:
        raise BadInput(
            f"{directory}: found no claims.csv in it or one below, allowed: RESULTS or RESULTS/PAPER"
        )
    return finished


def compared_facts(directory: Path) -> dict[str, Any]:
    """Accuracies and claims that were compared of RESULTS/PAPER; of RESULTS the same by paper."""
    facts = {
        paper: {
            "accuracies": published_and_reproduced(paper).to_dict("records"),
            "claims": claims(paper).to_dict("records"),
        }
        for paper in papers(directory)
    }
    return facts.get(directory) or {paper.name: of_paper for paper, of_paper in facts.items()}


def claims(paper: Path) -> pd.DataFrame:
    """Return the judged claims of a paper, a line each; what is not said is the empty string."""
    columns = ["claim", "place", "verdict", "outcome", "soundness", *CLAIM_COUNTS]
    return read_csv(paper / "claims.csv", columns, dict.fromkeys(CLAIM_COUNTS, "int64"))


def published_and_reproduced(paper: Path) -> pd.DataFrame:
    """Return a line for every number that the paper's tables print: published, reproduced, verdict."""
    files = sorted((paper / "tables").glob("*.csv"))
    tables = [read_csv(path, [], dict.fromkeys(STATISTIC, "float64")) for path in files]
    tables = [table.loc[table["quantity"].isin(EVALUATED)] for table in tables if "source" in table]
    if not tables:
        return pd.DataFrame()
    key, lines = ["table", "row", "column", "quantity"], pd.concat(tables)
    published = lines.loc[lines["source"] == "published", [*key, "value", "verdict"]]
    ours = lines.loc[lines["source"] == "reproduced"].reindex(
        columns=[*key, *STATISTIC, "status", "substitute_for", "cut"], fill_value=""
    )
    both = published.rename(columns={"value": "published"}).merge(ours, on=key, sort=False)
    return both.fillna({"seeds": 0})


def papers_cells(paper: Path) -> pd.DataFrame:
    """Return those of them that are the paper's: of several tables for one place the first's."""
    every = published_and_reproduced(paper)
    main = [path.stem for path in paper.glob("tables/*.json") if render.read_table(path).main]
    return every.loc[every["table"].isin(main)] if len(every) else every


def accuracies_text(papers: Iterable[str], folder: Path) -> str:
    """Return in a sentence how the published numbers of papers came out; empty where no paper has any."""
    finished = [folder / name for name in papers if (folder / name / "claims.csv").is_file()]
    every = [verdict for path in finished for verdict in papers_cells(path).get("verdict", ())]
    verdicts = [verdict for verdict in every if verdict != numbers.UNVERIFIED]  # as good as not published
    return f"{len(verdicts)} published numbers: {numbers.verdict_counts(verdicts)}." if verdicts else ""


def published_words(paper: Path) -> list[Sequence[str]]:
    """Return the published numbers in words, under `PUBLISHED_COLUMNS`."""
    lines = []
    for line in published_and_reproduced(paper).to_dict("records"):
        metric = METRICS[line["quantity"]]
        published = f"{metric.factor * line['published']:.4g}{metric.unit}"
        ours = metric.with_unit(printed_number(line))
        lines.append((line["table"], line["row"], line["column"], published, ours, line["verdict"]))
    return lines


def read_csv(path: Path, columns: list[str], numbers: Mapping[str, str]) -> pd.DataFrame:
    """Read a CSV file that must have `columns`; a missing or damaged one is BadInput naming it.

    What is none of `numbers`, which have their types, is text, whatever it looks like.
    """
    dtypes = defaultdict(lambda: "object", numbers)
    try:
        blank = dict.fromkeys(numbers, "")
        frame = pd.read_csv(path.absolute(), dtype=dtypes, keep_default_na=False, na_values=blank)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a paper whose claims were judged") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no CSV file ({str(error).splitlines()[0]}), allowed: one") from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: what the workflow writes")
    return frame.map(lambda cell: render.unescape_csv(cell) if isinstance(cell, str) else cell)
