"""Checks that read runs, whether they are in a table or not: accuracies at the end, and how ε grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from fedpriv.frozen import Frozen
from fedpriv.paper.spends import MEASURES as READ
from fedpriv.paper.spends import Measure, SpendChoice
from fedpriv.report.cells import epsilon, percent, rounded, rounds, whole
from fedpriv.report.check import Case, Check
from fedpriv.report.rows import Rows
from fedpriv.report.table_checks import points

if TYPE_CHECKING:
    import pandas as pd

    from fedpriv.report.check import Measured


def final(frame: pd.DataFrame, run: str, measure: Measure = "last") -> pd.Series:
    """Return by seed the accuracy of `run` at its last evaluated round, or what `measure` says instead."""
    from fedpriv.report.reading import MEASURES

    return MEASURES[measure](frame, run).loc[:, "accuracy"]


class Pair(Frozen):
    """A run and another that it is compared with."""

    label: str
    of: str
    over: str
    at_least: float | None = None  # by default that of the check


class RunGain(Check):
    """One run is more accurate than another, or less by at most so much, paired by seed."""

    name: Literal["run_gain"] = "run_gain"
    cells: tuple[Pair, ...] = Field(min_length=1)
    at_least: float = 0.0
    measure: Measure = "last"

    def sentence(self) -> str:
        limits = " or ".join(dict.fromkeys(points(self.least(cell)) for cell in self.cells))
        return f"accuracy {READ[self.measure]}, first run − second ≥ {limits} points, paired by seed"

    def least(self, cell: Pair) -> float:
        """Return the least gain that a cell asks for."""
        return self.at_least if cell.at_least is None else cell.at_least

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            yield Case(cell.label, (cell.of, cell.over), (), partial(self.margins, cell=cell))

    def margins(self, frame: pd.DataFrame, cell: Pair) -> Measured:
        of, over = (final(frame, run, self.measure) for run in (cell.of, cell.over))
        gain = of - over
        measured = f"{percent(of)} % against {percent(over)} %, gain {percent(gain)} points"
        return gain - self.least(cell), measured


class Ceiling(Frozen):
    """A run and the accuracy that it stays below."""

    label: str
    run: str
    below: PositiveFloat


class RunBelow(Check):
    """A run fails to learn: its accuracy at the last round is at most a number."""

    name: Literal["run_below"] = "run_below"
    cells: tuple[Ceiling, ...] = Field(min_length=1)
    measure: Measure = "last"

    def sentence(self) -> str:
        limits = ", ".join(f"{limit} %" for limit in dict.fromkeys(points(cell.below) for cell in self.cells))
        return f"accuracy {READ[self.measure]} ≤ {limits}"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            yield Case(cell.label, (cell.run,), (), partial(self.margins, cell=cell))

    def margins(self, frame: pd.DataFrame, cell: Ceiling) -> Measured:
        found = final(frame, cell.run, self.measure)
        return cell.below - found, f"{percent(found)} %"


class Ladder(Frozen):
    """Runs in the order in which they are to become more accurate."""

    label: str
    runs: tuple[str, ...] = Field(min_length=2)


class Rising(Check):
    """Along a list of runs every one is more accurate than the one before, or less by at most so much."""

    name: Literal["rising"] = "rising"
    cells: tuple[Ladder, ...] = Field(min_length=1)
    at_least: float = 0.0  # from each to the next
    measure: Measure = "last"

    def sentence(self) -> str:
        return (
            f"accuracy {READ[self.measure]}, each run − the one before ≥ {points(self.at_least)} points, "
            "the least of these differences, paired by seed"
        )

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            yield Case(cell.label, cell.runs, (), partial(self.margins, cell=cell))

    def margins(self, frame: pd.DataFrame, cell: Ladder) -> Measured:
        from pandas import concat

        found = [final(frame, run, self.measure) for run in cell.runs]
        steps = concat([after - before for before, after in pairwise(found)], axis=1)
        least = steps.min(axis="columns", skipna=False)
        return least - self.at_least, f"{', '.join(map(percent, found))} %"


class Lighter(Frozen):
    """A run that sends less than the same numbers in float32, or than another run."""

    label: str
    run: str
    than: str = ""  # another run; by default the same numbers in float32


class FewerBytes(Check):
    """What a client sends in a round is so many times smaller."""

    name: Literal["fewer_bytes"] = "fewer_bytes"
    cells: tuple[Lighter, ...] = Field(min_length=1)
    at_least: PositiveFloat  # times
    within: Annotated[float, Field(ge=0, lt=1)] = 0.01  # so much of it may be missing

    def sentence(self) -> str:
        missing = f", less {points(self.within)} %" if self.within else ""
        return f"bytes that a client sends a round: ≥ {self.at_least:g} times fewer{missing}"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        for cell in self.cells:
            runs = tuple(filter(None, (cell.run, cell.than)))
            yield Case(cell.label, runs, (), partial(self.margins, cell=cell))

    def margins(self, frame: pd.DataFrame, cell: Lighter) -> Measured:
        from fedpriv.report.run_table import fact
        from fedpriv.report.uploads import WIDTH, numbers

        ours = fact(frame, cell.run, "upload_bytes")
        theirs = fact(frame, cell.than, "upload_bytes") if cell.than else WIDTH * numbers(frame, cell.run)
        times = theirs / ours
        measured = f"{whole(ours)} bytes against {whole(theirs)}, {rounded(times)} times fewer"
        return times - self.at_least * (1 - self.within), measured


class Slower(Frozen):
    """An ε of a run, and another that is or grows larger: of the same run, or of `than_run`."""

    label: str
    run: str
    spend: SpendChoice
    than: SpendChoice
    than_run: str = ""  # by default the same run

    def case(self, measure: Callable[..., Measured]) -> Case:
        """Return what is judged."""
        spends = (self.run, self.spend), (self.than_run or self.run, self.than)
        runs = tuple(run for run, _ in spends)
        return Case(self.label, runs, spends, partial(measure, cell=self))


class LargerEpsilon(Check):
    """At the last round, one ε is so many times another, paired by seed."""

    name: Literal["larger_epsilon"] = "larger_epsilon"
    cells: tuple[Slower, ...] = Field(min_length=1)
    at_least_ratio: PositiveFloat = 1.0  # of the second ε to the first

    def sentence(self) -> str:
        return f"ε at the last round: the second ≥ {self.at_least_ratio:g} times the first, paired by seed"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        return (cell.case(self.margins) for cell in self.cells)

    def margins(self, frame: pd.DataFrame, cell: Slower) -> Measured:
        from fedpriv.report.reading import epsilon_at

        small = epsilon_at(frame, cell.run, cell.spend)
        large = epsilon_at(frame, cell.than_run or cell.run, cell.than)
        measured = f"{epsilon(small)} ({cell.spend}) against {epsilon(large)} ({cell.than})"
        # As shares of the larger one, which may be infinite; of two infinite ones neither is larger.
        return (1 - self.at_least_ratio * small / large).fillna(-np.inf), measured


class Growth(Check):
    """From the first to the last round, one ε grows by less than another, paired by seed."""

    name: Literal["growth"] = "growth"
    cells: tuple[Slower, ...] = Field(min_length=1)
    at_least_ratio: PositiveFloat = 1.0  # of the second growth to the first

    def sentence(self) -> str:
        times = "" if self.at_least_ratio == 1 else f"{self.at_least_ratio:g} times "
        return f"growth of ε after the first round: of the second ≥ {times}that of the first, paired by seed"

    def cases(self, tables: Mapping[str, Rows]) -> Iterator[Case]:
        return (cell.case(self.measure) for cell in self.cells)

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
