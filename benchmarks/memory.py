"""Measure fedpriv's peak memory: of a large cohort, and of growing populations at one cohort size.

python benchmarks/memory.py --data resources/mnist.npz

Each line is the median of a few fresh processes that load a partition, as training does in the workflow, and
run one round of W1's work. Exit code 1 if a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import torch
import work
from child import ask
from contenders import ours

from fedpriv import inputs, partition
from fedpriv.config import Run
from fedpriv.data import arrays
from fedpriv.local import Task, Workshop
from fedpriv.models.flat import initial
from fedpriv.resume import RoundState
from fedpriv.streams import Streams
from fedpriv.train import one_round

COHORT_LIMIT_MIB = 3 * 1024  # of the large cohort
# Of the populations, largest less smallest. The rows of 10,000 clients are 23 MiB; two equal processes differ
# by about as much, as their threads meet in another order.
GROWTH_LIMIT_MIB = 64
LARGE_COHORT = (300, 300)  # population, cohort
POPULATIONS = ((100, 30), (1_000, 30), (10_000, 30))
PROCESSES = 3


def declared(population: int, cohort: int) -> Run:
    """Return one round of W1 at another size; beyond 100 clients MNIST is repeated."""
    w1 = ours.declared(rounds=1).training()
    w1["partition"] |= {"clients": population, "repeat": population > work.CLIENTS}
    w1["cohort"]["size"] = cohort
    return Run.model_validate(w1)


def one(data_path: Path, partition_path: Path, population: int, cohort: int) -> dict[str, Any]:
    """Run one round in this process and return what it took."""
    run, data, clients = declared(population, cohort), arrays.load(data_path), partition.load(partition_path)
    streams = Streams(work.SEED, "memory")
    shapes = run.model.shapes(data.classes)
    flat = initial(shapes, streams.torch("init"))
    state = RoundState(flat, torch.zeros_like(flat))
    task = Task(run.model, shapes, torch.from_numpy(data.x_train), torch.from_numpy(data.y_train))
    with Workshop(task, ours.speed("float32")) as workshop:
        row = one_round(run, clients, workshop, streams, state, 1)
    return {
        "clients": clients.clients,
        "cohort": row["cohort_size"],
        "examples": len(clients.client(0)),
        "peak_mib": work.peak_mib(),
    }


def several(data_path: Path, population: int, cohort: int) -> dict[str, Any]:
    """Return the line of one size: that of the process with the median peak."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "partition.npz"
        inputs.write_partition(declared(population, cohort), work.SEED, data_path, path)
        asked = ("--data", data_path, "--one", path, population, cohort)
        lines = [ask(sys.executable, "memory.py", *asked) for _ in range(PROCESSES)]
    return lines[0] | {"peak_mib": median(line["peak_mib"] for line in lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("resources/mnist.npz"))
    # What a measured process is asked: PARTITION POPULATION COHORT
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.data.is_file():
        parser.error(f"--data: found no file {asked.data}, allowed: mnist.npz (see benchmarks/README.md)")
    if asked.one:
        path, population, cohort = asked.one
        print(json.dumps(one(asked.data, Path(path), int(population), int(cohort))))
        return
    found = [several(asked.data, *sizes) for sizes in (LARGE_COHORT, *POPULATIONS)]
    print(pd.DataFrame(found).to_markdown(index=False, floatfmt=".0f"))
    large, *populations = (line["peak_mib"] for line in found)
    growth = max(populations) - min(populations)
    bounds = (
        (f"{LARGE_COHORT[1]} clients a round", large, COHORT_LIMIT_MIB),
        ("populations, largest less smallest", growth, GROWTH_LIMIT_MIB),
    )
    for what, mib, allowed in bounds:
        print(f"{'holds' if mib < allowed else 'FAILS'}: {what}: {mib:.0f} MiB, allowed below {allowed}")
    sys.exit(any(mib >= allowed for _, mib, allowed in bounds))


if __name__ == "__main__":
    main()
