"""What a finished run has spent: its last round, by every accountant."""

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pandas as pd

from fedpriv.account.ledger import account
from fedpriv.account.spend import Spend
from fedpriv.config import Accounting
from fedpriv.errors import BadInput


def spent(directory: Path, delta: float | None = None) -> list[Spend]:
    """Write the ledger of a run directory and return every spend after the last round.

    Without `delta` the run's own is taken. A ledger that counts at another δ belongs to whoever made it, and
    what was rendered from it: BadInput, as for a run directory that is missing or corrupt.
    """
    if not directory.is_dir():
        raise BadInput(f"{directory}: found no such folder, allowed: a run directory")
    own, there = own_delta(directory), directory / "ledger.parquet"
    delta = own if delta is None else delta
    if there.exists() and delta != own and 0 < delta < 1:
        raise BadInput(
            f"delta: found {delta:g}, allowed: {own:g}, at which {there} counts; or remove that file"
        )
    frame = pd.read_parquet(account(directory, delta))
    last = frame[frame["round"] == frame["round"].max()]
    columns = [field.name for field in fields(Spend)]
    return [Spend(**row) for row in last[columns].to_dict("records")]


def own_delta(directory: Path) -> float:
    """Return the δ of the ledger that is there, else of the run's config, else the default."""
    unknown = OSError, ValueError, KeyError, IndexError
    with suppress(*unknown):
        return float(pd.read_parquet(directory / "ledger.parquet", columns=["delta"])["delta"].iloc[0])
    with suppress(*unknown):
        return float(json.loads((directory / "summary.json").read_text())["account"]["delta"])
    return Accounting().delta
