"""Who is raced, and how; the benchmarks name them by the keys of `ENTRIES`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from child import Failed, ask


class Entry(NamedTuple):
    """A contender with the settings it is raced in; `others` run under the other interpreter."""

    label: str
    contender: str
    others: bool = False
    dtype: str = "float32"
    environment: Mapping[str, str] = {}
    races: tuple[str, ...] = ("w1", "w2")  # the workloads it takes part in
    instead: str = ""  # the workload that it works on there; its figures stand beside the race

    @property
    def ours(self) -> bool:
        return self.contender == "ours"

    def ask(self, workload: str, python_others: str, *options: Any, minutes: float = 60) -> dict[str, Any]:
        """Return what `contend.py` says of this contender; raises Failed if it cannot run."""
        python = python_others if self.others else sys.executable
        asked = ("contend.py", self.instead or workload, self.contender, "--dtype", self.dtype, *options)
        found = ask(python, *asked, environment=self.environment, minutes=minutes)
        if "left_out" in found:
            raise Failed(found["left_out"])
        return found


ENTRIES = {
    "plain": Entry("plain loop, a deep copy for each client", "plain"),
    "flower": Entry("Flower simulation, one actor a core", "flower", others=True),
    "pfl": Entry("pfl-research, one process", "pfl", others=True),
    "pfl-two": Entry("pfl-research, two processes", "pfl_two", others=True, races=("w2",)),
    "fedlab": Entry("FedLab, serial trainer", "fedlab", others=True, races=("w2",)),
    "ours": Entry("fedpriv", "ours"),
    "ours-bf16": Entry("fedpriv, bfloat16 arithmetic", "ours", dtype="bfloat16"),
    "ours-no-native": Entry(
        "fedpriv, without its native kernels", "ours", environment={"FEDPRIV_NATIVE": "0"}
    ),
    "ours-bnn": Entry("fedpriv, a binary network", "ours", races=("w2",), instead="bnn"),
}
