"""Look at the machine and say what a run will find on it, and what to do about what is not there."""

from __future__ import annotations

from pathlib import Path

from fedpriv.doctor import datasets, disk, hardware, kaggle, mirrors, slurm, software
from fedpriv.doctor.finding import Finding


def diagnose(resources: Path, results: Path = Path("results")) -> list[Finding]:
    """Return what a run depends on and how it stands; the folders are where data and results lie.

    Nothing is written and nothing is downloaded: mirrors are asked for the names of files, and nobody else
    for anything.
    """
    return [
        software.python(),
        software.libraries(),
        software.photographs(),
        software.snakemake(),
        hardware.torch(),
        hardware.cores(),
        *(hardware.engine(name) for name in ("cnn3", "cnn5", "head", "small_net")),
        hardware.memory(),
        slurm.slurm(),
        disk.disk(resources, results),
        *mirrors.findings(),
        kaggle.kaggle(resources),
        *datasets.findings(resources),
    ]
