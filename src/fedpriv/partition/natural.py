"""Every client is a writer, with what that writer wrote."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from fedpriv.data.arrays import NOBODY
from fedpriv.errors import BadInput
from fedpriv.frozen import Count, Millions
from fedpriv.partition.base import PartitionLaw
from fedpriv.partition.dealt import Partition

NUMBER_OR_ALL = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10**6}, {"const": "all"}]}


class Natural(PartitionLaw):
    """Writers drawn without replacement, each with all its examples, or `examples` random ones of them.

    `clients: all` is every writer that has enough; the run that says so has their number instead of it.

    Who is drawn does not depend on `examples`; a writer who has fewer than that holds them all.

    DEVIATION: FederatedScope's `subsample: .05` keeps two of LEAF's 36 files of FEMNIST, about 200 writers;
    we draw as many writers. It then tests on these writers' examples, we on the whole test split.
    """

    law: Literal["natural"] = "natural"
    clients: Annotated[Millions, WithJsonSchema(NUMBER_OR_ALL)]
    """Who hold data, sampled in a round or not; `all` is every writer."""
    min_examples: Count = 1
    """Of a writer to be sampled."""
    by_owner: ClassVar[bool] = True

    @model_validator(mode="after")
    def _once(self) -> "Natural":
        if self.repeat:
            raise PydanticCustomError("choice", "repeat: found true, allowed: false, a writer is one client")
        return self

    def split(self, labels: np.ndarray, rng: np.random.Generator, owners: np.ndarray = NOBODY) -> Partition:
        writers, counts = np.unique(owners, return_counts=True)
        enough = writers[counts >= self.min_examples]
        if self.clients > len(enough):
            raise BadInput(
                f"partition.clients: found {self.clients}, allowed: at most {len(enough)} (of {len(writers)} "
                f"owners, those with min_examples: {self.min_examples} or more)"
            )
        drawn = rng.choice(enough, self.clients, replace=False)
        by_owner = np.argsort(owners, kind="stable").astype(np.int32)
        starts, ends = (np.searchsorted(owners[by_owner], drawn, side) for side in ("left", "right"))
        held = [
            rng.permutation(by_owner[start:end])[: self.examples]
            for start, end in zip(starts, ends, strict=True)
        ]
        return Partition(np.concatenate(held), np.cumsum([0, *map(len, held)]))
