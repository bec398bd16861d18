"""A plain trace: read from a CSV file, told apart into phases, and laid out for a curve.

What its columns mean: docs/accounting-alone.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedpriv.errors import BadInput

ALLOWED = "a CSV file with the columns of a plain trace (docs/accounting-alone.md)"
# What makes rows of a trace one phase: the rate at which units come, and the noise that hides them.
RATE, NOISE = "sampling_rate", "noise_multiplier"


class Phase(NamedTuple):
    """Releases that follow each other and are alike."""

    first: int  # releases up to and with its first one
    last: int
    sampling_rate: float
    noise_multiplier: float


def read(path: Path) -> pd.DataFrame:
    """Return the plain trace in a CSV file; a missing or unreadable one is BadInput naming it."""
    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: {ALLOWED}") from None
    except (OSError, ValueError) as error:  # pandas' own errors are of the second kind
        reason = str(error).partition("\n")[0]
        raise BadInput(f"{path}: found an unreadable file ({reason}), allowed: {ALLOWED}") from None


def phases(trace: pd.DataFrame) -> list[Phase]:
    """Return the phases of a completed trace, in order."""
    ends = trace["releases"].cumsum().to_numpy()
    alike = trace[[RATE, NOISE]]
    begins = np.flatnonzero((alike != alike.shift()).any(axis=1))
    lasts = [*(begins[1:] - 1), len(trace) - 1]
    return [
        Phase(
            int(ends[begin] - trace["releases"].iloc[begin] + 1),
            int(ends[last]),
            float(trace[RATE].iloc[begin]),
            float(trace[NOISE].iloc[begin]),
        )
        for begin, last in zip(begins, lasts, strict=True)
    ]


def spread(trace: pd.DataFrame, points: int) -> pd.DataFrame:
    """Return a completed trace in which a row of many releases is at most so many rows, of as many in all.

    The rows are of equal releases, so that ε after the last of them is what it was after the one.
    """
    releases = trace["releases"].to_numpy(dtype=np.int64)
    pieces = np.minimum(releases, points)
    rows = trace.loc[trace.index.repeat(pieces)].reset_index(drop=True)
    # Of n releases in k pieces the first n mod k have one more.
    place = np.concatenate([np.arange(count) for count in pieces])
    whole, more = np.repeat(releases // pieces, pieces), np.repeat(releases % pieces, pieces)
    return rows.assign(releases=whole + (place < more), round=np.arange(1, len(rows) + 1))
