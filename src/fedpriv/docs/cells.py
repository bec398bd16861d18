"""What the tables of the README are made of."""

from typing import Any

from fedpriv.report.numbers import Interval


def head(names: list[str]) -> str:
    """Return the first two lines of a table."""
    return line(names) + line(["---"] * len(names)).replace(" ", "")


def line(cells: list[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |\n"


def interval(one: Any, times: float = 1) -> Interval:
    """Return the interval that a line of a kept table has, times a number."""
    return Interval(times * one.value, times * one.low, times * one.high, int(one.seeds))
