"""pfl-research spread over two processes, as its manual says: each has half of a cohort and of the cores."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from laps import Laps
from workload import Workload


def race(workload: Workload, path: Path, laps: Laps, dtype: str) -> dict[str, Any]:
    """Train as the first worker; the second is this contender's own child."""
    threads = max(1, len(os.sched_getaffinity(0)) // 2)
    with socket.create_server(("localhost", 0)) as free:
        address = f"localhost:{free.getsockname()[1]}"
    addresses = {"PFL_WORKER_ADDRESSES": f"{address},{address}"}
    second = subprocess.Popen(
        [sys.executable, sys.argv[0], workload.name, "pfl", "--data", path, "--rounds", str(laps.rounds)],
        env=os.environ | addresses | {"PFL_WORKER_RANK": "1", "OMP_NUM_THREADS": str(threads)},
        stdout=subprocess.PIPE,
    )
    os.environ |= addresses | {"PFL_WORKER_RANK": "0"}  # read when pfl is imported
    torch.set_num_threads(threads)
    facts = importlib.import_module("contenders.pfl").race(workload, path, laps, dtype)
    mine, theirs = laps.report(), json.loads(second.communicate()[0])
    (here,), (there,) = mine["clients"], theirs["clients"]
    return facts | {
        "clients": [here + there],
        "examples": sorted({*mine["examples"], *theirs["examples"]}),
        "norms": [min(mine["norms"][0], theirs["norms"][0]), max(mine["norms"][1], theirs["norms"][1])],
        "actors_peak_mib": theirs["peak_mib"],
    }
