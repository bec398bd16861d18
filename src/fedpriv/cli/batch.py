"""Several runs in one process, one after the other: where one fails, the others still have their turn."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fedpriv.config.plan import Plan
from fedpriv.config.run import Run
from fedpriv.keep.take import take
from fedpriv.local.work import Speed
from fedpriv.progress import announce


def train_each(trainings: Sequence[dict[str, Any]], plan: Plan, threads: int) -> None:
    """Train each run, or go on with it, as `fedpriv.config.targets.trainings` describes them.

    The plan says how fast, and what is written beside the results: at which δ a run is counted.
    """
    speed = plan.preset.speed.model_copy(update={"threads": threads})
    in_turn(
        "training",
        {
            f"{one['labels']['paper']} {one['name']} seed {one['seed']}": partial(
                train_one, one | {"labels": one["labels"] | counting(plan, one)}, speed
            )
            for one in trainings
        },
    )


def counting(plan: Plan, one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a summary says of how the run is counted; nothing of one that is no longer planned."""
    planned = plan.runs.get(one["labels"]["paper"], {}).get(one["name"])
    return {"account": planned.account.model_dump()} if planned else {}


def train_one(one: Mapping[str, Any], speed: Speed) -> None:
    """Train a run."""
    from fedpriv.train.loop import train

    files, out = map(Path, one["inputs"]), Path(one["out"])
    train(Run(**one["run"]), one["name"], one["seed"], *files, out=out, speed=speed, labels=one["labels"])


def take_each(paths: Sequence[Path], runs: Sequence[Mapping[str, Any]]) -> None:
    """Account each stored run into the directory that `fedpriv.config.targets.takings` says."""
    for path, one in zip(paths, runs, strict=True):
        take(path, Path(one["out"]), one["labels"] | {"account": one["account"]})
    account_each([Path(one["out"]) for one in runs], [one["account"] for one in runs])


def account_each(directories: Sequence[Path], deltas: Sequence[Mapping[str, Any]]) -> None:
    """Write the ledger of each run directory, counted as its config says."""
    from fedpriv.account.runs import account
    from fedpriv.account.spend import Deltas

    in_turn(
        "accounting",
        {
            " ".join((out.parents[2].name, out.parent.name, out.name)): partial(account, out, Deltas(**its))
            for out, its in zip(directories, deltas, strict=True)
        },
    )


def in_turn(doing: str, jobs: Mapping[str, Callable[[], object]]) -> None:
    """Do every job; what failed is raised when all have had their turn, by name."""
    failed: dict[str, Exception] = {}
    for name, job in jobs.items():
        announce(f"{doing} {name}")
        try:
            job()
        except Exception as error:
            failed[name] = error
    if failed:
        raise ExceptionGroup(f"{doing}: failed: {'; '.join(failed)}", list(failed.values()))
