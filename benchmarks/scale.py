"""Measure how the cost of a run grows: with rounds, cohort, examples, parameters, and up to 100,000 clients.

python benchmarks/scale.py --data resources/mnist.npz

Each size is a run in fresh processes: client-level DP, one gradient of dense layers a client and round, MNIST
repeated. Its seconds are fitted by a law that is linear in what must be done; the last columns say how far
each size is from it, and from a law that was fitted without it. Exit code 1 if a size is too far.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from child import ask
from contenders import ours
from laps import peak_mib
from scipy.optimize import nnls
from workload import SEED

from fedpriv.config.run import Run
from fedpriv.train import inputs

PROCESSES = 3
ALLOWED = 0.15  # of the law, that a size may be off


class Size(NamedTuple):
    """A run; `units` are those of the hidden layer."""

    clients: int = 1_000
    cohort: int = 100
    examples: int = 60
    units: int = 32
    rounds: int = 80

    @property
    def terms(self) -> tuple[float, ...]:
        """Return what the law is linear in: multiply-adds, examples read, client rounds.

        Multiply-adds are those forward and, but for the input, twice backward.
        """
        turns = float(self.rounds * self.cohort)
        once = 2 * 784 * self.units + 3 * 10 * self.units
        return turns * self.examples * once, turns * self.examples, turns


SIZES = [
    *(Size(clients=clients) for clients in (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)),
    *(Size(clients=100_000, cohort=cohort) for cohort in (300, 1_000)),
    *(Size(clients=100_000, cohort=cohort, rounds=10) for cohort in (3_000, 10_000)),
    *(Size(cohort=cohort) for cohort in (30, 300)),
    *(Size(examples=examples) for examples in (20, 180, 600)),
    *(Size(units=units) for units in (16, 128, 512)),
    Size(rounds=240),
]


def declared(size: Size) -> Run:
    return Run.model_validate(
        {
            "dataset": "mnist",
            "partition": {"law": "iid", "clients": size.clients, "examples": size.examples, "repeat": True},
            "model": {"name": "mlp", "widths": [size.units]},
            "scheme": {"name": "client_dp", "clip_l2": 1.0, "noise_multiplier": 1.0},
            "cohort": {"law": "fixed", "size": size.cohort},
            "local": {"name": "fedsgd"},
            "rounds": size.rounds,
            "evaluate_every": size.rounds,
            "probe": {"clients": 0, "panel": 0},
        }
    )


def one(data_path: Path, partition_path: Path, size: Size) -> dict[str, float]:
    """Train in this process; return the seconds of all rounds but the first, scaled to all, and the peak."""
    rows = ours.rounds(declared(size), data_path, partition_path, "scale")
    next(rows)
    started = time.perf_counter()
    others = sum(1 for _ in rows)
    seconds = time.perf_counter() - started
    return {"seconds": seconds * size.rounds / others, "peak MiB": peak_mib()}


def measured(data_path: Path, sizes: list[Size]) -> pd.DataFrame:
    """Return the sizes with the least of several processes, which take turns: others only slow a run down."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / f"{number}.npz" for number in range(len(sizes))]
        for size, place in zip(sizes, places, strict=True):
            inputs.write_partition(declared(size), SEED, data_path, place)
        turns = [
            [
                ask(sys.executable, "scale.py", "--data", data_path, "--one", place, *size)
                for size, place in zip(sizes, places, strict=True)
            ]
            for _ in range(PROCESSES)
        ]
    found = [
        {name: min(turn[number][name] for turn in turns) for name in turns[0][0]}
        for number in range(len(sizes))
    ]
    return pd.concat([pd.DataFrame(sizes), pd.DataFrame(found)], axis=1)


def law(terms: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return what one of each term costs, none below zero: the best relative fit of the seconds."""
    scale = terms.max(axis=0)
    costs, _ = nnls(terms / scale / seconds[:, None], np.ones(len(seconds)))
    return costs / scale


def left_out(terms: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return the seconds of each size by the law of all others."""
    others = ~np.eye(len(seconds), dtype=bool)
    return np.array([row @ law(terms[some], seconds[some]) for row, some in zip(terms, others, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("resources/mnist.npz"))
    # What a measured process is asked: PARTITION and a size
    parser.add_argument("--one", nargs=1 + len(Size._fields), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.data.is_file():
        parser.error(f"--data: found no file {asked.data}, allowed: mnist.npz (see benchmarks/README.md)")
    if asked.one:
        place, *size = asked.one
        print(json.dumps(one(asked.data, Path(place), Size(*map(int, size)))))
        return
    table = measured(asked.data, SIZES)
    terms, seconds = np.array([size.terms for size in SIZES]), table["seconds"].to_numpy()
    costs = law(terms, seconds)
    table["off"], table["off, left out"] = (
        seconds / (terms @ costs) - 1,
        seconds / left_out(terms, seconds) - 1,
    )
    formats = (*len(Size._fields) * (",.0f",), ".2f", ",.0f", ".2f", ".2f")
    print(table.to_markdown(index=False, floatfmt=formats))
    names = ("multiply-add", "example read", "client and round")
    for name, cost in zip(names, costs, strict=True):
        print(f"{name}: {1e9 * cost:.3g} ns")
    farthest = table["off, left out"].abs().max()
    verdict = "holds" if farthest < ALLOWED else "FAILS"
    print(f"{verdict}: off the law by {farthest:.1%} at most, allowed below {ALLOWED:.0%}")
    sys.exit(farthest >= ALLOWED)


if __name__ == "__main__":
    main()
