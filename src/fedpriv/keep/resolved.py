"""What a run of a preset is set to, who says so, and where its finished seeds are."""

from pathlib import Path
from typing import Any

from fedpriv.config.finished import identity_in
from fedpriv.config.origins import origins, said_at
from fedpriv.config.plan import laid, load_preset
from fedpriv.keep.index import identity_of, place
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
    run = named("run", run, plan.runs[paper], f"fedpriv list runs --paper {paper}")
    one = plan.runs[paper][run]
    above = (plan.preset.stand_ins, plan.preset.patches, str(config))
    tree = laid(origins(plan.folders[paper], *above), paper, run)
    there = Path("results") / plan.preset.preset / paper / "runs" / run
    return {
        "paper": paper,
        "run": run,
        "keys": {
            path: {"value": value, "said by": said_at(tree, path.split(".")) or SCHEMA}
            for path, value in flattened(one.model_dump(mode="json")).items()
        },
        "seeds": {
            seed: {
                "identity": identity,
                "trace": trace(there / f"seed{seed}", place(reference, paper, run, seed, identity)),
            }
            for seed, identity in plan.identities(paper, run).items()
        },
    }


def trace(folder: Path, stored: Path) -> str | None:
    """Return where the trace of a run and seed is: in its folder, in the file of a stored run, or nowhere."""
    own = folder / "trace.parquet"
    if own.exists() and identity_in(folder / "summary.json") == identity_of(stored):
        return str(own)
    return str(stored) if stored.exists() else None
