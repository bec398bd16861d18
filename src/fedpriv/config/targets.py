"""What the workflow asks for: which files, of which runs, and what its report says."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.config.names import arrays_id, partition_id
from fedpriv.config.plan import Plan, RunKey
from fedpriv.data import image_datasets, prepared
from fedpriv.paper.cells import Rendered, TableSpec
from fedpriv.paper.claims import Claim
from fedpriv.paper.figures import FigureSpec

TRAINED = ("trace.parquet", "distances.npz", "summary.json")  # no weights: nothing is made from them
COLLECTED = ("trace.parquet", "ledger.parquet", "summary.json")
RESULTS = ("runs", "rounds", "epsilons")  # the tables of a paper
AUDITED = (*COLLECTED, "distances.npz")
TAKEN = ("summary.json", "ledger.parquet")  # all that a stored run has in results
FIGURE, CLAIMS = ("pdf", "png", "md"), ("csv", "md", "tex")


class Job(NamedTuple):
    """Runs of one paper that are trained in one process, one after the other."""

    name: str
    runs: list[RunKey]
    priority: int = 0


def alone(plan: Plan, wildcards: Any) -> list[RunKey]:
    """Return the one run that a rule's wildcards name."""
    return [plan.key(wildcards.paper, wildcards.run, int(wildcards.seed))]


def words(runs: Sequence[RunKey]) -> list[str]:
    """Return how a step is told some runs of a paper."""
    return [runs[0].paper, *(one.word for one in runs)]


def files(plan: Plan, runs: Iterable[RunKey], *names: str) -> list[str]:
    """Return the files of these names of every run."""
    return [f"{one.directory(plan.preset.preset)}/{name}" for one in runs for name in names]


def stored(plan: Plan, reference: Path, papers: Iterable[str]) -> dict[RunKey, Path]:
    """Return the runs of papers that are stored, and their files."""
    found = {key: key.stored(reference) for paper in papers for key in plan.keys(paper)}
    return {key: path for key, path in found.items() if path.exists()}


def taken(plan: Plan, reference: Path, root: Path = Path()) -> dict[RunKey, Path]:
    """Return those that are not trained: all but what `root` has, none where a preset asks for all again."""
    found = {} if plan.preset.again else stored(plan, reference, plan.papers)
    return {key: path for key, path in found.items() if not key.trained(plan.preset.preset, root)}


def dealt(plan: Plan, seed: int, *ids: str) -> list[str]:
    """Return the files of partitions."""
    return [f"results/{plan.preset.preset}/partitions/{one}/seed{seed}.npz" for one in ids]


def inputs(plan: Plan, runs: Iterable[RunKey]) -> list[str]:
    """Return the files that runs are trained on: arrays and partitions."""
    found = [
        file
        for one in runs
        for file in (
            f"resources/{arrays_id(one.config)}.npz",
            *dealt(plan, one.seed, partition_id(one.config)),
        )
    ]
    return list(dict.fromkeys(found))


def sources(plan: Plan, name: str) -> list[str]:
    """Return the files that arrays of that name are made of; data of one's own are no file of ours."""
    if run := plan.features().get(name):
        return [str(prepared(run.data, Path("resources")))]
    raw = image_datasets()[name].files if name in image_datasets() else ()
    return [f"resources/{name}/raw/{file.name}" for file in raw]


def identified(plan: Plan, runs: Iterable[RunKey]) -> list[Any]:
    """Return what outdates the trainings of runs: the identity of each, and what its data stand in for."""
    return [(one.identity, plan.planned[one.paper][one.run].stand_in_for) for one in runs]


def deltas(runs: Iterable[RunKey]) -> list[str]:
    """Return what outdates the ledgers of runs: the version of the accounting, and each run's δ."""
    return [one.config.account.made_with for one in runs]


def run_files(plan: Plan, paper: str, taken: Container[RunKey], *names: str) -> list[str]:
    """Return the files of these names of every run and seed of `paper`; of what is `taken`, all there are."""
    return [
        file for key in plan.keys(paper) for file in files(plan, [key], *(TAKEN if key in taken else names))
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


def findings(plan: Plan, paper: str, shown: Iterable[Rendered | Claim]) -> list[str]:
    """Return the file of the findings about the runs of `paper`, if any of what is `shown` reads them."""
    audits = any(getattr(one, "kind", "") == "audits" or "lower_bound" in str(one) for one in shown)
    return [f"results/{plan.preset.preset}/{paper}/findings.parquet"] if audits else []


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
