"""The ledger of a run directory: ledger.parquet beside the trace and the distances that it is made from."""

from pathlib import Path

from fedpriv.account.ledgers import ledger
from fedpriv.account.spend import Deltas
from fedpriv.errors import BadInput
from fedpriv.files import npz, parquet, summary


def account(directory: Path, deltas: Deltas) -> Path:
    """Read a run directory's trace and distances, write its ledger.parquet, return that path.

    Raises BadInput naming the file that is missing or corrupt; an existing ledger is then left alone.
    """
    sources = directory / "trace.parquet", directory / "distances.npz"
    trace = parquet.load(sources[0], allowed="the trace that a run wrote")
    if "holders" not in trace and (summary_file := directory / "summary.json").exists():
        # An older run says in its summary whether examples were dealt more than once.
        dealt = summary.load(summary_file).get("config", {}).get("partition", {})
        trace["holders"] = int(dealt.get("repeat") is False)
    distances = npz.everything(sources[1], "the distances that a run wrote")
    try:
        frame = ledger(trace, deltas, distances)
    except BadInput as error:
        raise BadInput(f"{directory}: {error}") from None
    return parquet.save(frame, directory / "ledger.parquet", sources)
