"""Who is raced, and how; the benchmarks name them by the keys of `ENTRIES`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from child import HERE, Failed, ask


class Entry(NamedTuple):
    """A contender with the settings it is raced in; `others` run under the other interpreter."""

    label: str
    contender: str
    others: bool = False
    dtype: str = "float32"
    environment: Mapping[str, str] = {}
    races: tuple[str, ...] = ("w1", "w2", "w4", "w6")  # the workloads it takes part in
    instead: str = ""  # the workload that it works on there; its figures stand beside the race

    @property
    def ours(self) -> bool:
        return self.contender in ("ours", "checkout")

    def ask(self, workload: str, python_others: str, *options: Any, minutes: float = 60) -> dict[str, Any]:
        """Return what `contend.py` says of this contender; raises Failed if it cannot run."""
        python = python_others if self.others else sys.executable
        asked = ("contend.py", self.instead or workload, self.contender, "--dtype", self.dtype, *options)
        found = ask(python, *asked, environment=self.environment, minutes=minutes)
        if "left_out" in found:
            raise Failed(found["left_out"])
        return found


PAPERS = ("w4", "w5", "w5-dpsgd", "w6")  # rounds of the paper's own runs
EVERY = ("w1", "w2", *PAPERS)


def checkout(label: str, folder: Path) -> Entry:
    """Return fedpriv as it is in `folder`, started as its users start it."""
    return Entry(label, "checkout", environment={"RACED_CHECKOUT": str(folder)}, races=PAPERS)


ENTRIES = {
    "plain": Entry("plain loop, a deep copy for each client", "plain", races=EVERY),
    "flower": Entry("Flower simulation, one actor a core", "flower", others=True),
    "pfl": Entry("pfl-research, one process", "pfl", others=True),
    "pfl-two": Entry("pfl-research, two processes", "pfl_two", others=True, races=("w2",)),
    "fedlab": Entry("FedLab, serial trainer", "fedlab", others=True, races=("w2",)),
    "opacus": Entry("plain loop, Opacus's hooks", "opacus", races=("w5-dpsgd",)),
    "opacus-ghost": Entry("plain loop, Opacus's ghost clipping", "opacus_ghost", races=("w5-dpsgd",)),
    "two-pass": Entry("plain loop, two passes with torch.func", "two_pass", races=("w5-dpsgd",)),
    "vmap": Entry("torch.func.vmap over clients, by hand", "vmap_by_hand"),
    "jax": Entry("JAX, jit of vmap over clients, by hand", "jax_by_hand", others=True),
    "ours": Entry("fedpriv", "ours", races=EVERY),
    "ours-bf16": Entry("fedpriv, bfloat16 arithmetic", "ours", dtype="bfloat16", races=EVERY),
    "ours-no-native": Entry(
        "fedpriv, without its native kernels", "ours", environment={"FEDPRIV_NATIVE": "0"}, races=EVERY
    ),
    "ours-bnn": Entry("fedpriv, a binary network", "ours", races=("w2",), instead="bnn"),
    "ours-run": checkout("fedpriv, as `fedpriv run`", HERE.parent),
}
