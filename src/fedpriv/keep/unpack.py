"""Kept runs become run directories again: without weights, which nothing after training reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedpriv.files import npz, parquet, summary
from fedpriv.keep.archive import Kept, read
from fedpriv.keep.index import everywhere
from fedpriv.paper.read import merge
from fedpriv.train.outputs import FILES, WEIGHTS, finished, restore_outputs


def find(reference: Path | None, labels: Mapping[str, Any], identity: str, out: Path) -> bool:
    """Make `out` the finished run of that identity if it was trained there or is kept below `reference`.

    It may be kept by any preset of its paper; its summary says the `labels` of the one that asks. Returns
    whether it is that run now; without a reference nothing is looked for. What `out` holds of any finished
    run is left as it is.
    """
    if reference is None:
        return False
    if there := finished(out):
        return there == identity
    if restore_outputs(out, identity):
        return True
    for archive in everywhere(reference, labels["paper"]):
        for one in read(archive, {identity}):
            unpack(one._replace(summary=merge(one.summary, dict(labels))), out)
            return True
    return False


def unpack(one: Kept, out: Path) -> Path:
    """Write a kept run as a run directory, its summary last: it marks completion, and says `kept`."""
    (out / WEIGHTS).unlink(missing_ok=True)  # of another run
    parquet.save(one.trace, out / "trace.parquet")
    npz.save(out / "distances.npz", one.distances, compressed=True)
    summary.save(out / "summary.json", one.summary | {"kept": True})
    return out


def forget(out: Path) -> None:
    """Remove what `unpack` has written to `out`, if it has, so that it can be trained."""
    if finished(out) and summary.load(out / "summary.json").get("kept"):
        for name in reversed(FILES):
            (out / name).unlink(missing_ok=True)
