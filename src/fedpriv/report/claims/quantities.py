"""How the numbers that claims compare are read off the collected runs: a function and a line each."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.audit.finding import Finding, how_counted
from fedpriv.paper import quantities as declared
from fedpriv.paper.cells import Cell
from fedpriv.paper.spends import Measure
from fedpriv.report import numbers as words
from fedpriv.report.audits import findings
from fedpriv.report.reading import (
    MEASURES,
    WIDTH,
    accuracies,
    at_end,
    difference,
    epsilon_at,
    fact,
    growth,
    numbers_sent,
    reading,
    shared_seeds,
    spent,
    within,
)

Cells = Mapping[str, Cell]  # what names stand for in a case
Values = pd.Series | pd.DataFrame | float  # by seed, a column a comparison; or the same for all of them


class Read(NamedTuple):
    """A number, and how it is printed."""

    values: Values
    text: str


def accuracy_of(frame: pd.DataFrame, cell: Cell, measure: Measure = "last") -> pd.Series:
    """Return by seed the accuracy of a cell, within budgets if it has any: NaN where no round is."""
    read = reading(frame, cell) if cell.within else MEASURES[measure](frame, cell.run)
    return read.loc[:, "accuracy"]


def accuracy(frame: pd.DataFrame, cells: Cells, quantity: declared.Accuracy) -> Read:
    found = accuracy_of(frame, cells[quantity.accuracy], quantity.measure)
    return Read(found, told(found))


def apart(frame: pd.DataFrame, of: Cell, over: Cell) -> pd.Series:
    """Return by seed how much more accurate one cell is than another."""
    return difference(accuracy_of(frame, of), accuracy_of(frame, over))


def told(*accuracies: pd.Series) -> str:
    """Return accuracies by seed in words, with their unit; of one that was not read, that it was not."""
    texts = [words.percent(one) for one in accuracies]
    texts = ["no accuracy" if text == words.NONE else text for text in texts]
    return ", ".join(texts) + (" %" if texts[-1][-1].isdigit() else "")


def rise(frame: pd.DataFrame, cells: Cells, quantity: declared.Rise) -> Read:
    found = [accuracy_of(frame, cells[name], quantity.measure) for name in quantity.rise]
    steps = pd.concat([after - before for before, after in pairwise(found)], axis=1).loc[shared_seeds(*found)]
    return Read(steps, told(*found))


def lead(frame: pd.DataFrame, cells: Cells, quantity: declared.Lead) -> Read:
    first, *others = (
        accuracy_of(frame, cells[name], quantity.measure) for name in (quantity.lead, *quantity.over)
    )
    said = f"{told(first).removesuffix(' %')} against {told(*others)}"
    return Read(pd.concat([first - one for one in others], axis=1).loc[shared_seeds(first, *others)], said)


def gain(frame: pd.DataFrame, cells: Cells, quantity: declared.Gain) -> Read:
    found = apart(frame, cells[quantity.gain], cells[quantity.over])
    return Read(found, words.percent(found))


def share(frame: pd.DataFrame, cells: Cells, quantity: declared.Share) -> Read:
    gap = apart(frame, cells[quantity.of], cells[quantity.over])
    # A gap that is not there cannot be closed.
    return Read((quantity.share * gap).where(gap > 0, np.inf), words.percent(gap))


def published(frame: pd.DataFrame, cells: Cells, quantity: declared.Published) -> Read:
    found = cells[quantity.published].published
    assert found is not None
    return Read(found, f"{100 * found:.0f} %")


def published_gain(frame: pd.DataFrame, cells: Cells, quantity: declared.PublishedGain) -> Read:
    found, over = (cells[name].published for name in (quantity.published_gain, quantity.over))
    assert found is not None and over is not None
    return Read(found - over, f"{100 * (found - over):.0f}".replace("-", "−"))


def accuracy_within(frame: pd.DataFrame, cells: Cells, quantity: declared.AccuracyWithin) -> Read:
    budget = quantity.spend, quantity.accuracy_within
    found = within(frame, cells[quantity.of].run, budget).loc[:, "accuracy"]
    return Read(found, f"{told(found)} within ε = {quantity.accuracy_within:g}")


def epsilon(frame: pd.DataFrame, cells: Cells, quantity: declared.Epsilon) -> Read:
    found = epsilon_at(frame, cells[quantity.of].run, quantity.epsilon)
    return Read(found, words.epsilon(found))


def lower_bound(frame: pd.DataFrame, cells: Cells, quantity: declared.LowerBound) -> Read:
    found = {
        seed: max((one.lower_bound for one in several if about(one, quantity)), default=np.nan)
        for seed, several in findings(frame, cells[quantity.of].run).items()
    }
    values = pd.Series(found, dtype=float)
    return Read(values, words.epsilon(values))


def about(one: Finding, quantity: declared.LowerBound) -> bool:
    """Return whether a finding is that of the audit about the ε which are meant."""
    return one.audit == quantity.lower_bound and f"({how_counted(quantity.under)})" in one.about


def spent_by(frame: pd.DataFrame, cells: Cells, quantity: declared.Spent) -> Read:
    cell = cells[quantity.spent]
    found = epsilon_at(frame, cell.run, cell.within[0].spend)
    return Read(found, words.epsilon(found))


def delta(frame: pd.DataFrame, cells: Cells, quantity: declared.DeltaOf) -> Read:
    found = spent(frame, cells[quantity.of].run, quantity.delta).groupby("seed")["delta"].first()
    return Read(found, words.delta(float(found.iloc[0])))


def grown(frame: pd.DataFrame, cells: Cells, quantity: declared.Growth) -> Read:
    found = growth(frame, cells[quantity.of].run, quantity.growth).iloc[-1]
    return Read(found, words.epsilon(found))


def times_smaller(frame: pd.DataFrame, cells: Cells, quantity: declared.TimesSmaller) -> Read:
    sent = fact(frame, cells[quantity.times_smaller].run, "upload_bytes")
    real = WIDTH * numbers_sent(frame, cells[quantity.than].run)
    times = (real / sent).loc[shared_seeds(real, sent)]
    said = f"{words.whole(sent)} bytes against {words.whole(real)}, {words.rounded(times)} times fewer"
    return Read(times, said)


def rounds(frame: pd.DataFrame, cells: Cells, quantity: declared.Rounds) -> Read:
    run, over = cells[quantity.rounds].run, cells[quantity.over].run
    ended = [at_end(frame, one).loc[:, "accuracy"] for one in (over, run)]
    target = (ended[0] - quantity.within).loc[shared_seeds(*ended)]
    ours, theirs = reached(frame, run, target), reached(frame, over, target)
    said = f"round {words.rounds(ours)} against {words.rounds(theirs)} for {told(target)}"
    # What is never reached takes longer than anything.
    return Read((ours / theirs).fillna(np.inf), said)


def reached(frame: pd.DataFrame, run: str, target: pd.Series) -> pd.Series:
    """Return by seed the first evaluated round as accurate as `target`; NaN if there is none."""
    read = accuracies(frame, run)
    enough = read.loc[read["test_accuracy"] >= read["seed"].map(target)]
    return enough.groupby("seed").first().loc[:, "round"].reindex(target.index)


READ: dict[str, Callable[[pd.DataFrame, Cells, Any], Read]] = {
    "accuracy": accuracy,
    "lead": lead,
    "rise": rise,
    "gain": gain,
    "share": share,
    "published": published,
    "published_gain": published_gain,
    "accuracy_within": accuracy_within,
    "epsilon": epsilon,
    "lower_bound": lower_bound,
    "spent": spent_by,
    "delta": delta,
    "growth": grown,
    "times_smaller": times_smaller,
    "rounds": rounds,
}
