"""What a contender did, how long it took and in how much memory. Linux only: memory is in /proc."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workload import EVALUATE_EVERY, Workload


class Laps:
    """Counts the rounds of one contender, has it evaluate when it is due, and takes the time.

    The clock starts at the end of the warm-up and stops at the end of the last round, evaluations included.
    What a contender reports of its updates is kept, so that equal work can be checked.
    """

    def __init__(self, workload: Workload, rounds: int) -> None:
        self.warm_up, self.rounds, self.round = workload.warm_up, rounds, 0
        self.seconds = self._started = 0.0
        self.accuracies: list[float] = []  # at the end of the warm-up, then at every evaluation
        self.norms = math.inf, -math.inf  # least and largest of an update after clipping, in the warm-up
        self.examples: list[list[int]] = [[]]  # of each client, by round

    @property
    def total(self) -> int:
        return self.warm_up + self.rounds

    @property
    def warming(self) -> bool:
        return self.round < self.warm_up

    def update(self, examples: int) -> None:
        """Note that a client of the current round has worked through `examples`."""
        self.examples[-1].append(examples)

    def norm(self, norm: float) -> None:
        """Note the norm of an update after clipping."""
        self.norms = min(self.norms[0], norm), max(self.norms[1], norm)

    def after_round(self, evaluate: Callable[[], float]) -> None:
        """End a round; `evaluate` returns the accuracy on the test images and is called only if it is due."""
        self.round += 1
        self.examples.append([])
        timed = self.round - self.warm_up
        if timed >= 0 and timed % EVALUATE_EVERY == 0:
            self.accuracies.append(evaluate())
        if timed == 0:
            self._started = time.perf_counter()
        if timed == self.rounds:
            self.seconds = time.perf_counter() - self._started

    def report(self) -> dict[str, Any]:
        """Return what was done and how long it took, as plain data."""
        done = self.examples[: self.round]
        return {
            "rounds": self.rounds,
            "seconds": self.seconds,
            "clients": sorted({len(sizes) for sizes in done}),
            "examples": sorted({size for sizes in done for size in sizes}),
            "norms": list(self.norms),
            "accuracies": self.accuracies,
        }


def peak_mib() -> float:
    """Return the largest resident memory of this process since it started, MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) / 1024
