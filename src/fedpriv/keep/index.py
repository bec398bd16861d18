"""Which runs are kept where; quick to import, because Snakemake asks in every job."""

from pathlib import Path

NAME = "kept.parquet"
ALLOWED = "an archive of kept runs"


def place(reference: Path, preset: str, paper: str) -> Path:
    """Return where the runs of a paper and preset are kept."""
    return reference / preset / paper / NAME


def identities(archive: Path) -> set[str]:
    """Return the identities of the kept runs; a damaged archive is BadInput naming it."""
    if not archive.exists():
        return set()
    from fedpriv.files import parquet

    return set(parquet.load(archive, ["identity"], ALLOWED, ["identity"])["identity"])
