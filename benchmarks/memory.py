"""Measure fedpriv's peak memory: of a large cohort, of growing populations, of a binary network.

python benchmarks/memory.py --data resources/mnist.npz

Each line is the median of a few fresh processes that load a partition, as training does in the workflow, and
run one round of W1's work, or a few rounds with binary networks that clients keep. Exit code 1 if a bound
does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pandas as pd
from child import ask
from contenders import ours
from laps import peak_mib
from workload import BNN, SEED, W1, W4, Workload

from fedpriv.config.run import Run
from fedpriv.train import inputs

COHORT_LIMIT_MIB = 3 * 1024  # of the large cohort
BINARY_LIMIT_MIB = 1.5 * 1024  # of the binary network
# Of the populations, largest less smallest. The rows of 10,000 clients are 23 MiB; two equal processes differ
# by about as much, as their threads meet in another order.
GROWTH_LIMIT_MIB = 64
PROCESSES = 3


class Size(NamedTuple):
    """A run to be measured."""

    workload: Workload
    population: int
    cohort: int
    rounds: int = 1


SIZES = {
    "large cohort": Size(W1, 300, 300),
    "population 100": Size(W1, 100, 30),
    "population 1,000": Size(W1, 1_000, 30),
    "population 10,000": Size(W1, 10_000, 30),
    "paper's round": Size(W4, 1_000, 100),
    "paper's round, 10,000 clients": Size(W4, 10_000, 300),
    "binary network": Size(BNN, 100, 100, rounds=3),
}


def declared(size: Size) -> Run:
    """Return a workload at another size; beyond 100 clients MNIST is repeated."""
    run = ours.declared(size.workload, size.rounds).training()
    run["partition"] |= {"clients": size.population, "repeat": size.population > W1.clients}
    run["cohort"]["size"] = size.cohort
    if size.workload.model == "bnn":
        run["local"] |= {"persistent": True, "mixing": 0.5}
    return Run.model_validate(run)


def one(data_path: Path, partition_path: Path, name: str) -> dict[str, Any]:
    """Run a size in this process and return what it took."""
    size = SIZES[name]
    rows = list(ours.rounds(declared(size), data_path, partition_path, "memory"))
    return {
        "run": name,
        "clients": rows[-1]["population"],
        "cohort": rows[-1]["cohort_size"],
        "examples": size.workload.each,
        "rounds": len(rows),
        "peak_mib": peak_mib(),
    }


def several(data_path: Path, name: str) -> dict[str, Any]:
    """Return the line of one size: that of the process with the median peak."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "partition.npz"
        inputs.write_partition(declared(SIZES[name]), SEED, data_path, path)
        lines = [
            ask(sys.executable, "memory.py", "--data", data_path, "--one", path, name)
            for _ in range(PROCESSES)
        ]
    return lines[0] | {"peak_mib": median(line["peak_mib"] for line in lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("resources/mnist.npz"))
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES), metavar="RUN")
    # What a measured process is asked: PARTITION RUN
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.data.is_file():
        parser.error(f"--data: found no file {asked.data}, allowed: mnist.npz (see benchmarks/README.md)")
    if asked.one:
        path, name = asked.one
        print(json.dumps(one(asked.data, Path(path), name)))
        return
    found = [several(asked.data, name) for name in asked.only]
    print(pd.DataFrame(found).to_markdown(index=False, floatfmt=".0f"))
    peaks = {line["run"]: line["peak_mib"] for line in found}
    populations = [mib for name, mib in peaks.items() if name.startswith("population")]
    bounds = [
        (name, peaks[name], allowed)
        for name, allowed in (("large cohort", COHORT_LIMIT_MIB), ("binary network", BINARY_LIMIT_MIB))
        if name in peaks
    ]
    if len(populations) > 1:
        growth = max(populations) - min(populations)
        bounds.append(("populations, largest less smallest", growth, GROWTH_LIMIT_MIB))
    for what, mib, allowed in bounds:
        print(f"{'holds' if mib < allowed else 'FAILS'}: {what}: {mib:.0f} MiB, allowed below {allowed:.0f}")
    sys.exit(any(mib >= allowed for _, mib, allowed in bounds))


if __name__ == "__main__":
    main()
