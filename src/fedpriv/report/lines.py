"""A table for machines: a line a number, with its mean, its interval and all that gives it meaning.

>>> line = Line("100", "DP", "accuracy", Sample(pd.Series([0.86, 0.88])), {"run": "iid_n100_dp"})
>>> tidy("table2", ["row", "run", "value", "seeds"], [line]).to_dict("records")
[{'row': '100', 'run': 'iid_n100_dp', 'value': 0.87, 'seeds': 2}]
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedpriv.paper.epsilons import SELECTOR_COLUMNS, EpsilonSelector
from fedpriv.report.numbers import Interval, interval
from fedpriv.report.sample import Sample
from fedpriv.report.verdicts import is_unstable

STATISTIC = ("value", "low", "high", "seeds")  # the mean of a sample, its interval, how many there are


class Line(NamedTuple):
    """One number of a table."""

    row: str | int
    column: str
    quantity: str
    value: Sample | float | None = None
    """Measured, by seed; or published, or counted; or not there."""
    about: Mapping[str, Any] = MappingProxyType({})
    """What gives it meaning, by column of the table."""


def tidy(table: str, columns: list[str], lines: Iterable[Line]) -> pd.DataFrame:
    """Return the lines of a table under its `columns`: a mean with its interval for every sample."""
    cells = [
        {"table": table, "row": line.row, "column": line.column, "quantity": line.quantity}
        | {**line.about, **statistic(line)}
        for line in lines
    ]
    frame = pd.DataFrame(cells, columns=columns)
    return frame.astype({"seeds": "Int64"}) if "seeds" in frame else frame


def statistic(line: Line) -> dict[str, Any]:
    """Return the number of a line, of a sample its mean with its interval; where a seed has diverged, none.

    One that is unstable has a mean and no interval.
    """
    if not isinstance(line.value, Sample):
        return {} if line.value is None else {"value": line.value}
    seeds = line.value.seeds.to_numpy(dtype=float)
    diverged = {"status": "diverged"} if np.isneginf(seeds).any() else {}
    ours = interval(np.where(np.isneginf(seeds), np.nan, seeds))
    if is_unstable(line.about.get("status")):
        ours = ours._replace(low=np.nan, high=np.nan)
    return dict(zip(STATISTIC, ours, strict=True)) | diverged


def interval_of(line: Mapping[Any, Any]) -> Interval:
    """Return the mean and the interval of a line that `tidy` wrote; NaN of what has no number."""
    cells = (line.get(name, "") for name in STATISTIC)
    mean, low, high, seeds = (float("nan" if cell == "" else cell) for cell in cells)
    return Interval(mean, low, high, 1 if np.isnan(seeds) else int(seeds))


def counted_by(selector: EpsilonSelector) -> dict[str, str]:
    """Return how an ε is counted, by column of the ledger."""
    return dict(zip(SELECTOR_COLUMNS, selector.key, strict=True))
