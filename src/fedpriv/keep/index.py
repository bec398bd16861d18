"""Which runs are kept where; quick to import, because Snakemake asks in every job."""

from pathlib import Path

from fedpriv.config.plan import Plan

NAME = "kept.parquet"
ALLOWED = "an archive of kept runs"


def place(reference: Path, preset: str, paper: str) -> Path:
    """Return where the runs of a paper and preset are kept."""
    return reference / preset / paper / NAME


def everywhere(reference: Path, paper: str) -> list[Path]:
    """Return the archives of a paper, of every preset: a run is the same whoever asked for it."""
    return sorted(reference.glob(f"*/{paper}/{NAME}"))


def of_plan(plan: Plan, reference: Path) -> set[str]:
    """Return the identities of what is kept of a preset's papers; nothing where it asks for all again."""
    archives = (archive for paper in plan.papers for archive in everywhere(reference, paper))
    return set() if plan.preset.again else set[str]().union(*map(identities, archives))


def identities(archive: Path) -> set[str]:
    """Return the identities of the kept runs; a damaged archive is BadInput naming it."""
    if not archive.exists():
        return set()
    from fedpriv.files import parquet

    return set(parquet.load(archive, ["identity"], ALLOWED, ["identity"])["identity"])
