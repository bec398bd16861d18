"""Kept runs become run directories again: without weights, which nothing after training reads."""

from pathlib import Path

from fedpriv.files import npz, parquet, summary
from fedpriv.keep.archive import Kept, read
from fedpriv.keep.index import identities
from fedpriv.train.outputs import FILES, WEIGHTS, finished, restore_outputs


def find(archive: Path, identity: str, out: Path) -> bool:
    """Make `out` the finished run of that identity if it was trained there or is in the archive.

    Returns whether it is that run now. What `out` holds of any finished run is left as it is.
    """
    if there := finished(out):
        return there == identity
    if restore_outputs(out, identity):
        return True
    if identity in identities(archive):
        unpack(next(one for one in read(archive) if one.identity == identity), out)
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
