"""Checks that read runs, whether they are in a table or not: accuracies at the end, and how ε grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from fedpriv.frozen import Frozen
from fedpriv.report.cells import epsilon, percent, rounds
from fedpriv.report.check import Case, Check
from fedpriv.report.rows import Rows
from fedpriv.report.spends import SpendChoice
from fedpriv.report.table_checks import points

if TYPE_CHECKING:
    import pandas as pd

    from fedpriv.report.check import Measured


def final(frame: pd.DataFrame, run: str) -> pd.Series:
    """Return by seed the accuracy of `run` at its last evaluated round."""
    from fedpriv.report.reading import at_end

    return at_end(frame, run).loc[:, "accuracy"]


class Pair(Frozen):
    """A run and another that it is compared with."""

    label: str
    of: str
    over: str


class RunGain(Check):
    """At the end one run is more accurate than another, or less by at most so much, paired by seed."""

    name: Literal["run_gain"] = "run_gain"
    cells: tuple[Pair, ...] = Field(min_length=1)
    at_least: float = 0.0

    def sentence(self) -> str:
        return (
            f"accuracy at the last round, first run − second ≥ {points(self.at_least)} points, paired by seed"
        )

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            yield Case(cell.label, (cell.of, cell.over), (), partial(self.measure, cell=cell))

    def measure(self, frame: pd.DataFrame, cell: Pair) -> Measured:
        of, over = final(frame, cell.of), final(frame, cell.over)
        gain = of - over
        measured = f"{percent(of)} % against {percent(over)} %, gain {percent(gain)} points"
        return gain - self.at_least, measured


class Ceiling(Frozen):
    """A run and the accuracy that it stays below."""

    label: str
    run: str
    below: PositiveFloat


class RunBelow(Check):
    """A run fails to learn: its accuracy at the last round is at most a number."""

    name: Literal["run_below"] = "run_below"
    cells: tuple[Ceiling, ...] = Field(min_length=1)

    def sentence(self) -> str:
        limits = ", ".join(f"{limit} %" for limit in dict.fromkeys(points(cell.below) for cell in self.cells))
        return f"accuracy at the last round ≤ {limits}"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            yield Case(cell.label, (cell.run,), (), partial(self.measure, cell=cell))

    def measure(self, frame: pd.DataFrame, cell: Ceiling) -> Measured:
        found = final(frame, cell.run)
        return cell.below - found, f"{percent(found)} %"


class Slower(Frozen):
    """An ε of a run, and another that grows more: of the same run, or of `than_run`."""

    label: str
    run: str
    spend: SpendChoice
    than: SpendChoice
    than_run: str = ""  # by default the same run


class Growth(Check):
    """From the first to the last round, one ε grows by less than another, paired by seed."""

    name: Literal["growth"] = "growth"
    cells: tuple[Slower, ...] = Field(min_length=1)
    at_least_ratio: PositiveFloat = 1.0  # of the second growth to the first

    def sentence(self) -> str:
        times = "" if self.at_least_ratio == 1 else f"{self.at_least_ratio:g} times "
        return f"growth of ε after the first round: of the second ≥ {times}that of the first, paired by seed"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            spends = (cell.run, cell.spend), (cell.than_run or cell.run, cell.than)
            runs = tuple(run for run, _ in spends)
            yield Case(cell.label, runs, spends, partial(self.measure, cell=cell))

    def measure(self, frame: pd.DataFrame, cell: Slower) -> Measured:
        from fedpriv.report.reading import growth

        slow = growth(frame, cell.run, cell.spend).iloc[-1]
        fast = growth(frame, cell.than_run or cell.run, cell.than).iloc[-1]
        measured = f"{epsilon(slow)} ({cell.spend}) against {epsilon(fast)} ({cell.than})"
        return fast - self.at_least_ratio * slow, measured


class Catching(Frozen):
    """A run, and another whose accuracy at the end it is to reach."""

    label: str
    run: str
    over: str
    within: float = 0.0  # so much below that accuracy will do
    rounds_ratio: PositiveFloat  # at most so many times the rounds that the other needs


class Reaches(Check):
    """A run reaches the final accuracy of another, almost, after not many more rounds than that one."""

    name: Literal["reaches"] = "reaches"
    cells: tuple[Catching, ...] = Field(min_length=1)

    def sentence(self) -> str:
        limits = dict.fromkeys(
            f"{cell.rounds_ratio:g} times as many rounds, within {points(cell.within)} points"
            for cell in self.cells
        )
        return f"the final accuracy of the second run is reached by the first in ≤ {' or '.join(limits)}"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            yield Case(cell.label, (cell.run, cell.over), (), partial(self.measure, cell=cell))

    def measure(self, frame: pd.DataFrame, cell: Catching) -> Measured:
        target = final(frame, cell.over) - cell.within
        run, over = reached(frame, cell.run, target), reached(frame, cell.over, target)
        words = f"round {rounds(run)} against {rounds(over)} for {percent(target)} %"
        return (cell.rounds_ratio - run / over).fillna(-np.inf), words


def reached(frame: pd.DataFrame, run: str, target: pd.Series) -> pd.Series:
    """Return by seed the first evaluated round as accurate as `target`; NaN if there is none."""
    from fedpriv.report.reading import accuracies

    read = accuracies(frame, run)
    enough = read.loc[read["test_accuracy"] >= read["seed"].map(target)]
    return enough.groupby("seed").first().loc[:, "round"].reindex(target.index)
