"""What the workflow asks for: the files of a plan, the jobs that make them, and what each asks of a machine.

- what a run works through at one seed: examples, and floats that it holds;
- which files there are of a run, a paper, a preset (`files`, `targets`);
- minutes, memory and GPUs of a training, by the index of the stored runs (`Sizes`);
- which runs share a process (`training_jobs`).
"""

import csv
import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from fedpriv.config.plan import Plan, RunKey, arrays_id, partition_id
from fedpriv.config.run import Run
from fedpriv.data import arrays_path, image_datasets
from fedpriv.local.work import FedAvg
from fedpriv.paper.claims import Claim
from fedpriv.paper.figures import FigureSpec
from fedpriv.paper.tables import Rendered, TableSpec, accuracy_tables
from fedpriv.progress import print_stderr
from fedpriv.store.files import writing

FORWARD = 1 / 3  # of the work that an example is forward and backward


class Size(NamedTuple):
    """What must be known of a dataset before it is there."""

    test: int  # examples
    each: int  # training examples of a client whose config does not say: of a writer, on average


SIZES = {
    "aptos": Size(500, 30),
    "digits": Size(359, 14),
    "fashion_mnist": Size(10_000, 600),
    "femnist": Size(77_483, 198),
    "fundus_synthetic": Size(100, 4),
    "mnist": Size(10_000, 600),
}
OTHERS = SIZES["mnist"]  # what data of one's own are taken for: nobody has looked at them


class Work(NamedTuple):
    """The examples that a run works through at one seed."""

    trained: float  # forward and backward
    evaluated: float  # forward only

    @property
    def passes(self) -> float:
        """Return both, as examples forward and backward."""
        return self.trained + FORWARD * self.evaluated


def size(run: Run) -> Size:
    """Return the size of a run's dataset."""
    return SIZES.get(run.data, OTHERS)


def members(run: Run) -> float:
    """Return the number of clients that work in a round.

    Followed clients who were not drawn work as well, and one that was drawn as its neighbour once more.
    """
    clients = run.partition.clients
    cohort = run.cohort.expected(clients)
    panel = min(run.probe.panel, clients) if run.scheme.measures else 0
    return cohort + panel * (1 - cohort / clients) + run.probe.neighbours * cohort / clients


def work(run: Run) -> Work:
    """Examples that a run works through at one seed."""
    clients, local, each = run.partition.clients, run.local, run.partition.each or size(run).each
    # Of a client in a round; of a drawn batch its expected size.
    examples = local.batch_size or each
    if isinstance(local, FedAvg):
        examples = local.steps * min(local.batch_size, each) if local.steps else local.epochs * each
    rounds = run.scheme.horizon(run.cohort, clients, run.rounds)
    evaluations = -(-rounds // run.evaluate_every)  # the last round's among them
    test = -(-(run.validation or size(run).test) // run.evaluation.stride)
    models = clients if run.evaluation.models == "clients" else 1
    return Work(rounds * members(run) * examples, evaluations * models * test)


def weights_mb(run: Run) -> float:
    """MB of the weights of all clients: of a cohort, or of all who keep their own."""
    clients = run.partition.clients if run.local.keeps_clients else members(run)
    return 4e-6 * clients * run.model.size(classes=10)


TRAINED = ("trace.parquet", "distances.npz", "summary.json")  # no weights: nothing is made from them
COLLECTED = ("trace.parquet", "ledger.parquet", "summary.json")
RESULTS = ("runs", "rounds", "epsilons")  # the tables of a paper
AUDITED = (*COLLECTED, "distances.npz")
TAKEN = ("summary.json", "ledger.parquet")  # all that a stored run has in results
FIGURE, CLAIMS = ("pdf", "png", "json", "md"), (".csv", "_seeds.csv", ".json", ".md")


class Job(NamedTuple):
    """Runs of one paper that are trained in one process, one after the other."""

    name: str
    runs: list[RunKey]
    priority: int = 0


def run_of_wildcards(plan: Plan, wildcards: Any) -> list[RunKey]:
    """Return the one run that a rule's wildcards name."""
    return [plan.key(wildcards.paper, wildcards.run, int(wildcards.seed))]


def step_words(runs: Sequence[RunKey]) -> list[str]:
    """Words by which a step is called for some runs of a paper."""
    return [runs[0].paper, *(key.word for key in runs)]


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


def identity_marks(plan: Plan, runs: Iterable[RunKey]) -> list[Any]:
    """Return the marks that outdate trainings: the identity of each, and what data it stands in for."""
    return [(key.identity, plan.planned[key.paper][key.run].substitute_for) for key in runs]


def delta_marks(runs: Iterable[RunKey]) -> list[str]:
    """Return the marks that outdate the ledgers of runs: the version of the accounting, and each run's δ."""
    return [key.config.account.made_with for key in runs]


def ledger_marks(plan: Plan, runs: Sequence[RunKey]) -> list[Any]:
    """Return all that outdates the ledgers of runs: what outdates the runs, and the marks of the ledgers."""
    return [identity_marks(plan, runs), delta_marks(runs)]


def run_files(plan: Plan, runs: Iterable[RunKey], taken: Container[RunKey], *names: str) -> list[str]:
    """Return the files of these names of every run; of what is `taken`, all there are."""
    return [file for key in runs for file in files(plan, [key], *(TAKEN if key in taken else names))]


def forms(table: TableSpec) -> tuple[str, ...]:
    """Return in which files a table is for readers; one that a paper would print is LaTeX, too."""
    return ("csv", "md", "tex") if table.kind == "accuracy" else ("csv", "md")


def tables(plan: Plan, paper: str) -> list[str]:
    """Return the files of the tables of `paper`, and of its claims unless only some of it is shown."""
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
    """Return the claims of `paper` that are judged: none where only some of it is shown."""
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
    tables, read = plan.papers[paper].tables, set[str]()
    if elements is None:
        elements = (*tables.values(), *figure_names(plan, paper).values(), *judged_claims(plan, paper))
    for element in elements:
        if isinstance(element, Claim) and "lower_bound" in element.check:
            cases = element.judged(accuracy_tables(tables))
            read.update(cell.run for case in cases for cell in (*case.left.values(), *case.right.values()))
        elif isinstance(element, Rendered) and (element.kind == "audits" or "lower_bound" in element.caption):
            read.update(element.runs())
    return [key for key in plan.keys(paper) if key.run in read]


def findings(plan: Plan, paper: str, elements: Iterable[Rendered | Claim] | None = None) -> list[str]:
    """Return the file of the findings about the runs of `paper`, if any of the `elements` reads them."""
    path = f"results/{plan.preset.preset}/{paper}/findings.parquet"
    return [path] if audited_runs(plan, paper, elements) else []


def collected_files(plan: Plan, paper: str) -> list[str]:
    """Return the files that the runs of `paper` are collected in."""
    return [f"results/{plan.preset.preset}/{paper}/{table}.parquet" for table in RESULTS]


def targets(plan: Plan) -> list[str]:
    """Files that a preset ends in: all results, so that what is missing of them is made again."""
    found = [file for paper in plan.papers for file in findings(plan, paper)]
    page = [] if plan.preset.show else [f"results/{plan.preset.preset}/report.html"]
    return report_files(plan) + found + page


def torn_runs(plan: Plan, taken: Container[RunKey], root: Path) -> list[str]:
    """Return the files of the runs of which `root` has some.

    What is missing of such a run is made again; a run that is wholly gone is trained when something needs it.
    """
    each = [run_files(plan, [key], taken, *AUDITED) for paper in plan.papers for key in plan.keys(paper)]
    return [file for files in each if any((root / file).exists() for file in files) for file in files]


INDEX = Path("results/reference/runs/index.csv")
WHICH = ("paper", "run", "seed", "identity", "preset")  # of a summary, as it says them
INDEX_COLUMNS = (
    *WHICH,
    "data",
    "scheme",
    "clients",
    "accuracy",
    "hardware",
    "model",
    "examples",
    "core_seconds",
)
MARGIN = 1.5  # asked over known: seeds of a run differ by as much, as busy as their machines were
START = 5  # minutes, granted to a job beside its runs
RATE = 10_000  # examples a second of a run that is like no stored one: nine of ten stored ones are faster
UNKNOWN = 2400.0  # seconds on a core of a run of somebody else's network: with the margin an hour
WEIGHTS, WORTH = 5_000, 60.0  # of a network, and seconds on a core: from there on a GPU pays
# MB, for the libraries and the usual data; copies of what clients send; MB, for CUDA beside its device;
# copies of the input files; MB, for a network whose weights only torch can count.
BASE, COPIES, CUDA, READ, UNCOUNTED = 1000, 2, 2000, 4, 2000


class Took(NamedTuple):
    """What stored runs took, in seconds on one core."""

    seconds: Mapping[str, float]  # by identity
    rates: Mapping[tuple[str, ...], float]  # examples a second, of runs that are `alike`


def size_keys(paper: str, name: str, model: str, scheme: str) -> list[tuple[str, ...]]:
    """Keys that a run shares with others that take as long an example, the closest first."""
    return [(paper, name), (model, scheme), (model,)]


def network(run: Run) -> str:
    """Name of a run's network, of one's own the code."""
    return run.model.code or run.model.name


def read_times(index: Path) -> Took:
    """Durations of the runs of an index; those trained on a GPU are left out, no index is none.

    It is a hint: one that nobody can read is named on stderr and counts as none.
    """
    seconds: dict[str, float] = {}
    rates: dict[tuple[str, ...], list[float]] = defaultdict(list)
    try:
        lines = index.read_text(encoding="utf-8").splitlines() if index.exists() else []
        for row in csv.DictReader(lines, strict=True):
            keys = size_keys(row["paper"], row["run"], row["model"], row["scheme"])
            took = float(row["core_seconds"] or math.nan)  # nan: on a GPU
            if not 0 <= took < math.inf:
                continue
            seconds[row["identity"]] = took
            for key in keys if took else ():  # 0: in less than a clock shows
                rates[key].append(float(row["examples"]) / took)
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        fault = f"found no index of stored runs ({error!r})"
        print_stderr(f"{index}: {fault}, sizes are guessed; fedpriv keep mends it")
        return Took({}, {})
    return Took(seconds, {key: median(speeds) for key, speeds in rates.items()})


def keep_times(path: Path) -> None:
    """Copy the index to `path`, unless there is one; no index is an empty one."""
    if not path.exists():
        with writing(path) as partial:
            partial.write_bytes(INDEX.read_bytes() if INDEX.is_file() else b"")


def gpu_pays(run: Run, seconds: float) -> bool:
    """Return True where a GPU pays for a run of so many seconds on a core.

    It does for a network of at least 5,000 weights, or of one's own, that reads images and not fixed
    features, in a run of at least a minute.
    """
    weights = run.model.size(classes=10)  # 0: only torch can count them
    return seconds >= WORTH and not run.model.features and (weights >= WEIGHTS or not weights)


def retry_factors(attempt: int, log: Path) -> tuple[int, int]:
    """Return the multiples of the minutes and of the memory of its first attempt that a job asks for.

    Snakemake tells the attempt alone. What ended the one before is in its log: a training that is warned of
    its time limit says that it was stopped, one that takes too much memory is killed and says nothing. Of the
    other it asks for one time less, which may have been short before. Without a log both grow.
    """
    if attempt == 1 or not log.is_file():
        return attempt, attempt
    stopped = "; stopped by SIG" in log.read_text(encoding="utf-8", errors="replace")
    return (attempt, attempt - 1) if stopped else (attempt - 1, attempt)


class Sizes:
    """The sizes of the runs of a plan; `threads` are those of a job."""

    def __init__(self, plan: Plan, took: Took) -> None:
        self.plan, self.took = plan, took
        self.threads = plan.preset.speed.threads or 2
        self._known: dict[tuple[str, str], float | None] = {}

    def known(self, paper: str, name: str) -> float | None:
        """Return the seconds that a run takes on one core, at whichever seed; None: nobody knows.

        They are the median of its stored seeds, or else its work over the rate of the stored runs that are
        most like it, or over `RATE`. Nobody knows how fast somebody's own network is before it was stored.
        """
        if (paper, name) not in self._known:
            self._known[paper, name] = self._look(paper, name)
        return self._known[paper, name]

    def _look(self, paper: str, name: str) -> float | None:
        seeds = self.plan.identities(paper, name).values()
        if times := [self.took.seconds[seed] for seed in seeds if seed in self.took.seconds]:
            return median(times)
        run = self.plan.planned[paper][name].run
        like = size_keys(paper, name, network(run), run.scheme.name)
        rate = next((self.took.rates[key] for key in like if key in self.took.rates), RATE)
        return None if rate == RATE and run.model.code else work(run).passes / rate

    def seconds(self, paper: str, name: str) -> float:
        """Return the seconds that a run takes in its job, on all its threads."""
        known = self.known(paper, name)
        return (UNKNOWN if known is None else known) / self.threads

    def wants_gpu(self, paper: str, name: str) -> bool:
        """Return True for a run that asks for a GPU: as `speed.device` says, and `auto` where it pays."""
        device = self.plan.preset.speed.device
        if device != "auto":
            return device == "cuda"
        return gpu_pays(self.plan.planned[paper][name].run, self.seconds(paper, name) * self.threads)

    def gpu(self, runs: Iterable[RunKey]) -> int:
        """Return the number of GPUs that a job of these runs asks for."""
        return int(any(self.wants_gpu(key.paper, key.run) for key in runs))

    def together(self, runs: Iterable[RunKey]) -> float:
        """Return the seconds that a job of these runs takes."""
        return sum(self.seconds(key.paper, key.run) for key in runs)

    def runtime(self, runs: Iterable[RunKey], attempt: int = 1, log: str = "") -> int:
        """Return for how many minutes a job of these runs asks."""
        return retry_factors(attempt, Path(log))[0] * math.ceil(START + MARGIN * self.together(runs) / 60)

    def mem_mb(self, runs: Sequence[RunKey], read: float = 0, attempt: int = 1, log: str = "") -> int:
        """Return for how many MB a job of these runs asks that reads so many: its largest counts."""
        most = max(
            BASE + COPIES * weights_mb(key.config) + UNCOUNTED * (not key.config.model.size(classes=10))
            for key in runs
        )
        needed = math.ceil(2 * most + CUDA * self.gpu(runs) + READ * read)
        return retry_factors(attempt, Path(log))[1] * needed

    def priority(self, runs: Iterable[RunKey]) -> int:
        """Priority of a job of these runs: the longest first, below what others wait for."""
        return min(999, math.ceil(self.together(runs) / 60))


# Seconds, each with how many runs up to there share a job: an hour of them at most. Those of seconds do,
# whatever their lengths; others, where none takes four times as long as another; what is longer is alone.
LENGTHS = {60: 60, 240: 15, 960: 3, float("inf"): 1}


def training_jobs(plan: Plan, sizes: Sizes, taken: Container[RunKey] = ()) -> list[Job]:
    """Return the runs that share a job: at most `speed.runs_per_job` of a paper, none where that is one.

    Those that are `taken` from stored runs are not among them.

    They read the same file of arrays, are about as long, which `LENGTHS` says, and either all ask for a GPU
    or none does. One more seed makes more batches and leaves these as they are. The longest go first.
    """
    most, jobs = plan.preset.speed.runs_per_job, list[Job]()
    for paper, runs in plan.runs.items() if most > 1 else ():
        alike: dict[tuple[str, int, bool], list[str]] = {}
        for name, run in runs.items():
            length = bisect([*LENGTHS], sizes.seconds(paper, name))
            alike.setdefault((arrays_id(run), length, sizes.wants_gpu(paper, name)), []).append(name)
        parts = [
            (some, -(-len(some) // min(most, [*LENGTHS.values()][length])))
            for (_, length, _), some in alike.items()
        ]
        together = [some[part::count] for some, count in parts for part in range(count)]
        jobs += [
            Job(f"{paper}_seed{seed}_{number}", [key for key in keys if key not in taken])
            for seed in plan.seeds
            for number, some in enumerate(together)
            for keys in [[plan.key(paper, run, seed) for run in some]]
        ]
    return [job._replace(priority=sizes.priority(job.runs)) for job in jobs if job.runs]


def partition_jobs(plan: Plan, jobs: Iterable[Job]) -> dict[str, list[str]]:
    """Return the partitions that share a job, by what it is told: a seed and ids, of the same arrays."""
    groups: dict[tuple[int, str], list[str]] = {}
    for key in (key for job in jobs for key in job.runs):
        ids = groups.setdefault((key.seed, arrays_id(key.config)), [])
        ids += [partition_id(key.config)] * (partition_id(key.config) not in ids)
    return {
        " ".join((str(seed), *ids)): partition_files(plan, seed, *ids) for (seed, _), ids in groups.items()
    }


def cuts(plan: Plan, paper: str) -> dict[str, str]:
    """Return by run what the preset leaves out of the runs of a paper."""
    return {name: planned.cut for name, planned in plan.planned[paper].items() if planned.cut}
