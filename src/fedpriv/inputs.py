"""What a run trains on, the same whether Snakemake or `fedpriv run` asks: its arrays and its partition."""

from __future__ import annotations

import json
from pathlib import Path

from fedpriv import partition
from fedpriv.config import Run
from fedpriv.data import arrays
from fedpriv.streams import Streams


def arrays_for(run: Run, path: Path) -> arrays.Arrays:
    """Return the dataset in `path`, with `run.validation` training examples in place of the test split.

    The validation split is the same for every run and seed, and the official test split is not touched.
    """
    data = arrays.load(path)
    if not run.validation:
        return data
    return arrays.hold_out(data, run.validation, Streams(0, run.dataset).numpy("validation"))


def partition_for(run: Run, data: arrays.Arrays, seed: int) -> partition.Partition:
    """Return who holds what; runs that share dataset, validation split, law and seed share it."""
    shared = json.dumps([run.dataset, run.validation, run.partition.model_dump(mode="json")])
    return run.partition.split(data.y_train, Streams(seed, shared).numpy("partition"))


def write_partition(run: Run, seed: int, arrays_path: Path, out: Path) -> Path:
    """Write the run's partition to `out`, atomically."""
    return partition.save(out, partition_for(run, arrays_for(run, arrays_path), seed))
