"""What the workflow asks for: which files, which runs are trained in one process, what its report says."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.config.names import arrays_id, partition_id
from fedpriv.config.plan import Plan
from fedpriv.paper.cells import TableSpec
from fedpriv.paper.figures import FigureSpec

TRAINED = ("trace.parquet", "distances.npz", "summary.json")  # no weights: nothing is made from them
COLLECTED = ("trace.parquet", "ledger.parquet", "summary.json")
RESULTS = ("runs", "rounds", "epsilons")  # the tables of a paper
AUDITED = (*COLLECTED, "distances.npz")
TAKEN = ("summary.json", "ledger.parquet")  # all that a stored run has in results
TABLE, FIGURE, CLAIMS = ("csv", "md", "tex", "html"), ("pdf", "png", "md"), ("csv", "md", "tex")


class Batch(NamedTuple):
    """Runs of one paper at one seed that one job trains, and one accounts."""

    preset: str
    paper: str
    seed: int
    runs: Sequence[str]
    name: str = ""
    priority: int = 0

    def files(self, *names: str) -> list[str]:
        """Return the files of these names of every run."""
        root = f"results/{self.preset}/{self.paper}/runs"
        return [f"{root}/{run}/seed{self.seed}/{name}" for run in self.runs for name in names]

    def outside(self, directories: Container[str]) -> list[str]:
        """Return the runs that do not have one of these directories."""
        return [run for run, one in zip(self.runs, self.files(""), strict=True) if one not in directories]


def alone(wildcards: Any) -> Batch:
    """Return the batch of the one run that a rule's wildcards name."""
    return Batch(wildcards.preset, wildcards.paper, int(wildcards.seed), [wildcards.run])


def batches(plan: Plan, taken: Container[str] = ()) -> list[Batch]:
    """Return the runs that share a job: at most `speed.runs_per_job` of a paper, none where that is one.

    Those whose directories are `taken` from stored runs are not among them.

    They read the same file of arrays. Large and small ones are mixed, so that no batch takes much longer than
    another. One more seed makes more batches and leaves these as they are. The first in the preset go first.
    """
    most, found = plan.preset.speed.runs_per_job, []
    for paper, runs in plan.runs.items() if most > 1 else ():
        by_arrays: dict[str, list[str]] = {}
        for name, run in runs.items():
            by_arrays.setdefault(arrays_id(run), []).append(name)
        parts = [(names, -(-len(names) // most)) for names in by_arrays.values()]
        together = [names[part::count] for names, count in parts for part in range(count)]
        found += [
            Batch(plan.preset.preset, paper, seed, names, f"{paper}_seed{seed}_{number}")
            for seed in plan.seeds
            for number, names in enumerate(together)
        ]
    found = [batch._replace(runs=names) for batch in found if (names := batch.outside(taken))]
    return [batch._replace(priority=len(found) + 1 - number) for number, batch in enumerate(found)]


def inputs(plan: Plan, batch: Batch) -> list[str]:
    """Return the files that the runs of a batch are trained on."""
    return list(dict.fromkeys(file for name in batch.runs for file in trained_on(plan, batch, name)))


def trained_on(plan: Plan, batch: Batch, name: str) -> list[str]:
    """Return the arrays and the partition of one run of a batch."""
    run = plan.planned[batch.paper][name].run
    dealt = f"results/{batch.preset}/partitions/{partition_id(run)}/seed{batch.seed}.npz"
    return [f"resources/{arrays_id(run)}.npz", dealt]


def trainings(plan: Plan, batch: Batch) -> list[dict[str, Any]]:
    """Return what each training of a batch needs to know, as plain data, and nothing of its speed."""
    return [
        {
            "name": name,
            "seed": batch.seed,
            "run": plan.planned[batch.paper][name].run.training(),
            "labels": plan.labels(batch.paper, name),
            "inputs": trained_on(plan, batch, name),
            "out": out,
        }
        for name, out in zip(batch.runs, batch.files(""), strict=True)
    ]


def deltas(plan: Plan, batch: Batch) -> list[dict[str, Any]]:
    """Return how each run of a batch is accounted: at which δ, and at which other σ."""
    return [plan.planned[batch.paper][name].run.account.model_dump() for name in batch.runs]


def takings(plan: Plan, paper: str, taken: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return where each stored run of `paper` is `taken` to, its labels and how it is counted."""
    return [
        {
            "out": directory,
            "labels": plan.labels(paper, path.parent.name),
            "account": plan.planned[paper][path.parent.name].run.account.model_dump(),
        }
        for directory, path in taken.items()
        if path.parents[1].name == paper
    ]


def run_files(plan: Plan, paper: str, taken: Container[str], *names: str) -> list[str]:
    """Return the files of these names of every run and seed of `paper`; of what is `taken`, all there are."""
    everything = [Batch(plan.preset.preset, paper, seed, list(plan.planned[paper])) for seed in plan.seeds]
    return [
        directory + name
        for batch in everything
        for directory in batch.files("")
        for name in (TAKEN if directory in taken else names)
    ]


def declared(plan: Plan, paper: str) -> dict[str, Any]:
    """Return the tables of `paper`, and its claims unless only some of it is shown, as plain data."""
    return plan.papers[paper].model_dump(include={"tables"} if plan.preset.show else {"tables", "claims"})


def tables(plan: Plan, paper: str) -> list[str]:
    """Return the files that the tables of `paper` and its claims, as `declared`, are written to."""
    root = f"results/{plan.preset.preset}/{paper}"
    there = plan.papers[paper].tables
    written = [f"{root}/tables/{table}.{suffix}" for table in there for suffix in TABLE]
    written += [
        f"{root}/tables/{name}_seeds.csv" for name, table in there.items() if table.kind == "accuracy"
    ]
    written += [f"{root}/runs.csv", f"{root}/runs.md"]
    return written if plan.preset.show else written + [f"{root}/claims.{suffix}" for suffix in CLAIMS]


def figures(plan: Plan, paper: str) -> list[str]:
    """Return the files that the figures of `paper` are drawn into."""
    root = f"results/{plan.preset.preset}/{paper}/figures"
    return [f"{root}/{figure}.{suffix}" for figure in drawn(plan, paper) for suffix in FIGURE]


def drawn(plan: Plan, paper: str) -> dict[str, Any]:
    """Return the figures of `paper` of which a preset runs something, as plain data."""
    there = plan.papers[paper].figures
    return {name: there[name].model_dump() for name in built(there, plan, paper)}


def rendered(plan: Plan) -> list[str]:
    """Return what the report shows: of every paper its runs, tables, figures and claims."""
    return [
        file
        for paper in plan.papers
        for file in (
            *collected(plan, paper),
            *tables(plan, paper),
            *figures(plan, paper),
        )
    ]


def collected(plan: Plan, paper: str) -> list[str]:
    """Return the files that the runs of `paper` are collected in."""
    return [f"results/{plan.preset.preset}/{paper}/{table}.parquet" for table in RESULTS]


def built(there: Mapping[str, TableSpec | FigureSpec], plan: Plan, paper: str) -> list[str]:
    """Return the names of those tables or figures of which a preset runs something, or that need no run."""
    planned = plan.planned[paper]
    runs = {name: list(one.runs()) for name, one in there.items()}
    return [name for name, wanted in runs.items() if not wanted or any(run in planned for run in wanted)]


def targets(plan: Plan) -> list[str]:
    """Return what a preset ends in: its report, which everything else goes into, or what alone it shows."""
    if plan.preset.show:
        return rendered(plan)
    return [f"results/{plan.preset.preset}/report.html"]


def contents(plan: Plan) -> dict[str, Any]:
    """Return what the report says beside results, as plain data: of the preset, and of every paper."""
    kept = {"title", "year", "url", "tables", "notes"}
    return {
        **plan.preset.model_dump(include={"preset", "seeds", "stand_ins", "patches"}),
        "papers": {
            name: paper.model_dump(include=kept)
            | {"by": paper.by, "runs": list(paper.runs)}
            | {"figures": drawn(plan, name)}
            for name, paper in plan.papers.items()
        },
    }
