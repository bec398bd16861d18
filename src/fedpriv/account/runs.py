"""The ledger of a run directory: ledger.parquet beside the trace and the distances that it is made from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fedpriv.account.ledgers import ledger
from fedpriv.account.spend import Deltas
from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, summary
from fedpriv.files.made import made

SOURCES = ("trace.parquet", "distances.npz")


def account(directory: Path, deltas: Deltas) -> Path:
    """Read a run directory's trace and distances, write its ledger.parquet, return that path.

    Raises BadInput naming the file that is missing or corrupt; an existing ledger is then left alone.
    """
    return write(directory, counted(directory, deltas), deltas)


def write(directory: Path, frame: pd.DataFrame, deltas: Deltas) -> Path:
    """Write what `counted` has returned as the ledger of a run directory; return its path."""
    sources = [directory / name for name in SOURCES]
    return parquet.save(frame, directory / "ledger.parquet", sources, made_with(deltas._asdict()))


def made_with(deltas: Mapping[str, Any]) -> str:
    """Return what a ledger of today says that it was made with: our code, at which δ and other σ."""
    return made("account.runs", Deltas(**deltas)._asdict())  # what is not said has its default


def counted(directory: Path, deltas: Deltas) -> pd.DataFrame:
    """Return the ledger of a run directory; BadInput names the file that is missing or corrupt."""
    sources = [directory / name for name in SOURCES]
    trace = parquet.load(sources[0], allowed="the trace that a run wrote")
    if "holders" not in trace and (summary_file := directory / "summary.json").exists():
        # An older run says in its summary whether examples were dealt more than once.
        dealt = summary.load(summary_file).get("config", {}).get("partition", {})
        trace["holders"] = int(dealt.get("repeat") is False)
    distances = npz.everything(sources[1], "the distances that a run wrote")
    try:
        return ledger(trace, deltas, distances)
    except BadInput as error:
        raise BadInput(f"{directory}: {error}") from None
