"""What the tables of the README are made of."""

from typing import Any

import numpy as np

from fedpriv.report.numbers import Interval, with_interval


def head(names: list[str]) -> str:
    """Return the first two lines of a table."""
    return line(names) + line(["---"] * len(names)).replace(" ", "")


def line(cells: list[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |\n"


def percent(one: Any) -> str:
    """Return the accuracy that a line of a kept table has, a fraction, in percent."""
    return "diverged" if np.isneginf(one.value) else with_interval(interval(one, 100), 1)


def interval(one: Any, times: float = 1) -> Interval:
    """Return the interval that a line of a kept table has, times a number."""
    return Interval(times * one.value, times * one.low, times * one.high, int(one.seeds))
