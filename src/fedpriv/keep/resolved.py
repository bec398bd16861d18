"""What a run of a preset is set to, who says so, and where its finished seeds are."""

from pathlib import Path
from typing import Any

from fedpriv.config.origins import origins, said_at
from fedpriv.config.plan import laid, load_preset
from fedpriv.files import summary
from fedpriv.keep.index import everywhere, identities
from fedpriv.keep.show import named
from fedpriv.report.settings import flattened

SCHEMA = "default of the schema"


def resolved(config: Path, paper: str, run: str, reference: Path) -> dict[str, Any]:
    """Return every key of a run, what it is and who says it, and of every seed the identity and the trace.

    `paper` and `run` are those of the preset `config`, in any case; what is not there is BadInput that lists
    what is. A trace that is found neither in the preset's results nor below `reference` is null.
    """
    plan = load_preset(config)
    paper = named("paper", paper, plan.runs)
    run = named("run", run, plan.runs[paper])
    one = plan.runs[paper][run]
    above = (plan.preset.stand_ins, plan.preset.patches, str(config))
    tree = laid(origins(plan.folders[paper], *above), paper, run)
    there = Path("results") / plan.preset.preset / paper / "runs" / run
    archives = {archive: identities(archive) for archive in everywhere(reference, paper)}
    return {
        "paper": paper,
        "run": run,
        "keys": {
            path: {"value": value, "said by": said_at(tree, path.split(".")) or SCHEMA}
            for path, value in flattened(one.model_dump(mode="json")).items()
        },
        "seeds": {
            seed: {"identity": identity, "trace": trace(there / f"seed{seed}", identity, archives)}
            for seed, identity in plan.identities(paper, run).items()
        },
    }


def trace(folder: Path, identity: str, archives: dict[Path, set[str]]) -> str | None:
    """Return where the trace of a run and seed is: in its folder, in an archive of kept runs, or nowhere."""
    told = folder / "summary.json"
    if told.exists() and summary.load(told).get("identity") == identity:
        return str(folder / "trace.parquet")
    return next((str(archive) for archive, kept in archives.items() if identity in kept), None)
