"""Which files the workflow asks for, in the order of the data, and what its report says of a plan."""

from collections.abc import Mapping
from typing import Any

from fedpriv.config.plan import Plan
from fedpriv.paper.cells import TableSpec
from fedpriv.paper.figures import FigureSpec

RUN_FILES = ("trace.parquet", "ledger.parquet", "summary.json")


def run_files(plan: Plan, paper: str) -> list[str]:
    """Return the files of every run and seed of `paper` that its collected frame is made of."""
    return [
        f"results/{plan.preset.preset}/{paper}/runs/{run}/seed{seed}/{file}"
        for run in plan.runs[paper]
        for seed in plan.seeds
        for file in RUN_FILES
    ]


def rendered(plan: Plan, paper: str) -> list[str]:
    """Return what the report shows of `paper`: its runs, tables, figures and claims."""
    declared, root = plan.papers[paper], f"results/{plan.preset.preset}/{paper}"
    return [
        f"{root}/runs.parquet",
        f"{root}/claims.csv",
        *(f"{root}/tables/{table}.{suffix}" for table in declared.tables for suffix in ("csv", "html")),
        *(f"{root}/figures/{figure}.png" for figure in built(declared.figures, plan, paper)),
    ]


def built(declared: Mapping[str, TableSpec | FigureSpec], plan: Plan, paper: str) -> list[str]:
    """Return the names of those tables or figures of which a preset runs something, or that need no run."""
    planned = plan.planned[paper]
    runs = {name: list(one.runs()) for name, one in declared.items()}
    return [name for name, wanted in runs.items() if not wanted or any(run in planned for run in wanted)]


def targets(plan: Plan) -> list[str]:
    """Return what a preset ends in: its report, which everything else goes into."""
    return [f"results/{plan.preset.preset}/report.html"]


def contents(plan: Plan) -> dict[str, Any]:
    """Return what the report says beside results, as plain data: of the preset, and of every paper."""
    kept = {"title", "year", "url", "tables", "notes"}
    return {
        **plan.preset.model_dump(include={"preset", "seeds", "stand_ins", "patches"}),
        "papers": {
            name: paper.model_dump(include=kept)
            | {"by": paper.by, "runs": list(paper.runs)}
            | {"figures": {key: paper.figures[key].model_dump() for key in built(paper.figures, plan, name)}}
            for name, paper in plan.papers.items()
        },
    }
