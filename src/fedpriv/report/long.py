"""The long frame of a table: one line a number, with all that gives it meaning.

One that was measured holds its `sample`, by seed. The file for machines and what people read are both
made of these lines: nothing is read off the runs twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fedpriv.paper.spends import SPEND_COLUMNS
from fedpriv.report.numbers import (
    UNSTABLE,
    Interval,
    epsilon_of_seeds,
    interval,
    is_unstable,
    percent,
    whole_number,
)
from fedpriv.report.reading import SpendLabels

Number = dict[str, Any]
STATISTIC = ("value", "low", "high", "seeds")  # the mean of a sample, its interval, how many there are


def spend_words(spend: SpendLabels) -> Number:
    """Way of counting of a spend, by column of the ledger."""
    return dict(zip(SPEND_COLUMNS, spend.key, strict=True))


def tidy(table: str, columns: list[str], lines: Iterable[Number]) -> pd.DataFrame:
    """Return the lines of a table for machines: a mean with its interval for every sample."""
    found = pd.DataFrame(
        [{"table": table, **line, **seed_statistic(line)} for line in lines], columns=columns
    )
    return found.astype({"seeds": "Int64"}) if "seeds" in found else found


def seed_statistic(line: Number) -> Number:
    """Return the mean of a line's sample with its interval; where a seed has diverged there is no number.

    One that is unstable has a mean and no interval.
    """
    if "sample" not in line:
        return {}
    values = np.asarray(line["sample"], dtype=float)
    gone = {"status": "diverged"} if np.isneginf(values).any() else {}
    found = interval(np.where(np.isneginf(values), np.nan, values))
    if is_unstable(line.get("status")):
        found = found._replace(low=np.nan, high=np.nan)
    return dict(zip(STATISTIC, found, strict=True)) | gone


def printed_number(line: Mapping[Any, Any], alone: bool = False) -> str:
    """Return the number of a line that `tidy` wrote, as tables print it; `alone` without its interval.

    What is published stands as it is printed, an accuracy in percent. Without a number it is empty.
    """
    quantity = str(line["quantity"])
    told = (line.get(name, "") for name in STATISTIC)
    mean, low, high, seeds = (float("nan" if one == "" else one) for one in told)
    found = Interval(mean, low, high, 1 if np.isnan(seeds) or alone else int(seeds))
    if np.isnan(found.mean):
        return ""
    accuracy = quantity.startswith("accuracy")
    if line.get("source") == "published":
        return f"{(100 if accuracy else 1) * found.mean:g}"
    if is_unstable(line.get("status")):
        return f"{UNSTABLE} ({100 * found.mean:.1f})"
    if accuracy:
        return percent(found)
    if quantity == "epsilon":
        return epsilon_of_seeds(found, str(line.get("epsilon_status") or line["kind"]))
    return whole_number([found.mean]) if quantity == "round" or found.mean >= 100 else f"{found.mean:.6g}"


def display_frame(lines: Sequence[Mapping[tuple[str, str], str]]) -> pd.DataFrame:
    """Return lines of finished text, by pairs (group, name), as a frame with the columns of the first."""
    return pd.DataFrame([list(line.values()) for line in lines], columns=pd.MultiIndex.from_tuples(lines[0]))
