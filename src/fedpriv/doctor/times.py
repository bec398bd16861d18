"""How long presets take here: the examples that they work through, over rates measured on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.run import Run
from fedpriv.doctor.finding import Finding
from fedpriv.errors import BadInput
from fedpriv.local.work import FedAvg, Speed
from fedpriv.paper.read import read_yaml

UNITS = (("s", 1), ("min", 60), ("h", 3600), ("days", 86400))  # each from two of it on


class Size(NamedTuple):
    """What an estimate must know of a dataset before it is there."""

    classes: int
    test: int  # examples
    each: int  # training examples of a client whose config does not say: of a writer, on average


SIZES = {
    "aptos": Size(5, 500, 30),
    "digits": Size(10, 359, 14),
    "fashion_mnist": Size(10, 10_000, 600),
    "femnist": Size(62, 77_483, 198),
    "fundus_synthetic": Size(5, 100, 4),
    "mnist": Size(10, 10_000, 600),
}


def size(run: Run) -> Size:
    """Return the size of a run's dataset; BadInput of data of one's own, which nobody has looked at."""
    if run.data not in SIZES:
        raise BadInput(f"dataset: found {run.data}, allowed where time is estimated: {', '.join(SIZES)}")
    return SIZES[run.data]


class Work(NamedTuple):
    """The examples that a run works through at one seed."""

    trained: float  # forward and backward
    evaluated: float  # forward only


class Rates(NamedTuple):
    """Examples a second, on all cores or the GPU."""

    trained: float
    evaluated: float


Measure = Callable[[Run, Speed], Rates]
KeptOf = Callable[[Plan], Collection[str]]  # the identities of what is kept of a preset


def held(run: Run) -> int:
    """Return how many examples a client holds."""
    return run.partition.each or size(run).each


def passed(run: Run) -> int:
    """Return how many examples a client works through in a round, of a drawn batch its expected size."""
    local, each = run.local, held(run)
    if isinstance(local, FedAvg):
        return local.steps * min(local.batch_size, each) if local.steps else local.epochs * each
    return local.batch_size or each


def work(run: Run) -> Work:
    """Return what a run works through at one seed.

    Followed clients who were not drawn work as well, and one that was drawn as its neighbour once more.
    """
    clients = run.partition.clients
    rounds = run.scheme.horizon(run.cohort, clients, run.rounds)
    cohort = run.cohort.expected(clients)
    panel = min(run.probe.panel, clients) if run.scheme.measures else 0
    members = cohort + panel * (1 - cohort / clients) + run.probe.neighbours * cohort / clients
    evaluations = -(-rounds // run.evaluate_every)  # the last round's among them
    test = -(-(run.validation or size(run).test) // run.evaluation.stride)
    models = clients if run.evaluation.models == "clients" else 1
    return Work(rounds * members * passed(run), evaluations * models * test)


def seconds(plan: Plan, measure: Measure, kept: Collection[str] = ()) -> float:
    """Return how long a preset trains at all its seeds, but for the runs whose identities are `kept`."""
    total = 0.0
    for run, identities in by_run(plan):
        if seeds := len(identities.difference(kept)):
            rates, asked = measure(run, plan.preset.speed), work(run)
            total += seeds * (asked.trained / rates.trained + asked.evaluated / rates.evaluated)
    return total


def by_run(plan: Plan) -> Iterator[tuple[Run, set[str]]]:
    """Yield every run of a preset with its identities, one a seed."""
    for paper, runs in plan.runs.items():
        for name, run in runs.items():
            yield run, set(plan.identities(paper, name).values())


def duration(seconds: float) -> str:
    """Return a time in two digits and the largest unit of which there are two or more."""
    unit, size = next((pair for pair in reversed(UNITS) if seconds >= 2 * pair[1]), UNITS[0])
    count = seconds / size
    return f"{count:.1f} {unit}" if unit != "s" and count < 10 else f"{count:,.0f} {unit}"


def presets(path: Path) -> list[Path]:
    """Return the preset `path`, or those in that folder; BadInput if there is none."""
    if path.is_file():
        return [path]
    found = [file for file in sorted(path.glob("*.yaml")) if "preset" in read_yaml(file)]
    if not found:
        raise BadInput(f"{path}: found no preset, allowed: one, or a folder with some, as fedpriv's config")
    return found


def findings(paths: Iterable[Path], measure: Measure, where: str, kept: KeptOf) -> list[Finding]:
    """Return a line for every preset; `where` names what its rates were measured on."""
    plans = map(load_preset, paths)
    return [finding(plan, measure, where, kept(plan)) for plan in plans]


def finding(plan: Plan, measure: Measure, where: str, kept: Collection[str]) -> Finding:
    """Say how long one preset takes, and how long without what is kept of it."""
    identities = set[str]().union(*(seeds for _, seeds in by_run(plan)))
    said = f"{duration(seconds(plan, measure))} {where}: {len(identities)} trainings"
    if taken := len(identities.intersection(kept)):
        said += f"; {duration(seconds(plan, measure, kept))} without the {taken} that are stored"
    return Finding(f"time {plan.preset.preset}", "ok", said)
