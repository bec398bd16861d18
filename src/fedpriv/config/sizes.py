"""What a run asks of a machine: seconds by the index of the stored runs, memory, and whether a GPU pays.

A run works through examples and holds floats, which its config says. How many examples a second there are,
the most similar of the stored runs say.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from fedpriv.config.plan import Plan
from fedpriv.config.run import Run
from fedpriv.local.work import FedAvg
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
RATE = 10_000  # examples a second of a run that is like no stored one: nine of ten stored ones are faster
UNKNOWN = 2400.0  # seconds on a core of a run of somebody else's network: with the margin an hour
WEIGHTS, WORTH = 5_000, 60.0  # of a network, and seconds on a core: from there on a GPU pays
# MB, for the libraries and the usual data; copies of what clients send; MB, for CUDA beside its device; MB,
# for a network whose weights only torch can count.
BASE, COPIES, CUDA, UNCOUNTED = 1000, 2, 2000, 2000


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

    def mem_mb(self, paper: str, name: str) -> int:
        """Return the MB that a run asks for beside the files that it reads."""
        run = self.plan.planned[paper][name].run
        most = BASE + COPIES * weights_mb(run)
        if not run.model.size(classes=10):
            most += UNCOUNTED
        return math.ceil(2 * most + (CUDA if self.wants_gpu(paper, name) else 0))
