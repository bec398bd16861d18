"""What a training asks of a machine, known before it starts: minutes, memory, and whether a GPU.

Minutes are those of the stored runs, as their index has them.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, inf
from pathlib import Path
from statistics import median
from typing import NamedTuple

from fedpriv.config.plan import Plan, RunKey
from fedpriv.config.run import Run
from fedpriv.config.work import stacked, work
from fedpriv.errors import plain
from fedpriv.files.atomic import writing
from fedpriv.terminal import aside

INDEX = Path("results/reference/runs/index.csv")
WHICH = ("paper", "run", "seed", "identity", "preset")  # of a summary, as it says them
COLUMNS = (*WHICH, "data", "scheme", "clients", "accuracy", "hardware", "model", "examples", "core_seconds")
NEEDED = {"paper", "run", "identity", "model", "scheme", "examples", "core_seconds"}  # here
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


def alike(paper: str, name: str, model: str, scheme: str) -> list[tuple[str, ...]]:
    """Return what a run shares with others that take as long an example, the closest first."""
    return [(paper, name), (model, scheme), (model,)]


def network(run: Run) -> str:
    """Return what tells a run's network: its name, of one's own the code."""
    return run.model.code or run.model.name


def lines(index: Path) -> list[dict[str, str]]:
    """Return the lines of an index; what is none is a ValueError."""
    if not index.exists():
        return []
    if not index.is_file():
        raise ValueError("no file")
    with index.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, strict=True)
        rows = list(reader)
    if missing := NEEDED - set(reader.fieldnames or ()):
        raise ValueError(f"no column {', '.join(sorted(missing))}")
    for row in rows:
        if None in row or None in row.values():
            raise ValueError(f"a line of other columns: {plain(' '.join(map(str, row.values())))}")
        if any(not 0 <= float(row[name] or 0) < inf for name in ("core_seconds", "examples")):
            raise ValueError(f"no number of {row['identity']}")
    if len({row["identity"] for row in rows}) < len(rows):
        raise ValueError("a run twice")
    return rows


def read(index: Path) -> Took:
    """Return what the runs of an index took; those trained on a GPU are left out, no index is none.

    It is a hint: one that nobody can read is named on stderr and counts as none.
    """
    try:
        rows = lines(index)
    except (OSError, ValueError, csv.Error) as error:
        aside(f"{index}: found no index of stored runs ({error}), sizes are guessed; fedpriv keep mends it")
        rows = []
    rows = [row for row in rows if row["core_seconds"]]
    rates: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        if not float(row["core_seconds"]):  # in less than a clock shows
            continue
        for key in alike(*(row[column] for column in ("paper", "run", "model", "scheme"))):
            rates[key].append(float(row["examples"]) / float(row["core_seconds"]))
    seconds = {row["identity"]: float(row["core_seconds"]) for row in rows}
    return Took(seconds, {key: median(found) for key, found in rates.items()})


def keep(path: Path) -> None:
    """Copy the index to `path`, unless there is one; no index is an empty one."""
    if not path.exists():
        with writing(path) as partial:
            partial.write_bytes(INDEX.read_bytes() if INDEX.is_file() else b"")


def pays(run: Run, seconds: float) -> bool:
    """Return whether a GPU pays for a run of so many seconds on a core.

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
        if found := [self.took.seconds[seed] for seed in seeds if seed in self.took.seconds]:
            return median(found)
        run = self.plan.planned[paper][name].run
        like = alike(paper, name, network(run), run.scheme.name)
        rate = next((self.took.rates[key] for key in like if key in self.took.rates), RATE)
        return None if rate == RATE and run.model.code else work(run).passes / rate

    def seconds(self, paper: str, name: str) -> float:
        """Return the seconds that a run takes in its job, on all its threads."""
        known = self.known(paper, name)
        return (UNKNOWN if known is None else known) / self.threads

    def wants_gpu(self, paper: str, name: str) -> bool:
        """Return whether a run asks for a GPU: as `speed.device` says, and `auto` where it pays."""
        device = self.plan.preset.speed.device
        if device != "auto":
            return device == "cuda"
        return pays(self.plan.planned[paper][name].run, self.seconds(paper, name) * self.threads)

    def gpu(self, runs: Iterable[RunKey]) -> int:
        """Return how many GPUs a job of these runs asks for."""
        return int(any(self.wants_gpu(one.paper, one.run) for one in runs))

    def together(self, runs: Iterable[RunKey]) -> float:
        """Return the seconds that a job of these runs takes."""
        return sum(self.seconds(one.paper, one.run) for one in runs)

    def runtime(self, runs: Iterable[RunKey], attempt: int = 1) -> int:
        """Return for how many minutes a job of these runs asks, the second time for twice as many."""
        return attempt * ceil(START + MARGIN * self.together(runs) / 60)

    def mem_mb(self, runs: Sequence[RunKey], attempt: int = 1, read: float = 0) -> int:
        """Return for how many MB a job of these runs asks that reads so many: its largest counts."""
        most = max(
            BASE + COPIES * stacked(one.config) + UNCOUNTED * (not one.config.model.size(classes=10))
            for one in runs
        )
        return attempt * ceil(2 * most + CUDA * self.gpu(runs) + READ * read)

    def priority(self, runs: Iterable[RunKey]) -> int:
        """Return how soon a job of these runs is started: the longest first, below what others wait for."""
        return min(999, ceil(self.together(runs) / 60))
