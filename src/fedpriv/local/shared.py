"""One gradient of an example for all clients that hold it.

Where a population is larger than its data, clients hold the same examples: 300 clients of 600 hold each of
the 60,000 images of MNIST three times. A round of one gradient has all of them at the same weights, so the
gradient at an example is computed once, and added to the sum of every client that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional as F

from fedpriv.local.client import Task

if TYPE_CHECKING:
    from fedpriv.local.threads import GradientEngine

NUMBERS = 1 << 26  # of the gradients that are kept at once: 256 MB
CHUNK = 496  # examples in a call of the engine, in whole vectors of 16
# To keep a gradient and to add it costs time, too. Measured with AVX2, over the time of a round without
# sharing: 0.47 with 11,000 weights and 3.2 clients an example, 0.84 with 1.6; 1.3 with 54,000 and 1.6.
LONGEST = 1 << 14  # weights
ENOUGH = 2.0  # clients that hold an example, on average


def pays(engine: GradientEngine, length: int, batches: Sequence[torch.Tensor]) -> bool:
    """Say if it is faster to share the gradients `[length]` at the rows of clients, `batches`."""
    if not engine.heavy or length > LONGEST or not batches:
        return False
    every = torch.cat([*batches])
    return len(every) >= ENOUGH * len(every.unique())


def sum_gradients(
    engine: GradientEngine,
    task: Task,
    weights: torch.Tensor,
    batches: Sequence[torch.Tensor],
    pool: Executor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sums of gradients `[clients, d]` and of losses `[clients]` at the rows of each client.

    A client's sums are in the order of the data, so they depend on its own rows alone, to the last bit.
    """
    sums = torch.zeros(len(batches), len(weights))
    losses = torch.zeros(len(batches), dtype=torch.float64)
    ordered = [rows.sort().values for rows in batches]
    for block in blocks(engine, task, weights, torch.cat(ordered).unique(), pool):
        list(pool.map(block.add, ordered, sums, losses))
    return sums, losses


class Block(NamedTuple):
    """What is known of the examples between two places of the data, of those that somebody holds."""

    rows: torch.Tensor  # [n], sorted
    gradients: torch.Tensor  # [n, d]
    losses: torch.Tensor  # [n]

    def add(self, own: torch.Tensor, total: torch.Tensor, loss: torch.Tensor) -> None:
        """Add the gradients and losses at those of a client's `own` rows, sorted, that are here; in place."""
        ends = torch.stack([self.rows[0], self.rows[-1] + 1])
        first, last = torch.searchsorted(own, ends).tolist()
        if first < last:
            places = torch.searchsorted(self.rows, own[first:last])
            total += F.embedding_bag(places[None], self.gradients, mode="sum")[0]
            loss += self.losses[places].sum()


def blocks(
    engine: GradientEngine, task: Task, weights: torch.Tensor, rows: torch.Tensor, pool: Executor
) -> Iterator[Block]:
    """Yield the sorted `rows` in blocks. Places between blocks are the same whatever the rows are.

    A block is overwritten by the next.
    """
    each = partial(engine.each, task.inputs, task.labels)
    size = min(NUMBERS // len(weights), len(task.inputs))
    kept = torch.empty(size, len(weights))
    places = torch.arange(size, len(task.inputs), size)
    for part in rows.tensor_split(torch.searchsorted(rows, places)):
        if len(part):
            gradients = kept[: len(part)]
            losses = pool.map(each, part.split(CHUNK), repeat(weights), gradients.split(CHUNK))
            yield Block(part, gradients, torch.cat([*losses]))
