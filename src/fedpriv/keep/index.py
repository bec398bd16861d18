"""Which runs are stored, and where; quick to import, because Snakemake asks in every job."""

from pathlib import Path

from fedpriv.config import finished
from fedpriv.config.plan import Plan

RUNS = "runs"  # the folder of the reference in which they are


def place(reference: Path, paper: str, run: str, seed: int, identity: str) -> Path:
    """Return where a run is stored: a file of that name holds it and nothing else, whoever asked for it."""
    return reference / RUNS / paper / run / f"seed{seed}-{identity}.parquet"


def stored(plan: Plan, reference: Path, paper: str = "") -> dict[str, Path]:
    """Return the files of a preset's stored runs, of a paper or of all, by their directories in results."""
    found = {}
    for one in [paper] if paper else plan.papers:
        for directory, identity in finished.identities(plan, one).items():
            run, seed = Path(directory).parts[-2:]
            path = place(reference, one, run, int(seed.removeprefix("seed")), identity)
            if path.exists():
                found[directory] = path
    return found


def taken(plan: Plan, reference: Path, root: Path = Path()) -> dict[str, Path]:
    """Return those of them that are not trained: all but what `root` has, none where a preset asks so."""
    found = {} if plan.preset.again else stored(plan, reference)
    return {
        directory: path
        for directory, path in found.items()
        if not (root / directory / "trace.parquet").exists()
        or finished.identity_in(root / directory / "summary.json") != identity_of(path)
    }


def identities(plan: Plan, reference: Path) -> set[str]:
    """Return the identities of what is stored of a preset; nothing where it asks for all again."""
    return set() if plan.preset.again else set(map(identity_of, stored(plan, reference).values()))


def identity_of(path: Path) -> str:
    """Return the identity of a stored run, as the name of its file says it."""
    return path.stem.partition("-")[2]


def everywhere(reference: Path, paper: str = "*") -> list[Path]:
    """Return the files of all stored runs of a paper, or of every one."""
    return sorted(reference.glob(f"{RUNS}/{paper}/*/seed*-*.parquet"))
