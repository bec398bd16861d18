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
from fedpriv.local.client import Task
from fedpriv.streams import Streams
from fedpriv.train.state import RoundState, initial_weights


@lru_cache(maxsize=1)  # of the one run that this process trains
def directions(streams: Streams, canaries: int, length: int) -> torch.Tensor:
    """Return random unit vectors `[canaries, length]`, the same in all rounds."""
    rows = torch.from_numpy(streams.numpy("canaries").standard_normal((canaries, length), dtype=np.float32))
    return rows / rows.norm(dim=1, keepdim=True)


def included(run: Run, streams: Streams) -> np.ndarray:
    """Return which canaries take part, bool `[canaries]`: a coin each."""
    assert run.canaries
    return streams.numpy("canary_coins").random(run.canaries.clients) < run.canaries.included


def coming(run: Run, streams: Streams, round: int) -> torch.Tensor:
    """Return which canaries come in a round: those that take part and are drawn."""
    assert run.canaries
    drawn = run.cohort.draw(run.canaries.clients, streams.numpy("canary_cohort", round))
    return torch.from_numpy(drawn[included(run, streams)[drawn]])


def joined(run: Run, rows: torch.Tensor, streams: Streams, round: int) -> torch.Tensor:
    """Return the rows `[n, p]` and below them those of the canaries that come; without canaries the rows."""
    if not run.canaries:
        return rows
    sent = directions(streams, run.canaries.clients, rows.shape[1])[coming(run, streams, round)]
    return torch.cat([rows, clip_of(run) * sent.to(rows)])


def record(run: Run, state: RoundState, total: torch.Tensor, others: torch.Tensor, streams: Streams) -> None:
    """Append what a round's noisy sum `total` `[p]` shows of every canary, and who takes part.

    In units of the bound, to an attacker who knows what everybody else sent: the rows `others` `[n, p]` of
    the real clients and those of the other canaries are subtracted, or their gradients, alike in all rounds,
    would drown it. To three digits: what is said of a release spends nothing and an attacker loses nothing
    beside the noise, while the digits of noise are what a kept run's file would mostly be.
    """
    if not run.canaries:
        return
    of_all = directions(streams, run.canaries.clients, len(total)).to(total)
    came = coming(run, streams, state.round + 1)
    seen = of_all @ ((total - others.sum(0)) / clip_of(run) - of_all[came].sum(0))
    seen[came] += of_all[came].square().sum(1)  # each is no other of itself
    state.samples.setdefault("canary_seen", []).append(seen.bfloat16().float().cpu().numpy())
    state.samples.setdefault("canary_included", []).append(included(run, streams).astype(np.float32))


def record_end(run: Run, state: RoundState, task: Task, streams: Streams) -> None:
    """Append what the model alone shows when all is over: every canary's cosine with its whole change."""
    if not run.canaries:
        return
    change = (state.model - initial_weights(run, task, streams))[: task.layout.protected]
    of_all = directions(streams, run.canaries.clients, len(change)).to(change)
    cosines = of_all @ (change / change.norm().clamp(min=1e-30))
    state.samples["canary_cosines"] = [cosines.float().cpu().numpy()]


def clip_of(run: Run) -> float:
    """Return the bound of the one scheme that may have canaries."""
    from fedpriv.schemes import ClientDP

    assert isinstance(run.scheme, ClientDP)
    return run.scheme.clip_l2
