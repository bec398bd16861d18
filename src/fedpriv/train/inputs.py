"""What a run trains on, the same whether Snakemake or `fedpriv run` asks: its arrays and its partition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedpriv import data, partition
from fedpriv.config.plan import arrays_id
from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.data.own import Npz
from fedpriv.errors import BadInput
from fedpriv.local.work import Speed
from fedpriv.models.base import Features
from fedpriv.streams import Streams


def prepare(run: Run, resources: Path, mirrors: Sequence[str], speed: Speed) -> Path:
    """Return the file of the run's arrays, resources/<arrays_id>.npz, making what is not there yet."""
    out = resources / f"{arrays_id(run)}.npz"
    if not out.exists():
        made = data.prepare_arrays(run.dataset, resources, mirrors)
        if made != out:
            write_features(run, made, out, speed)
    return out


def write_features(run: Run, listed: Path, out: Path, speed: Speed) -> Path:
    """Write the features of the run's data, images in the file `listed` or photographs in it, to `out`."""
    source = Features(
        listed,
        dataset=run.data,
        photos=run.photos,
        own=run.dataset if isinstance(run.dataset, Npz) else None,
        alone=run.learn_from == "public",
        device=speed.device,
        threads=speed.threads,
    )
    return run.model.write_features(source, out)


def arrays_for(run: Run, path: Path) -> arrays.Arrays:
    """Return the arrays in `path`, with `run.validation` training images in place of the test split.

    The validation split is the same for every run and seed, and the official test split is not touched.
    """
    dataset = arrays.load(path)
    if not run.validation:
        return dataset
    return arrays.hold_out(dataset, run.validation, Streams(0, run.data).numpy("validation"))


def partition_for(run: Run, dataset: arrays.Arrays, seed: int) -> partition.Partition:
    """Partition of the training examples; runs that share dataset, validation split, law and seed share it.

    Original images are dealt, each with all its copies: none is at two clients unless the law repeats.
    The law's numbers of examples count copies; a remainder that is less than an image is left out. With
    `deal: copies` every copy is dealt by itself. A law that deals writers is BadInput where nobody knows
    them, and so is one that goes by classes where examples have none, or many.
    """
    check_deals(run, dataset)
    rng, copies = Streams(seed, shared_law(run)).numpy("partition"), dataset.copies
    if copies == 1 or run.partition.deal == "copies":
        return run.partition.split(dataset.y_train, rng, dataset.owner)
    try:
        law = image_law(run.partition, copies)
        dealt = law.split(dataset.y_train[::copies], rng, dataset.owner[::copies])
    except BadInput as error:
        raise BadInput(f"{error}; counted in images, of which every one stands for {copies} copies") from None
    indices = (dealt.indices[:, None] * copies + np.arange(copies, dtype=np.int32)).ravel()
    return partition.Partition(indices, dealt.offsets * copies)


def check_deals(run: Run, dataset: arrays.Arrays) -> None:
    """Raise BadInput where the law deals by what the examples do not have: writers, or a class each."""
    lacks = {
        "by_owner": "of which nobody knows the writers" if not len(dataset.owner) else "",
        "by_label": "whose examples have no one class each" if without_class(dataset.y_train) else "",
    }
    for need, lack in lacks.items():
        if lack and getattr(run.partition, need):
            laws = sorted(name for name, law in partition.PARTITIONS.items() if not getattr(law, need))
            law = getattr(run.partition, "law", "")
            raise BadInput(
                f"partition.law: found {law} with dataset {run.data}, {lack}, allowed: {', '.join(laws)}"
            )


def without_class(labels: np.ndarray) -> bool:
    """Return True where examples have no one class each: several labels, or a number to be predicted."""
    return labels.ndim > 1 or labels.dtype.kind == "f"


def shared_law(run: Run) -> str:
    """Name of the law by which examples go to clients, the same for runs that share a partition."""
    return json.dumps([run.data, run.validation, run.partition.model_dump(mode="json")])


def partition_mark(run: Run, dataset: arrays.Arrays, seed: int) -> str:
    """Mark of the file of a run's partition at a seed: its law, and how much there was to deal."""
    return f"{shared_law(run)} of {len(dataset.y_train)} examples, seed {seed}"


def load_partition(run: Run, dataset: arrays.Arrays, seed: int, path: Path) -> partition.Partition:
    """Return the partition that `write_partition` wrote; that of another run, data or seed is BadInput."""
    return partition.load_partition(path, partition_mark(run, dataset, seed))


def image_law(law: partition.PartitionLaw, copies: int) -> partition.PartitionLaw:
    """Return the law with its numbers of examples as numbers of images; less than one image is BadInput."""
    images = {}
    for key in ("examples", "shard_examples"):
        examples = getattr(law, key, None)
        if examples is not None:
            images[key] = examples // copies
            if examples < copies:
                raise BadInput(f"partition.{key}: found {examples}, allowed: at least {copies}, one image")
    return law.model_copy(update=images)


def write_partition(run: Run, seed: int, arrays_path: Path, out: Path) -> Path:
    """Write the run's partition to `out`, atomically."""
    dataset = arrays_for(run, arrays_path)
    dealt = partition_for(run, dataset, seed)
    return partition.save_partition(out, dealt, partition_mark(run, dataset, seed))
