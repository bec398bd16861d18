"""Which files a plan has, of its runs, its papers and its preset, and the marks that outdate them."""

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

from fedpriv.config.plan import Plan, RunKey, arrays_id, partition_id
from fedpriv.data import arrays_path, image_datasets
from fedpriv.paper.claims import Claim
from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.tables import AccuracyTable, Rendered, TableSpec, accuracy_tables

TRAINED = ("trace.parquet", "distances.npz", "summary.json")  # no weights: nothing is made from them
COLLECTED = ("trace.parquet", "ledger.parquet", "summary.json")
RESULTS = ("runs", "rounds", "epsilons")  # the tables of a paper
AUDITED = (*COLLECTED, "distances.npz")
TAKEN = ("summary.json", "ledger.parquet")  # all that a stored run has in results
FIGURE, CLAIMS = ("pdf", "png", "json", "md"), (".csv", "_seeds.csv", ".json", ".md")


def files(plan: Plan, runs: Iterable[RunKey], *names: str) -> list[str]:
    """Return the files of these names of every run."""
    return [f"{key.directory(plan.preset.preset)}/{name}" for key in runs for name in names]


def stored_runs(plan: Plan, reference: Path, papers: Iterable[str]) -> dict[RunKey, Path]:
    """Return the runs of papers that are stored, and their files."""
    paths = {key: key.stored(reference) for paper in papers for key in plan.keys(paper)}
    return {key: path for key, path in paths.items() if path.exists()}


def stored_for(plan: Plan, reference: Path, root: Path = Path()) -> dict[RunKey, Path]:
    """Return those that are not trained: all but what `root` has, none where a preset asks for all again."""
    stored = {} if plan.preset.again else stored_runs(plan, reference, plan.papers)
    return {key: path for key, path in stored.items() if not key.trained(plan.preset.preset, root)}


def partition_files(plan: Plan, seed: int, *ids: str) -> list[str]:
    """Return the files of partitions."""
    return [f"results/{plan.preset.preset}/partitions/{name}/seed{seed}.npz" for name in ids]


def inputs(plan: Plan, runs: Iterable[RunKey]) -> list[str]:
    """Return the files that runs are trained on: arrays and partitions."""
    paths = [
        file
        for key in runs
        for file in (
            f"resources/{arrays_id(key.config)}.npz",
            *partition_files(plan, key.seed, partition_id(key.config)),
        )
    ]
    return list(dict.fromkeys(paths))


def sources(plan: Plan, name: str) -> list[str]:
    """Return the files that arrays of that name are made of; data of one's own are no file of ours."""
    if run := plan.features().get(name):
        return [str(arrays_path(run.data, Path("resources")))]
    raw = image_datasets()[name].files if name in image_datasets() else ()
    return [f"resources/{name}/raw/{file.name}" for file in raw]


def identity_marks(plan: Plan, runs: Iterable[RunKey]) -> list[tuple[str, str | None]]:
    """Return the marks that outdate trainings: the identity of each, and what data it stands in for."""
    return [(key.identity, plan.planned[key.paper][key.run].substitute_for) for key in runs]


def delta_marks(runs: Iterable[RunKey]) -> list[str]:
    """Return the marks that outdate the ledgers of runs: the version of the accounting, and each run's δ."""
    return [key.config.account.made_with for key in runs]


def run_files(plan: Plan, runs: Iterable[RunKey], taken: Container[RunKey], *names: str) -> list[str]:
    """Return the files of these names of every run; of what is `taken`, all there are."""
    return [file for key in runs for file in files(plan, [key], *(TAKEN if key in taken else names))]


def forms(table: TableSpec) -> tuple[str, ...]:
    """Return in which files a table is for readers; one that a paper would print is LaTeX, too."""
    return ("csv", "md", "tex") if table.kind == "accuracy" else ("csv", "md")


def tables(plan: Plan, paper: str) -> list[str]:
    """Return the files of the tables of `paper`, and of its claims unless only parts of it are shown."""
    root = f"results/{plan.preset.preset}/{paper}"
    there = plan.papers[paper].tables
    written = [f"{root}/tables/{name}.{suffix}" for name in there for suffix in (*forms(there[name]), "json")]
    accuracies = [name for name, table in there.items() if table.kind == "accuracy"]
    written += [f"{root}/tables/{name}_seeds.csv" for name in accuracies]
    written += [f"{root}/{name}" for name in ("runs.csv", "runs.json", "runs.md", "details.md")]
    return written if plan.preset.show else written + [f"{root}/claims{end}" for end in CLAIMS]


def figures(plan: Plan, paper: str) -> list[str]:
    """Return the files that the figures of `paper` are drawn into."""
    root = f"results/{plan.preset.preset}/{paper}/figures"
    return [f"{root}/{figure}.{suffix}" for figure in figure_names(plan, paper) for suffix in FIGURE]


def judged_claims(plan: Plan, paper: str) -> tuple[Claim, ...]:
    """Return the claims of `paper` that are judged: none where only parts of it are shown."""
    return () if plan.preset.show else plan.papers[paper].claims


def figure_names(plan: Plan, paper: str) -> dict[str, FigureSpec]:
    """Return the figures of `paper` of which a preset runs something."""
    there = plan.papers[paper].figures
    return {name: there[name] for name in names_built(there, plan, paper)}


def names_built(there: Mapping[str, TableSpec | FigureSpec], plan: Plan, paper: str) -> list[str]:
    """Return the names of those tables or figures of which a preset runs something, or that need no run."""
    reads = {name: {*element.runs()} for name, element in there.items()}
    return [name for name, runs in reads.items() if not runs or runs & {*plan.planned[paper]}]


def report_files(plan: Plan) -> list[str]:
    """Files that the report shows: of every paper its runs, tables, figures and claims."""
    makers = collected_files, tables, figures
    return [file for paper in plan.papers for make in makers for file in make(plan, paper)]


def audited_runs(plan: Plan, paper: str, elements: Iterable[Rendered | Claim] | None = None) -> list[RunKey]:
    """Return the runs of `paper` whose findings something reads among `elements`, by default of all."""
    tables = plan.papers[paper].tables
    if elements is None:
        elements = (*tables.values(), *figure_names(plan, paper).values(), *judged_claims(plan, paper))
    accuracies = accuracy_tables(tables)
    read = {run for element in elements for run in runs_attacked(element, accuracies)}
    return [key for key in plan.keys(paper) if key.run in read]


def runs_attacked(element: Rendered | Claim, tables: Mapping[str, AccuracyTable]) -> Iterator[str]:
    """Yield the runs whose lower bounds a table, a figure or a claim reads."""
    if isinstance(element, Rendered):
        if element.kind == "audits" or "lower_bound" in element.caption:
            yield from element.runs()
    elif "lower_bound" in element.check:
        for case in element.judged(tables):
            yield from (cell.run for cell in (*case.left.values(), *case.right.values()))


def findings(plan: Plan, paper: str, elements: Iterable[Rendered | Claim] | None = None) -> list[str]:
    """Return the file of the findings about the runs of `paper`, if any of the `elements` reads them."""
    path = f"results/{plan.preset.preset}/{paper}/findings.parquet"
    return [path] if audited_runs(plan, paper, elements) else []


def collected_files(plan: Plan, paper: str) -> list[str]:
    """Return the files that the runs of `paper` are collected in."""
    return [f"results/{plan.preset.preset}/{paper}/{table}.parquet" for table in RESULTS]


def targets(plan: Plan) -> list[str]:
    """Files that a preset ends in: all results, so that what is missing of them is made again."""
    audits = [file for paper in plan.papers for file in findings(plan, paper)]
    page = [] if plan.preset.show else [f"results/{plan.preset.preset}/report.html"]
    return report_files(plan) + audits + page


def torn_runs(plan: Plan, taken: Container[RunKey], root: Path) -> list[str]:
    """Return the files of the runs of which `root` has any.

    What is missing of such a run is made again; a run that is wholly gone is trained when something needs it.
    """
    each = [run_files(plan, [key], taken, *AUDITED) for paper in plan.papers for key in plan.keys(paper)]
    return [file for files in each if any((root / file).exists() for file in files) for file in files]


def cuts(plan: Plan, paper: str) -> dict[str, str]:
    """Return by run what the preset leaves out of the runs of a paper."""
    return {name: planned.cut for name, planned in plan.planned[paper].items() if planned.cut}
