"""Where the files of a plan lie: what the workflow asks for, in the order of the data."""

from fedpriv.plan import Plan

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
    """Return the tables, figures and claims of `paper`."""
    declared, root = plan.papers[paper], f"results/{plan.preset.preset}/{paper}"
    return [
        *(f"{root}/tables/{table}.md" for table in declared.tables),
        *(f"{root}/figures/{figure}.pdf" for figure in declared.figures),
        f"{root}/claims.md",
    ]


def targets(plan: Plan) -> list[str]:
    """Return everything that a preset ends in."""
    return [path for paper in plan.papers for path in rendered(plan, paper)]
