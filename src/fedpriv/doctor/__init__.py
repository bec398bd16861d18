"""Look at the machine and say what a run will find on it, and what to do about what is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from fedpriv.doctor import datasets, disk, kaggle, machine, mirrors, times
from fedpriv.doctor.finding import Finding
from fedpriv.models import native
from fedpriv.progress import counted


def diagnose(
    resources: Path,
    timed: Path | None = None,
    kept: times.KeptOf = lambda _: (),
) -> list[Finding]:
    """Return what a run depends on and how it stands; `resources` is where data lie.

    `timed` is a preset, or a folder of presets: how long each trains is said, by what stored runs took, with
    and without the runs that `kept` says. Nothing is written and nothing is downloaded: mirrors are asked for
    the names of files, and nobody else for anything.
    """
    checks: list[Callable[[], Finding | Iterable[Finding]]] = [
        machine.python,
        machine.libraries,
        machine.photographs,
        machine.snakemake,
        machine.torch,
        machine.cores,
        *(partial(machine.engine, unit) for unit in native.UNITS),
        machine.memory,
        machine.slurm,
        partial(disk.disk, resources, Path("results")),
        mirrors.findings,
        partial(kaggle.kaggle, resources),
        partial(datasets.findings, resources),
    ]
    found: list[Finding] = []
    for check in counted("looking at this machine", checks, "check"):
        one = check()
        found += [one] if isinstance(one, Finding) else one
    return found + (times.findings(times.presets(timed), kept) if timed else [])
