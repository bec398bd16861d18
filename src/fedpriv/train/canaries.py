"""Canaries: clients without data who send random directions as long as may be, to attack a sum.

Whether a canary takes part at all is a coin of its own, whether it comes in a round the same law as of every
client. All of it is drawn from streams of its own, and means are still divided by the public number of
clients: a run without canaries is not touched.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.streams import Streams
from fedpriv.train.state import RoundState


@lru_cache(maxsize=1)  # of the one run that this process trains
def directions(streams: Streams, canaries: int, length: int) -> torch.Tensor:
    """Return random unit vectors `[canaries, length]`, the same in all rounds."""
    rows = torch.from_numpy(streams.numpy("canaries").standard_normal((canaries, length), dtype=np.float32))
    return rows / rows.norm(dim=1, keepdim=True)


def included(run: Run, streams: Streams) -> np.ndarray:
    """Return which canaries take part, bool `[canaries]`: a coin each."""
    assert run.canaries
    return streams.numpy("canary_coins").random(run.canaries.clients) < run.canaries.included


def joined(run: Run, rows: torch.Tensor, streams: Streams, round: int) -> torch.Tensor:
    """Return the rows `[n, p]` and below them those of the canaries that come; without canaries the rows."""
    if not run.canaries:
        return rows
    drawn = run.cohort.draw(run.canaries.clients, streams.numpy("canary_cohort", round))
    coming = drawn[included(run, streams)[drawn]]
    sent = directions(streams, run.canaries.clients, rows.shape[1])[torch.from_numpy(coming)]
    return torch.cat([rows, clip_of(run) * sent.to(rows)])


def record(run: Run, state: RoundState, mean: torch.Tensor, expected: float, streams: Streams) -> None:
    """Append what a round's noisy sum shows of every canary, in units of the bound, and who takes part."""
    if not run.canaries:
        return
    of_all = directions(streams, run.canaries.clients, len(mean)).to(mean)
    seen = (of_all @ mean) * (expected / clip_of(run))
    state.samples.setdefault("canary_seen", []).append(seen.float().cpu().numpy())
    state.samples.setdefault("canary_included", []).append(included(run, streams).astype(np.float32))


def clip_of(run: Run) -> float:
    """Return the bound of the one scheme that may have canaries."""
    from fedpriv.schemes import ClientDP

    assert isinstance(run.scheme, ClientDP)
    return run.scheme.clip_l2
