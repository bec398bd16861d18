"""What a client sends in a round, against the same numbers in float32."""

from collections.abc import Iterable
from functools import partial

import pandas as pd

from fedpriv.report.cells import whole, with_interval
from fedpriv.report.declared_runs import UploadsTable
from fedpriv.report.interval import interval
from fedpriv.report.render import Table
from fedpriv.report.run_table import ACCURACIES, HOW_READ, Column, fact, run_table

WIDTH = 4  # bytes of a float32
NOTE = (
    "Bits are sent eight to a byte, everything else as float32; what a client keeps to itself is not sent. "
    "Noise of any law but flips needs real numbers."
)


def numbers(frame: pd.DataFrame, run: str) -> pd.Series:
    """Return by seed how many numbers a client sends in a round, protected or in the clear."""
    bits, clear, sent = (fact(frame, run, name) for name in ("noisy_bits", "clear_values", "upload_bytes"))
    return (bits + clear).where(bits > 0, sent / WIDTH)


def times_smaller(frame: pd.DataFrame, run: str) -> pd.Series:
    """Return by seed how many times smaller an upload is than the same numbers in float32."""
    return WIDTH * numbers(frame, run) / fact(frame, run, "upload_bytes")


def ratio(values: Iterable[float]) -> str:
    """Return a ratio over seeds."""
    return f"{with_interval(interval(values), 1)}×"


GROUP = "Sent by a client a round"
SENT = Column(GROUP, "bytes", "upload_bytes", partial(fact, name="upload_bytes"), whole)
SMALLER = Column(GROUP, "smaller than float32", "times_smaller", times_smaller, ratio)
COLUMNS = (
    Column(GROUP, "numbers", "numbers_sent", numbers, whole),
    Column(GROUP, "in the clear", "clear_values", partial(fact, name="clear_values"), whole),
    SENT,
    Column(GROUP, "bytes in float32", "float32_bytes", lambda frame, run: WIDTH * numbers(frame, run), whole),
    SMALLER,
    *ACCURACIES,
)


def uploads_table(frame: pd.DataFrame, declared: UploadsTable, name: str) -> Table:
    """Return a line a run: numbers, bytes, and how many times smaller they are than float32."""
    return run_table(frame, declared, name, declared.lines, COLUMNS, (NOTE, HOW_READ))
