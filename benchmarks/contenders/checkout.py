"""fedpriv as its users run it, `fedpriv run`, of any commit: the paper's own run, patched to the workload.

The folder of the commit is RACED_CHECKOUT in the environment. Of the package only what has stayed the same is
needed: a preset with patches, the names of the paper's runs, two columns of the trace.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import settings
from laps import Laps
from workload import Workload

PAPER = "bdp2019"


def lay_out(folder: Path, checkout: Path, workload: Workload, path: Path, rounds: int) -> None:
    """Put into `folder` a preset with one run, the checkout's papers, and the data under their name there."""
    preset = {
        "preset": "race",
        "papers": [PAPER],
        "seeds": 1,
        "only": [f"{PAPER}/{workload.run}"],
        "patches": {f"{PAPER}/{workload.run}": settings.run(workload, rounds)},
    }
    (folder / "race.yaml").write_text(json.dumps(preset))  # JSON is YAML
    (folder / "papers").symlink_to(checkout / "config/papers")
    (folder / "resources").mkdir()
    (folder / "resources" / f"{workload.arrays}.npz").symlink_to(path)


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train in a process of its own and read its trace; the last round, the one evaluated, is left out."""
    checkout = Path(os.environ["RACED_CHECKOUT"]).resolve()
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        lay_out(folder, checkout, workload, path, laps.total + 1)
        asked = ["run", "race.yaml", "--paper", PAPER, "--run", workload.run, "--out", "out"]
        faster = ["--device", "cpu", "--dtype", dtype]
        # A shell in between: Linux counts what a process was forked from as part of its peak memory.
        subprocess.run(
            ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-m", "fedpriv", *asked, *faster],
            check=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(checkout / "src")},
            stdout=subprocess.DEVNULL,
        )
        trace = pd.read_parquet(folder / "out/trace.parquet").iloc[:-1]
    timed = trace.iloc[workload.warm_up :]
    norms = trace[["norm_min", "norm_max"]].clip(upper=trace["clip_l2"], axis=0)  # they are before clipping
    return {
        "seconds": float(timed["seconds"].sum()),
        "clients": sorted(trace["cohort_size"].unique().tolist()),
        "examples": [workload.expected],  # as configured
        "norms": [float(norms.to_numpy().min()), float(norms.to_numpy().max())],
        "accuracies": None,
        "moved": 1.0,  # nobody can see
        "peak_mib": float(trace["peak_mib"].max()),
    }
