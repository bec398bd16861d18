"""Whether a run fits into memory: what its largest arrays take at the least."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedpriv.config.run import Run

LARGEST = 2**38  # bytes of one array, 256 GiB


def too_large(run: Run) -> str:
    """Return which keys ask for an array that fits nowhere, with what was found, or the empty string."""
    clients, steps = run.partition.clients, run.local.noisy_steps or 0
    cohort = min(run.cohort.expected(clients) + run.probe.panel, clients)
    held = clients if run.local.keeps_clients else cohort
    arrays = {
        "partition.clients, partition.examples": 4 * clients * run.partition.each,
        "model.widths, partition.clients, cohort": 4 * held * run.model.size(classes=1),
        "scheme.distances, rounds, local.steps, cohort": (
            4 * run.rounds * steps * cohort * getattr(run.scheme, "distances", 0)
        ),
    }
    for keys, size in arrays.items():
        if size > LARGEST:
            gib = 2**30
            return f"{keys}: found {size / gib:,.0f} GiB in one array, allowed: at most {LARGEST // gib} GiB"
    return ""
