"""One run by itself: what the workflow does for it in several jobs, done here in one process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedpriv.config.names import arrays_id, partition_id
from fedpriv.config.plan import Plan, load_preset
from fedpriv.config.run import Run
from fedpriv.data import source
from fedpriv.errors import BadInput
from fedpriv.train import inputs, record
from fedpriv.train.loop import train


def select_run(plan: Plan, paper: str, name: str) -> Run:
    """Return the run `name` of `paper`, or BadInput with the names there are."""
    for what, found, allowed in (("--paper", paper, plan.runs), ("--run", name, plan.runs.get(paper, {}))):
        if found not in allowed:
            raise BadInput(f"{what}: found {found}, allowed: {', '.join(allowed)}")
    return plan.runs[paper][name]


def train_run(
    config: Path, paper: str, name: str, seed: int, out: Path, resources: Path, faster: Mapping[str, Any]
) -> bool:
    """Train one run of a preset into `out`; return False if it was there already, finished.

    Data and partition are kept under `resources`; what is there of them is used. `faster` overrides keys of
    the preset's `speed`, where it is not None. Raises BadInput when `out` holds a finished run of another
    config.
    """
    plan = load_preset(config)
    run = select_run(plan, paper, name)
    speed = plan.preset.speed.model_copy(
        update={key: value for key, value in faster.items() if value is not None}
    )
    arrays_path = resources / f"{arrays_id(run)}.npz"
    partition_path = resources / "partitions" / partition_id(run) / f"seed{seed}.npz"
    fresh = record.finished(out) is None
    if fresh:
        inputs.prepare(run, resources, source.mirrors(plan.preset.mirrors), speed)
        if not partition_path.exists():
            inputs.write_partition(run, seed, arrays_path, partition_path)
    labels = plan.labels(paper, name) | {"account": run.account.model_dump()}
    # The first thing `train` does is to look at `out`: a finished run is left as it is, or refused.
    train(run, name, seed, arrays_path, partition_path, out, speed, labels)
    return fresh
