"""Two data sets of a client that differ in one example: how far apart what it sends is, whenever it comes."""

from __future__ import annotations

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.local.client import Client
from fedpriv.mechanisms.distances import apart
from fedpriv.schemes.base import RoundContext
from fedpriv.trace import Facts

FOLLOWED = 0  # the client


def followed(run: Run, cohort: np.ndarray) -> np.ndarray:
    """Return who is to work once more, with the same coins on neighbouring data: one client, or nobody."""
    return cohort[cohort == FOLLOWED] if run.probe.neighbours else cohort[:0]


def neighbour(client: Client, labels: torch.Tensor) -> Client:
    """Return the client with its first example replaced by one of another class that it does not hold.

    Where there is none, or it holds nothing, it is its own neighbour.
    """
    if not len(client.rows):
        return client
    rows = torch.from_numpy(client.rows).to(labels.device)
    other = labels != labels[rows[0]]
    other = other.flatten(1).any(1) if other.dim() > 1 else other
    other[rows] = False
    found = other.nonzero()[:1, 0]
    return client._replace(rows=torch.cat([found, rows[len(found) :]]).cpu().numpy())


def measured(
    run: Run, cohort: np.ndarray, rows: torch.Tensor, others: torch.Tensor, context: RoundContext
) -> Facts:
    """Return how far what is sent of neighbouring data, `others` `[0 or 1, p]`, is from the client's row."""
    if not len(others):
        return {}
    own = rows[torch.from_numpy(np.flatnonzero(cohort == FOLLOWED))]
    both, _ = run.scheme.bound(torch.cat([own, others]), context)
    return {"neighbours_apart": apart(both.updates)}
