"""How what claims and captions say is read off the collected runs, by seed: a function and a line each."""

import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.account.spend import marked
from fedpriv.audit.finding import how_counted
from fedpriv.paper.arithmetic import Call, Operation, Term, pieces, terms
from fedpriv.paper.cells import Cell, Rendered
from fedpriv.paper.spends import Measure, SpendSelector
from fedpriv.report import numbers as words
from fedpriv.report.claims.yardstick import NOT_RUN
from fedpriv.report.collect import WIDTH
from fedpriv.report.reading import (
    MEASURES,
    accuracies,
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
from fedpriv.report.results import Results

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


class Known(NamedTuple):
    """What a side is read from: the collected runs, and what names stand for."""

    results: Results
    cells: Mapping[str, Cell]
    numbers: Mapping[str, float]

    def run(self, call: Call) -> str:
        """Return the run that a call names."""
        return self.cells[call.names[0]].run


def value(term: Term, known: Known) -> Value:
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
        ratio = words.rounded(found.to_numpy().ravel()).replace("inf", "∞")
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
    return Value(found, words.percent(read.iloc[:, 0]), GAIN)


def seed_value(series: pd.Series, text: str = "", kind: str = "") -> Value:
    """Return what is read by seed as a value."""
    return Value(series.to_frame(0), text, kind, series.to_frame(0))


def accuracy_of(results: Results, cell: Cell, measure: Measure = "last") -> pd.Series:
    """Return by seed the accuracy of a cell, within budgets if it has any: NaN where no round is."""
    read = reading(results, cell) if cell.within else MEASURES[measure](results, cell.run)
    return read.loc[:, "accuracy"]


def percent_text(*accuracies: pd.Series) -> str:
    """Return accuracies by seed in words, with their unit; of one that was not read, that it was not."""
    texts = [words.percent(one) for one in accuracies]
    texts = ["no accuracy" if text == words.NONE else text for text in texts]
    return ", ".join(texts) + (" %" if texts[-1][-1].isdigit() else "")


def each_accuracy(known: Known, call: Call) -> list[pd.Series]:
    """Return by seed the accuracy of everything that a call names."""
    return [accuracy_of(known.results, known.cells[name], call.measure) for name in call.names]


def accuracy(known: Known, call: Call) -> Value:
    (found,) = each_accuracy(known, call)
    return seed_value(found, percent_text(found), ACCURACY)


def accuracy_within(known: Known, call: Call) -> Value:
    limit, spend = call.others
    found = within(known.results, known.run(call), (spend, limit)).loc[:, "accuracy"]
    budget = marked(f"{limit:g}", status_of(known.results, known.run(call), spend))
    return seed_value(found.fillna(0.0), f"{percent_text(found)} within ε = {budget}")


def published(known: Known, call: Call) -> Value:
    found = known.cells[call.names[0]].published
    assert found is not None
    return Value(found, f"{100 * found:g} %", PUBLISHED)


def gap(known: Known, call: Call) -> Value:
    found = gain(*(seed_value(one) for one in each_accuracy(known, call)))
    # A gap that is not there cannot be closed.
    return found._replace(numbers=found.numbers.where(found.numbers > 0, np.inf))


def lead(known: Known, call: Call) -> Value:
    first, *others = each_accuracy(known, call)
    text = f"{percent_text(first).removesuffix(' %')} against {percent_text(*others)}"
    return Value(pd.concat([first - one for one in others], axis=1).loc[shared_seeds(first, *others)], text)


def rise(known: Known, call: Call) -> Value:
    found = each_accuracy(known, call)
    steps = pd.concat([after - before for before, after in pairwise(found)], axis=1)
    return Value(steps.loc[shared_seeds(*found)], percent_text(*found))


def rounds(known: Known, call: Call) -> Value:
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
    return seed_value(found.fillna(np.inf), f"round {words.rounds(found)} for {percent_text(wanted)}")


def epsilon(known: Known, call: Call) -> Value:
    return of_spend(known.results, known.run(call), call.spend)


def spent_by(known: Known, call: Call) -> Value:
    cell = known.cells[call.names[0]]
    return of_spend(known.results, cell.run, cell.within[0].spend)


def of_spend(results: Results, run: str, spend: SpendSelector) -> Value:
    """Return by seed the ε of a run that is counted so."""
    found = epsilon_at(results, run, spend)
    return seed_value(found, words.epsilon(found, status_of(results, run, spend)), EPSILON)


def delta(known: Known, call: Call) -> Value:
    found = spent(known.results, known.run(call), call.spend).groupby("seed")["delta"].first()
    return seed_value(found, words.delta(float(found.iloc[0])))


def grown(known: Known, call: Call) -> Value:
    found = growth(known.results, known.run(call), call.spend).iloc[-1]
    return seed_value(found, f"{words.size(found)} ({call.spend})", GROWTH)


def lower_bound(known: Known, call: Call) -> Value:
    audit, spend = call.others
    meant = f"({how_counted(spend)})"
    found = {
        seed: max(
            (one.lower_bound for one in several if one.audit == audit and meant in one.about), default=np.nan
        )
        for seed, several in known.results.findings(known.run(call)).items()
    }
    series = pd.Series(found, dtype=float)
    return seed_value(series, words.size(series))


def upload_bytes(known: Known, call: Call) -> Value:
    found = fact(known.results, known.run(call), "upload_bytes")
    return seed_value(found, f"{words.whole(found)} bytes")


def float32_bytes(known: Known, call: Call) -> Value:
    found = WIDTH * numbers_sent(known.results, known.run(call))
    return seed_value(found, f"{words.whole(found)} bytes")


def either_way(known: Known, call: Call) -> Value:
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


READ: dict[str, Callable[[Known, Call], Value]] = {
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
        piece if number % 2 == 0 and isinstance(piece, str) else measured(results, piece)
        for number, piece in enumerate(pieces(declared.caption))
    )


def measured(results: Results, term: Term) -> str:
    """Return the number that a place holds, as claims print it: over seeds, with its unit."""
    names = [name for call in terms(term, Call) for name in call.names]
    if not all(map(results.has, names)):
        return NOT_RUN
    return value(term, Known(results, {name: Cell(name) for name in names}, {})).text
