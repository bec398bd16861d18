"""What the workflow asks for: which files, of which runs, and what its report says."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.config.names import arrays_id, partition_id
from fedpriv.config.plan import Plan
from fedpriv.data import image_datasets, prepared
from fedpriv.paper.cells import TableSpec
from fedpriv.paper.figures import FigureSpec

TRAINED = ("trace.parquet", "distances.npz", "summary.json")  # no weights: nothing is made from them
COLLECTED = ("trace.parquet", "ledger.parquet", "summary.json")
RESULTS = ("runs", "rounds", "epsilons")  # the tables of a paper
AUDITED = (*COLLECTED, "distances.npz")
TAKEN = ("summary.json", "ledger.parquet")  # all that a stored run has in results
FIGURE, CLAIMS = ("pdf", "png", "md"), ("csv", "md", "tex")


class Batch(NamedTuple):
    """Runs of one paper, each at a seed, that a job works through."""

    preset: str
    paper: str
    runs: Sequence[tuple[str, int]]
    name: str = ""
    priority: int = 0

    @property
    def words(self) -> list[str]:
        """Return how a step is told the batch: its paper, and each RUN/SEED."""
        return [self.paper, *(f"{run}/{seed}" for run, seed in self.runs)]

    def files(self, *names: str) -> list[str]:
        """Return the files of these names of every run."""
        root = f"results/{self.preset}/{self.paper}/runs"
        return [f"{root}/{run}/seed{seed}/{name}" for run, seed in self.runs for name in names]

    def within(self, directories: Container[str], there: bool = True) -> Batch:
        """Return the batch of those runs that have one of these directories, or none of them."""
        named = zip(self.runs, self.files(""), strict=True)
        return self._replace(runs=[run for run, directory in named if (directory in directories) == there])


def alone(wildcards: Any) -> Batch:
    """Return the batch of the one run that a rule's wildcards name."""
    return Batch(wildcards.preset, wildcards.paper, [(wildcards.run, int(wildcards.seed))])


def everything(plan: Plan, paper: str) -> Batch:
    """Return all runs of a paper at all seeds."""
    return Batch(
        plan.preset.preset, paper, [(run, seed) for seed in plan.seeds for run in plan.planned[paper]]
    )


def dealt(plan: Plan, seed: int, *ids: str) -> list[str]:
    """Return the files of partitions."""
    return [f"results/{plan.preset.preset}/partitions/{one}/seed{seed}.npz" for one in ids]


def inputs(plan: Plan, batch: Batch) -> list[str]:
    """Return the files that the runs of a batch are trained on: arrays and partitions."""
    runs = [(plan.planned[batch.paper][name].run, seed) for name, seed in batch.runs]
    files = [
        file
        for run, seed in runs
        for file in (f"resources/{arrays_id(run)}.npz", *dealt(plan, seed, partition_id(run)))
    ]
    return list(dict.fromkeys(files))


def sources(plan: Plan, name: str) -> list[str]:
    """Return the files that arrays of that name are made of; data of one's own are no file of ours."""
    if run := plan.features().get(name):
        return [str(prepared(run.data, Path("resources")))]
    files = image_datasets()[name].files if name in image_datasets() else ()
    return [f"resources/{name}/raw/{file.name}" for file in files]


def identified(plan: Plan, batch: Batch) -> list[Any]:
    """Return what outdates the trainings of a batch: the identity of each, and what its data stand in for."""
    planned = plan.planned[batch.paper]
    return [(planned[run].run.identity(run, seed), planned[run].stand_in_for) for run, seed in batch.runs]


def deltas(plan: Plan, batch: Batch) -> list[dict[str, Any]]:
    """Return how each run of a batch is accounted: at which δ."""
    return [plan.planned[batch.paper][name].run.account.model_dump() for name, _ in batch.runs]


def run_files(plan: Plan, paper: str, taken: Container[str], *names: str) -> list[str]:
    """Return the files of these names of every run and seed of `paper`; of what is `taken`, all there are."""
    return [
        directory + name
        for directory in everything(plan, paper).files("")
        for name in (TAKEN if directory in taken else names)
    ]


def forms(table: TableSpec) -> tuple[str, ...]:
    """Return in which files a table is for readers; one that a paper would print is LaTeX, too."""
    return ("csv", "md", "tex") if table.kind == "accuracy" else ("csv", "md")


def tables(plan: Plan, paper: str) -> list[str]:
    """Return the files of the tables of `paper`, and of its claims unless only some of it is shown."""
    root = f"results/{plan.preset.preset}/{paper}"
    there = plan.papers[paper].tables
    written = [f"{root}/tables/{name}.{suffix}" for name in there for suffix in (*forms(there[name]), "html")]
    accuracies = [name for name, table in there.items() if table.kind == "accuracy"]
    written += [f"{root}/tables/{name}_seeds.csv" for name in accuracies]
    written += [f"{root}/runs.csv", f"{root}/runs.md"]
    return written if plan.preset.show else written + [f"{root}/claims.{suffix}" for suffix in CLAIMS]


def figures(plan: Plan, paper: str) -> list[str]:
    """Return the files that the figures of `paper` are drawn into."""
    root = f"results/{plan.preset.preset}/{paper}/figures"
    return [f"{root}/{figure}.{suffix}" for figure in drawn(plan, paper) for suffix in FIGURE]


def drawn(plan: Plan, paper: str) -> dict[str, FigureSpec]:
    """Return the figures of `paper` of which a preset runs something."""
    there = plan.papers[paper].figures
    return {name: there[name] for name in built(there, plan, paper)}


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
