"""What plain traces are asked for: the ε that they cost, and the bound beneath it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedpriv.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from fedpriv.account.check import Trace
    from fedpriv.account.statement import PrivacyStatement
    from fedpriv.frozen import Deltas

Ignored = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="COLUMN", help="Of a trace: a column without a word on privacy; repeatable."
    ),
]


def is_trace(path: Path) -> bool:
    """Say if a path is that of a plain trace, by its name."""
    return path.suffix.lower() == ".csv"


def require_run(path: Path) -> None:
    """Raise BadInput for a path at which there is no run, nor one that is stored."""
    if not path.exists():
        raise BadInput(f"There is no run in '{path}'.")
    if not path.is_dir() and path.suffix != ".parquet":
        raise BadInput(
            f"{path}: found a file, allowed: a run directory, a stored run (.parquet), a trace (.csv)"
        )


def deltas(path: Path, delta: float | None, instance_delta: float | None) -> Deltas:
    """Return at which δ a trace is counted: one that is given alone is that of every unit."""
    from fedpriv.frozen import Deltas

    either = delta if delta is not None else instance_delta
    if either is None:
        raise BadInput(f"{path}: at which δ? A plain trace does not say it: --delta.")
    # Unchecked: the ledger says which of them is wrong.
    return Deltas.model_construct(
        delta=either, instance_delta=either if instance_delta is None else instance_delta
    )


@contextmanager
def rows_of(path: Path) -> Generator[pd.DataFrame]:
    """Yield the trace in a file, which BadInput in the block names."""
    from fedpriv.account.foreign import read_plain_trace

    trace = read_plain_trace(path)
    try:
        yield trace
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def spent(paths: Sequence[Path], deltas: Deltas, ignore: Sequence[str] = ()) -> list[PrivacyStatement]:
    """Return what a plain trace costs after its last row; of several on the same data, what all do."""
    from fedpriv.account.check import checked_trace
    from fedpriv.account.ledgers import ledger, statements, units_of
    from fedpriv.account.together import ledger_together

    checked: list[Trace] = []
    for path in paths:
        with rows_of(path) as trace:
            checked.append(checked_trace(trace, ignore))
            if len(paths) == 1:
                return statements(ledger(checked[0], deltas), units_of(trace))
    return statements(ledger_together(checked, deltas), units_of(checked[0]))
