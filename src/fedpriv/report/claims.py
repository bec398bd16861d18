"""The claims of a paper and their verdicts: read off the runs by seed, judged, written as one table."""

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.spend import legend, marked
from fedpriv.audit.finding import how_counted
from fedpriv.errors import BadInput
from fedpriv.paper.arithmetic import COLUMN, FUNCTIONS, PRIVATE, Call, Operation, Term, pieces, terms
from fedpriv.paper.claims import Case, Claim
from fedpriv.paper.spends import Measure, SpendSelector
from fedpriv.paper.tables import AccuracyTable, Cell, Rendered, TableSpec, accuracy_tables
from fedpriv.report import numbers, render
from fedpriv.report.long import STATISTIC, printed
from fedpriv.report.notes import footnotes, replaced, stand_ins
from fedpriv.report.numbers import (
    CUT,
    FAILS,
    HOLDS,
    NOT_JUDGED,
    NOT_RUN,
    ONE_SEED,
    STANDING,
    SUBSTITUTE,
    UNDECIDED,
    above,
    standing,
    unstable,
)
from fedpriv.report.numbers import outcome as without_reason
from fedpriv.report.reading import (
    MEASURES,
    accuracies,
    diverged,
    epsilon_at,
    fact,
    growth,
    numbers_sent,
    reading,
    shared_seeds,
    spent,
    status_of,
    within,
)
from fedpriv.report.render import unescape_csv
from fedpriv.report.results import WIDTH, Results, rows_of

ACCURACY, PUBLISHED, GAIN, EPSILON, GROWTH = "accuracy", "published", "gain", "epsilon", "growth"
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
Numbers = Any  # a DataFrame with a row a seed and a column a comparison; or a float, the same for all


class Value(NamedTuple):
    """One side of a claim, or a part of it: its numbers, and what was measured, whatever is added to that."""

    numbers: Numbers
    text: str = ""
    kind: str = ""
    read: Numbers = 0.0

    @property
    def known(self) -> Numbers:
        """Return the numbers; where not even one round is affordable, nothing is learned."""
        missing = self.kind == ACCURACY and isinstance(self.numbers, pd.DataFrame)
        return self.numbers.fillna(0.0) if missing else self.numbers


class Names(NamedTuple):
    """What a side is read from: the collected runs, and what names stand for."""

    results: Results
    cells: Mapping[str, Cell]
    numbers: Mapping[str, float]

    def run(self, call: Call) -> str:
        """Return the run that a call names."""
        return self.cells[call.names[0]].run


def value(term: Term, known: Names) -> Value:
    """Return what a term comes to; a number that is given is not printed."""
    if isinstance(term, Call):
        return READ[term.function](known, term)
    if not isinstance(term, Operation):
        return Value(known.numbers[term] if isinstance(term, str) else term)
    return joined(term.sign, value(term.left, known), value(term.right, known))


def joined(sign: str, left: Value, right: Value) -> Value:
    """Return what two values come to."""
    if sign == "-" and left.kind == right.kind == ACCURACY:
        return gain(left, right)
    if sign == "-" and left.kind == right.kind == PUBLISHED:
        found = left.numbers - right.numbers
        return Value(found, f"{100 * found:.0f}".replace("-", "−"), GAIN)
    found = together(SIGNS[sign], left.known, right.known)
    if left.text and right.text:
        ratio = numbers.rounded(found.to_numpy().ravel()).replace("inf", "∞")
        return Value(found, f"{left.text} against {right.text}, ratio {ratio}")
    return (left if left.text else right)._replace(numbers=found)


def together(made: Callable[..., Numbers], left: Numbers, right: Numbers) -> Numbers:
    """Return what is made of two numbers by the seeds of both; one column goes with each of several."""
    if not (isinstance(left, pd.DataFrame) and isinstance(right, pd.DataFrame)):
        return made(left, right)
    seeds = shared_seeds(left, right)
    return pd.DataFrame(made(left.loc[seeds].to_numpy(), right.loc[seeds].to_numpy()), index=seeds)


def gain(left: Value, right: Value) -> Value:
    """Return how much more accurate one is than the other."""
    read = together(operator.sub, left.read, right.read)
    found = together(operator.sub, left.numbers, right.numbers)
    return Value(found, numbers.percent(read.iloc[:, 0]), GAIN)


def seed_value(series: pd.Series, text: str = "", kind: str = "") -> Value:
    """Return what is read by seed as a value."""
    return Value(series.to_frame(0), text, kind, series.to_frame(0))


def accuracy_of(results: Results, cell: Cell, measure: Measure = "last") -> pd.Series:
    """Return by seed the accuracy of a cell, within budgets if it has any: NaN where no round is."""
    read = reading(results, cell) if cell.within else MEASURES[measure](results, cell.run)
    return read.loc[:, "accuracy"]


def percent_text(*accuracies: pd.Series) -> str:
    """Return accuracies by seed in words, with their unit; of one that was not read, that it was not."""
    texts = [numbers.percent(one) for one in accuracies]
    texts = ["no accuracy" if text == numbers.NONE else text for text in texts]
    return ", ".join(texts) + (" %" if texts[-1][-1].isdigit() else "")


def each_accuracy(known: Names, call: Call) -> list[pd.Series]:
    """Return by seed the accuracy of everything that a call names."""
    return [accuracy_of(known.results, known.cells[name], call.measure) for name in call.names]


def accuracy(known: Names, call: Call) -> Value:
    (found,) = each_accuracy(known, call)
    return seed_value(found, percent_text(found), ACCURACY)


def accuracy_within(known: Names, call: Call) -> Value:
    limit, spend = call.others
    found = within(known.results, known.run(call), (spend, limit)).loc[:, "accuracy"]
    budget = marked(f"{limit:g}", status_of(known.results, known.run(call), spend))
    return seed_value(found.fillna(0.0), f"{percent_text(found)} within ε = {budget}")


def published(known: Names, call: Call) -> Value:
    found = known.cells[call.names[0]].published
    assert found is not None
    return Value(found, f"{100 * found:g} %", PUBLISHED)


def gap(known: Names, call: Call) -> Value:
    found = gain(*(seed_value(one) for one in each_accuracy(known, call)))
    # A gap that is not there cannot be closed.
    return found._replace(numbers=found.numbers.where(found.numbers > 0, np.inf))


def lead(known: Names, call: Call) -> Value:
    first, *others = each_accuracy(known, call)
    text = f"{percent_text(first).removesuffix(' %')} against {percent_text(*others)}"
    return Value(pd.concat([first - one for one in others], axis=1).loc[shared_seeds(first, *others)], text)


def rise(known: Names, call: Call) -> Value:
    found = each_accuracy(known, call)
    steps = pd.concat([after - before for before, after in pairwise(found)], axis=1)
    return Value(steps.loc[shared_seeds(*found)], percent_text(*found))


def rounds(known: Names, call: Call) -> Value:
    target = value(call.others[0], known).known
    read = accuracies(known.results, known.run(call))
    seeds = pd.Index(read["seed"].unique())
    if isinstance(target, pd.DataFrame):
        wanted = target.loc[target.index.intersection(seeds)].iloc[:, 0]
    else:
        wanted = pd.Series(target, seeds)
    first = read.loc[read["test_accuracy"] >= read["seed"].map(wanted)].groupby("seed").first()
    found = first.loc[:, "round"].reindex(wanted.index)
    # What is never reached takes longer than anything.
    return seed_value(found.fillna(np.inf), f"round {numbers.rounds(found)} for {percent_text(wanted)}")


def epsilon(known: Names, call: Call) -> Value:
    return of_spend(known.results, known.run(call), call.spend)


def spent_by(known: Names, call: Call) -> Value:
    cell = known.cells[call.names[0]]
    return of_spend(known.results, cell.run, cell.within[0].spend)


def of_spend(results: Results, run: str, spend: SpendSelector) -> Value:
    """Return by seed the ε of a run that is counted so."""
    found = epsilon_at(results, run, spend)
    return seed_value(found, numbers.epsilon(found, status_of(results, run, spend)), EPSILON)


def delta(known: Names, call: Call) -> Value:
    found = spent(known.results, known.run(call), call.spend).groupby("seed")["delta"].first()
    return seed_value(found, numbers.delta(float(found.iloc[0])))


def grown(known: Names, call: Call) -> Value:
    found = growth(known.results, known.run(call), call.spend).iloc[-1]
    return seed_value(found, f"{numbers.size(found)} ({call.spend})", GROWTH)


def lower_bound(known: Names, call: Call) -> Value:
    audit, spend = call.others
    meant = f"({how_counted(spend)})"
    found = {
        seed: max(
            (one.lower_bound for one in several if one.audit == audit and meant in one.about), default=np.nan
        )
        for seed, several in known.results.findings(known.run(call)).items()
    }
    series = pd.Series(found, dtype=float)
    return seed_value(series, numbers.size(series))


def upload_bytes(known: Names, call: Call) -> Value:
    found = fact(known.results, known.run(call), "upload_bytes")
    return seed_value(found, f"{numbers.whole(found)} bytes")


def float32_bytes(known: Names, call: Call) -> Value:
    found = WIDTH * numbers_sent(known.results, known.run(call))
    return seed_value(found, f"{numbers.whole(found)} bytes")


def either_way(known: Names, call: Call) -> Value:
    term = call.others[0]
    if isinstance(term, Operation):
        left, right = value(term.left, known), value(term.right, known)
        found, text = joined(term.sign, left, right), against(left, right)
    else:
        found = value(term, known)
        text = found.text
    return Value(pd.concat([found.numbers, -found.numbers], axis=1), text)


def against(left: Value, right: Value) -> str:
    """Return one number against another; of two accuracies, also how much more accurate the first is.

    What the line itself says has no text.
    """
    if not right.text:
        return left.text
    text = f"{left.text} against {right.text}"
    if left.kind == right.kind == ACCURACY:
        text += f", gain {gain(left, right).text} points"
    return text


READ: dict[str, Callable[[Names, Call], Value]] = {
    "accuracy": accuracy,
    "accuracy_within": accuracy_within,
    "published": published,
    "gap": gap,
    "lead": lead,
    "rise": rise,
    "rounds": rounds,
    "epsilon": epsilon,
    "spent": spent_by,
    "delta": delta,
    "growth": grown,
    "lower_bound": lower_bound,
    "upload_bytes": upload_bytes,
    "float32_bytes": float32_bytes,
    "abs": either_way,
}


def caption(results: Results, declared: Rendered) -> str:
    """Return the caption of a table or figure, with what was measured in its places.

    A number of runs that are not in `results` is "not run".
    """
    return "".join(
        piece if number % 2 == 0 and isinstance(piece, str) else measured_term(results, piece)
        for number, piece in enumerate(pieces(declared.caption))
    )


def measured_term(results: Results, term: Term) -> str:
    """Return the number that a place holds, as claims print it: over seeds, with its unit."""
    names = [name for call in terms(term, Call) for name in call.names]
    if not all(map(results.has, names)):
        return NOT_RUN
    return value(term, Names(results, {name: Cell(name) for name in names}, {})).text


UNITS = {GAIN: "gain {} points", EPSILON: "ε {}"}  # of what is measured


class Outcome(NamedTuple):
    """What one case says: its margins, and the measured numbers in words.

    Margins are [seeds], or [seeds, comparisons] where all of several comparisons must hold. `instead` is
    what stands in place of a decision: not run, not judged, or undecided whatever the margins are.
    """

    cell: str
    margins: np.ndarray | None
    measured: str
    instead: str = ""


class Side(NamedTuple):
    """One side of a claim in one case: its term, and what names stand for there."""

    term: Term
    cells: Mapping[str, Cell]

    @property
    def calls(self) -> list[Call]:
        return [*terms(self.term, Call)]

    def named(self, *kinds: str) -> list[tuple[Call, Cell]]:
        """Return the cells whose names must be of one of `kinds`, each with the call that names it."""
        return [(call, self.cells[name]) for call in self.calls for name in call.of(*kinds)]

    @property
    def spends(self) -> list[tuple[str, SpendSelector]]:
        """Return the ε, each with its run, without which it cannot be read."""
        budgets = [(cell.run, spend) for _, cell in self.named(COLUMN) for spend, _ in cell.budgets]
        return budgets + [(cell.run, call.spend) for call, cell in self.named(PRIVATE)]

    @property
    def accuracies(self) -> list[tuple[Call, Cell]]:
        """Return the accuracies that were measured for it."""
        return [(call, cell) for call, cell in self.named(COLUMN) if FUNCTIONS[call.function].of_accuracies]


def outcomes(results: Results, claim: Claim, tables: Mapping[str, AccuracyTable]) -> Iterator[Outcome]:
    """Yield one outcome a case.

    Not run is one that lacks a run, or the ε of a run, that it reads; not judged one of accuracies on data
    that stand in for the paper's, and what a paper claims of a run that the preset has cut. Where nothing was
    learned, or an accuracy within a budget is unstable, a comparison of accuracies is undecided.
    """
    for case in claim.judged(tables):
        yield Outcome(case.name, *outcome(results, claim, case))


def outcome(results: Results, claim: Claim, case: Case) -> tuple[np.ndarray | None, str, str]:
    """Return the margins of a case, what was measured, and what stands in place of a decision."""
    term, at_least, other = claim.comparison
    sides = Side(term, case.left), Side(other, case.right)
    runs = [cell.run for side in sides for _, cell in side.named(COLUMN, PRIVATE)]
    if not all(map(results.has, runs)):
        return None, NOT_RUN, NOT_RUN
    spends = [spend for side in sides for spend in side.spends]
    if uncounted := [spend for run, spend in spends if spent(results, run, spend).empty]:
        return None, f"no ε ({uncounted[0]}) in the ledger", NOT_RUN
    called = {call.function for call in claim.calls}
    others = replaced(rows_of(results.runs, *runs))
    if others and any(FUNCTIONS[name].of_accuracies for name in called):
        said = NOT_RUN if "published" in called else "not judged"
        return None, f"{said}, {', '.join(others)}", SUBSTITUTE
    if gone := [run for run in runs if len(diverged(results, run))]:
        return None, f"{gone[0]} diverged", UNDECIDED
    cut = any(results.fact(run, "cut") for run in runs) and ("published" in called or not claim.ours)
    left, right = (value(side.term, Names(results, side.cells, case.numbers)) for side in sides)
    found, told = margins(left, at_least, right), measured(left, at_least, right)
    if cut:
        return found, told, CUT
    if why := shaky(results, sides):
        return found, f"{told}, {why}", UNDECIDED
    return (found, told, "") if learned(results, sides) else (found, f"{told}, nothing learned", UNDECIDED)


def margins(left: Value, at_least: bool, right: Value) -> np.ndarray:
    """Return by seed how far the left side is on the claimed side of the right one."""
    apart = np.asarray(together(further, left.known, right.known), dtype=float)
    apart = apart[:, 0] if apart.ndim == 2 and apart.shape[1] == 1 else np.atleast_1d(apart)
    return apart if at_least else -apart


def further(left: Any, right: Any) -> Any:
    """Return how much larger one number is; what nothing closes is not closed by a missing number either."""
    with np.errstate(invalid="ignore"):  # of two infinite ones neither is larger: NaN
        return np.where(np.isposinf(right) & np.isnan(left), -np.inf, left - right)


def measured(left: Value, at_least: bool, right: Value) -> str:
    """Return what was measured; of two ε the smaller one first."""
    if not (left.text and right.text):
        found = left if left.text else right
        return UNITS.get(found.kind, "{}").format(found.text)
    turned = at_least and left.kind in (EPSILON, GROWTH)
    first, second = (right, left) if turned else (left, right)
    both = first.kind if first.kind == second.kind else ""
    return UNITS.get(both, "{}").format(against(first, second))


def learned(results: Results, sides: tuple[Side, Side]) -> bool:
    """Return whether in every comparison of accuracies one is above the share of the largest class."""
    found = [[better(results, call, cell) for call, cell in side.accuracies] for side in sides]
    if max(map(len, found)) < 2:  # an accuracy and an accuracy, or one and a number
        found = [found[0] + found[1]]
    return all(any(side) for side in found if len(side) > 1)


def better(results: Results, call: Call, cell: Cell) -> bool:
    """Return whether an accuracy is above the share of the largest class, where that is known."""
    largest = results.fact(cell.run, "majority")
    return above(accuracy_of(results, cell, call.measure), largest)


def shaky(results: Results, sides: tuple[Side, Side]) -> str:
    """Return why an accuracy that is read within a budget says nothing of its run, or the empty string."""
    for _, cell in (one for side in sides for one in side.accuracies):
        if cell.within and (why := unstable(results, cell.run, reading(results, cell))):
            return f"{cell.run} {why}"
    return ""


PARTLY, REPRODUCED, NOT_REPRODUCED = "partly", "reproduced", "not reproduced"
UNSOUND = "interpretation unsound"
OUTCOMES = {
    REPRODUCED: "every cell that decides holds, and at least one does (a claim about some cell: one holds)",
    PARTLY: "some cells hold and some fail",
    NOT_REPRODUCED: "every cell that decides fails, and at least one does (what is one statement: one fails)",
    UNDECIDED: "cells were run, and none decides",
    NOT_JUDGED: "substitute data, or a run that the preset has cut, decide nothing about the paper",
    NOT_RUN: "no cell was run",
}
SOUNDNESS = {UNSOUND: "what was observed is true, what is made of it does not follow; the reason is given"}
COUNTS = {HOLDS: "hold", FAILS: "fail", UNDECIDED: "undecided", NOT_JUDGED: "not_judged", NOT_RUN: "not_run"}


def judge(claim: Claim, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the line of one claim: what its cells decide, how many do, and the verdict that follows."""
    found = [stands(outcome) for outcome in outcomes]
    of_each = [without_reason(one) for one in found]
    counts = {name: of_each.count(standing) for standing, name in COUNTS.items()}
    outcome = verdict(counts, claim)
    why = next((one for one in found if outcome == NOT_JUDGED == without_reason(one)), outcome)
    unsound = bool(claim.unsound) and outcome in (REPRODUCED, PARTLY)
    seeds = {len(one.margins) for one in outcomes if one.margins is not None}
    alone = outcome == UNDECIDED and seeds == {1}
    return {
        "id": claim.id,
        "place": claim.place,
        "claim": claim.text,
        "verdict": why + (f", {UNSOUND}" if unsound else "") + (f" ({ONE_SEED})" if alone else ""),
        "outcome": outcome,
        "soundness": UNSOUND if unsound else "",
        "measured": "; ".join(map(told, outcomes)),
        "test": claim.check,
        "reason": claim.unsound,
        "cells": len(outcomes),
        "decided": counts["hold"] + counts["fail"],
    } | counts


def stands(outcome: Outcome) -> str:
    """Return what one case decides, or what stands instead."""
    if outcome.instead or outcome.margins is None:
        return outcome.instead or NOT_RUN
    return standing(outcome.margins)


def told(outcome: Outcome) -> str:
    """Return what was measured in one case, and what that decides."""
    if outcome.margins is None:
        return f"{outcome.cell}: {outcome.measured}"
    why = f": {ONE_SEED}" if len(outcome.margins) == 1 else ""
    return f"{outcome.cell}: {outcome.measured} ({stands(outcome)}{why})"


def verdict(counts: Mapping[str, int], claim: Claim) -> str:
    """Return what the cells say, as `OUTCOMES` defines it."""
    hold, fail, undecided = (counts[name] for name in ("hold", "fail", "undecided"))
    if claim.needs == "some" and (hold or undecided):
        return REPRODUCED if hold else UNDECIDED
    # What is the largest is larger than every other.
    if claim.elsewhere and (fail or 0 < hold < sum(counts.values())):
        return NOT_REPRODUCED if fail else UNDECIDED
    if hold or fail:
        return PARTLY if hold and fail else REPRODUCED if hold else NOT_REPRODUCED
    return UNDECIDED if undecided else NOT_JUDGED if counts["not_judged"] else NOT_RUN


WIDTHS = r"lp{0.3\linewidth}p{0.16\linewidth}p{0.12\linewidth}llll"  # of the columns in LaTeX
COLUMNS = [
    *("id", "place", "claim", "verdict", "outcome", "soundness", "measured", "test", "reason"),
    *("cells", "decided", *COUNTS.values()),
]


def write(
    results: Results, claims: Sequence[Claim], tables: Mapping[str, TableSpec], stem: Path
) -> list[Path]:
    """Judge claims about these tables; write `stem`.csv, .md and .tex."""
    return render.write(claims_table(results, claims, tables), stem)


def claims_table(
    results: Results, claims: Sequence[Claim], tables: Mapping[str, TableSpec]
) -> render.PrintedTable:
    """Return a line a claim; the notes say what a verdict means."""
    rows = accuracy_tables(tables)
    lines = [judge(claim, list(outcomes(results, claim, rows))) for claim in claims]
    tidy = pd.DataFrame(lines, columns=COLUMNS)
    display = pd.DataFrame(
        {("", "No."): [str(number) for number in range(1, len(lines) + 1)]}
        | {("", name.capitalize()): tidy[name] for name in ("claim", "place", "verdict")}
        | {("Cells", "decided"): [f"{line['decided']} of {line['cells']}" for line in lines]}
        | {("Cells", name): tidy[name].astype(str) for name in ("hold", "fail", "undecided")}
    )
    details = [
        f"Tested: {line['test']}. Measured: {line['measured']}."
        + (f" Unsound: {line['reason']}" if line["reason"] else "")
        for line in lines
    ]
    meanings = [f"{verdict}: {meaning}." for verdict, meaning in {**OUTCOMES, **SOUNDNESS}.items()]
    said = legend(*details)
    notes = [*([f"ε {said}."] if said else []), *meanings, STANDING, *footnotes(results)]
    return render.PrintedTable(
        *("claims", "Claims and verdicts" + stand_ins(results.runs), tidy, display, notes, details, WIDTHS),
        printed=True,
    )


CLAIM_COUNTS = ("cells", "decided", *COUNTS.values())  # of a claim
ACCURACY_COLUMNS = ("Table", "Row", "Column", "Published (%)", "Reproduced (%)", "Verdict")


def papers(directory: Path) -> list[Path]:
    """Return `directory` if it is RESULTS/PAPER, or the finished papers in it if it is RESULTS."""
    found = [directory] if (directory / "claims.csv").exists() else []
    found = found or sorted(path.parent for path in directory.glob("*/claims.csv"))
    if not found:
        raise BadInput(
            f"{directory}: found no claims.csv in it or one below, allowed: RESULTS or RESULTS/PAPER"
        )
    return found


def facts(directory: Path) -> dict[str, Any]:
    """Return what was compared of RESULTS/PAPER; of RESULTS the same by paper."""
    found = {
        paper: {
            "accuracies": published_and_reproduced(paper).to_dict("records"),
            "claims": claims(paper).to_dict("records"),
        }
        for paper in papers(directory)
    }
    return found.get(directory) or {paper.name: told for paper, told in found.items()}


def claims(paper: Path) -> pd.DataFrame:
    """Return the judged claims of a paper, a line each; what is not said is the empty string."""
    columns = ["claim", "place", "verdict", "outcome", "soundness", *CLAIM_COUNTS]
    return read(paper / "claims.csv", columns, dict.fromkeys(CLAIM_COUNTS, "int64"))


def published_accuracies(paper: Path) -> list[Sequence[str]]:
    """Return a line for every accuracy that the paper's tables print, in words, under `ACCURACY`."""
    lines = []
    for line in published_and_reproduced(paper).to_dict("records"):
        published, reproduced = f"{100 * line['published']:.4g}", printed(line | {"quantity": "accuracy"})
        lines.append((line["table"], line["row"], line["column"], published, reproduced, line["verdict"]))
    return lines


def published_and_reproduced(paper: Path) -> pd.DataFrame:
    """Return a line for every accuracy that the paper's tables print: published, reproduced, verdict."""
    found = sorted((paper / "tables").glob("*.csv"))
    tables = [read(path, ["table"], dict.fromkeys(STATISTIC, "float64")) for path in found]
    tables = [table.loc[table["quantity"] == "accuracy"] for table in tables if "source" in table]
    if not tables:
        return pd.DataFrame()
    key, found = ["table", "row", "column"], pd.concat(tables)
    published = found.loc[found["source"] == "published", [*key, "value", "verdict"]]
    ours = found.loc[found["source"] == "reproduced"].reindex(
        columns=[*key, *STATISTIC, "status", "stand_in_for", "cut"], fill_value=""
    )
    both = published.rename(columns={"value": "published"}).merge(ours, on=key, sort=False)
    return both.fillna({"seeds": 0})


def papers_cells(paper: Path) -> pd.DataFrame:
    """Return those of them that are the paper's: of several tables for one place the first's."""
    every = published_and_reproduced(paper)
    main = [path.stem for path in paper.glob("tables/*.json") if render.read_table(path).main]
    return every.loc[every["table"].isin(main)] if len(every) else every


def read(path: Path, columns: list[str], numbers: Mapping[str, str]) -> pd.DataFrame:
    """Read a CSV file that must have `columns`; a missing or damaged one is BadInput naming it.

    What is none of `numbers`, which have their types, is text, whatever it looks like.
    """
    dtypes = defaultdict(lambda: "object", numbers)
    try:
        frame = pd.read_csv(path, dtype=dtypes, keep_default_na=False, na_values=dict.fromkeys(numbers, ""))
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a paper whose claims were judged") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no CSV file ({str(error).splitlines()[0]}), allowed: one") from None
    if missing := [name for name in columns if name not in frame]:
        raise BadInput(f"{path}: found no column {missing[0]}, allowed: what the workflow writes")
    return frame.map(lambda cell: unescape_csv(cell) if isinstance(cell, str) else cell)
