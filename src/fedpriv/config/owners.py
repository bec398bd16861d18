"""How many clients are `all` of them: looked up when a run is planned, so that its config has the number."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedpriv.data import DATASETS, arrays
from fedpriv.data.own import OWN, Npz, owners
from fedpriv.errors import plain
from fedpriv.frozen import choice_error
from fedpriv.streams import Streams

ALL = "all"


def counted(told: Any) -> Any:
    """Return what a run says with a number in place of `clients: all`: as many as there are owners.

    Counted are owners of the training examples, those with `min_examples` or more, without what `validation`
    sets aside. Where nobody can count them, all is a choice_error.
    """
    law = told.get("partition") if isinstance(told, Mapping) else None
    if not isinstance(law, Mapping) or law.get("clients") != ALL:
        return told
    if law.get("law") != "natural":
        raise choice_error("partition.clients", [ALL], "a number, or all with law natural")
    found = number(told.get("dataset"), law.get("min_examples", 1), told.get("validation", 0))
    return {**told, "partition": {**law, "clients": found}}


def number(dataset: Any, least: Any, validation: Any) -> int:
    """Return how many owners have `least` training examples or more when `validation` are set aside."""
    where = "partition.clients"
    if isinstance(dataset, Mapping) and "npz" in dataset:
        dataset = OWN["npz"](dataset)
    if isinstance(dataset, Npz):
        owner = owners(Path(dataset.npz))
        if validation and isinstance(validation, int):
            n = len(owner)
            whole = arrays.Arrays(owner, np.zeros(n, np.int64), owner, owner, 1, owner=owner)
            owner = arrays.hold_out(whole, validation, Streams(0, dataset.name).numpy("validation")).owner
        sizes = np.unique(owner, return_counts=True)[1]
        return int((sizes >= least).sum()) if isinstance(least, int) else len(sizes)
    known = DATASETS.get(dataset) if isinstance(dataset, str) else None
    writers = int(known.writers) if known else 0
    if writers and least == 1 and not validation:
        return writers
    if writers:
        raise choice_error(where, [ALL], f"a number; all with min_examples 1 and no validation: {writers:,}")
    raise choice_error(where, [ALL], f"a number, for nobody knows the owners in {plain(dataset)}")
