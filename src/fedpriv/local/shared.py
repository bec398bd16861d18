"""One gradient of an example for all clients that hold it.

Where a population is larger than its data, clients hold the same examples: 300 clients of 600 draw each of
the 60,000 images of MNIST three times. With one gradient a round all of them are at the same weights, so
each is computed once and added to the sum of every client that holds the example.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from fedpriv.local.client import Task

if TYPE_CHECKING:
    from fedpriv.local.threads import GradientEngine

NUMBERS = 1 << 26  # of all gradients that are kept at once: 256 MB
LONGEST = NUMBERS // 1024  # weights; of more too few examples fit
CHUNK = 496  # examples in a call of the engine, in whole vectors of 16
ENOUGH = 1.5  # clients that hold an example, on average: a gradient by itself costs a little more


def pays(engine: GradientEngine, length: int, batches: Sequence[torch.Tensor]) -> bool:
    """Say if clients with these rows of the data are worked through faster so, at `length` weights."""
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
    """Return the sums of gradients `[clients, d]` and losses `[clients]`, of each client over its rows.

    The data are worked through in blocks, each in its order, so what a client has depends on its rows alone.
    """
    sums, losses = torch.zeros(len(batches), len(weights)), torch.zeros(len(batches), dtype=torch.float64)
    ordered = [rows.sort().values for rows in batches]
    every = torch.cat(ordered).unique()
    each = partial(engine.each, task.inputs, task.labels)
    block = min(NUMBERS // len(weights), len(task.inputs))
    kept = torch.empty(block, len(weights))
    for start in range(0, len(task.inputs), block):
        ends = torch.tensor([start, start + block])
        rows = between(every, ends)
        parts, gradients = rows.split(CHUNK), kept[: len(rows)]
        own = [*pool.map(each, parts, repeat(weights), gradients.split(CHUNK))]
        add = partial(_add, rows, gradients, torch.cat(own), ends)
        list(pool.map(add, ordered, sums, losses))
    return sums, losses


def between(rows: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Return those of sorted rows that are from the first end to before the second."""
    first, last = torch.searchsorted(rows, ends).tolist()
    return rows[first:last]


def _add(
    rows: torch.Tensor,
    gradients: torch.Tensor,
    each_loss: torch.Tensor,
    ends: torch.Tensor,
    own: torch.Tensor,
    total: torch.Tensor,
    loss: torch.Tensor,
) -> None:
    """Add to one client's sums what it holds of a block, whose `rows` have these gradients and losses."""
    places = torch.searchsorted(rows, between(own, ends))
    if len(places):
        total += F.embedding_bag(places[None], gradients, mode="sum")[0]
        loss += each_loss[places].sum()
