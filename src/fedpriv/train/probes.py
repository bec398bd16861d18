"""What a round writes down so that others can measure it: distances, neighbours, canaries.

- distances of clients, and of examples, for the Bayesian accountant;
- two data sets of a client that differ in one example: how far apart what it sends is, whenever it comes;
- canaries: clients without data who send random directions as long as may be, to attack a sum. Whether a
  canary takes part at all is a coin of its own, whether it comes in a round the same law as of every
  client. All of it is drawn from streams of its own, and means are still divided by the public number of
  clients: a run without canaries is not touched.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.local.client import Client, ClientResults, Task
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.gaussian import distances, sample_positions, upload_distance
from fedpriv.mechanisms.private_gradient import PrivateGradient
from fedpriv.schemes.base import RoundContext
from fedpriv.streams import Streams
from fedpriv.trace import DISTANCES, Facts
from fedpriv.train.record import RoundState, initial_weights


def record_instance_distances(
    state: RoundState, private_gradient: PrivateGradient, results: ClientResults, size: int, steps: int
) -> Facts:
    """Append the cohort's leave-one-out distances `[steps, size, samples]`; return what was clipped."""
    for name in DISTANCES if private_gradient.samples else ():
        nobody = np.empty((steps, 0, private_gradient.samples), dtype=np.float32)
        rows = results.distances.get(name, nobody)[:, :size]
        state.samples.setdefault(f"instance_{name}", []).append(rows)
    shares = results.share_clipped[:size]
    return {"share_clipped": float(shares.mean()) if shares.size else 0.0}


def record_client_distances(
    run: Run,
    state: RoundState,
    bounded: Bounded,
    outsiders: torch.Tensor,
    members: np.ndarray,
    panel: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Append this round's distances to `state`: of a sample of the cohort, and of the panel.

    `outsiders` are the updates of panel members that were not drawn, the last of `members`; they are
    measured as they would have been bounded had they been drawn.
    """
    size = len(bounded.updates)
    everyone = bounded.updates
    if len(outsiders):
        everyone = torch.cat([everyone, clip(outsiders, bounded.l2)[0].updates])
    drawn = sample_positions(size, run.probe.clients, rng)
    followed = np.array([np.flatnonzero(members == client)[0] for client in panel], dtype=np.int64)
    for prefix, positions in (("", drawn), ("panel_", followed)):
        for name, values in distances(everyone, size, positions).items():
            if name in run.scheme.measures:
                state.samples.setdefault(prefix + name, []).append(values)


FOLLOWED = 0  # the client that works again, with the same coins on neighbouring data


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
    replacement = other.nonzero()[:1, 0]
    return client._replace(rows=torch.cat([replacement, rows[len(replacement) :]]).cpu().numpy())


def neighbours_distance(
    run: Run, cohort: np.ndarray, rows: torch.Tensor, others: torch.Tensor, context: RoundContext
) -> Facts:
    """Distance of what is sent of neighbouring data, `others` `[0 or 1, p]`, from the client's row."""
    if not len(others):
        return {}
    own = rows[torch.from_numpy(np.flatnonzero(cohort == FOLLOWED))]
    both, _ = run.scheme.bound(torch.cat([own, others]), context)
    return {"neighbours_apart": upload_distance(both.updates)}


@lru_cache(maxsize=1)  # of the one run that this process trains
def directions(streams: Streams, canaries: int, length: int) -> torch.Tensor:
    """Return random unit vectors `[canaries, length]`, the same in all rounds."""
    rows = torch.from_numpy(streams.numpy("canaries").standard_normal((canaries, length), dtype=np.float32))
    return rows / rows.norm(dim=1, keepdim=True)


def canaries_in_run(run: Run, streams: Streams) -> np.ndarray:
    """Canaries that take part, bool `[canaries]`: a coin each."""
    assert run.canaries
    return streams.numpy("canary_coins").random(run.canaries.clients) < run.canaries.included


def canaries_in_round(run: Run, streams: Streams, round_number: int) -> torch.Tensor:
    """Numbers of the canaries that come in a round: those that take part and are drawn."""
    assert run.canaries
    drawn = run.cohort.draw(run.canaries.clients, streams.numpy("canary_cohort", round_number))
    return torch.from_numpy(drawn[canaries_in_run(run, streams)[drawn]])


def with_canaries(run: Run, rows: torch.Tensor, streams: Streams, round_number: int) -> torch.Tensor:
    """Return the rows `[n, p]` and below them those of the canaries that come; without canaries the rows."""
    if not run.canaries:
        return rows
    sent = directions(streams, run.canaries.clients, rows.shape[1])[
        canaries_in_round(run, streams, round_number)
    ]
    return torch.cat([rows, clip_of(run) * sent.to(rows)])


def record_canaries(
    run: Run, state: RoundState, total: torch.Tensor, others: torch.Tensor, streams: Streams
) -> None:
    """Append what a round's noisy sum `total` `[p]` shows of every canary, and who takes part.

    In units of the bound, to an attacker who knows what everybody else sent: the rows `others` `[n, p]` of
    the real clients and those of the other canaries are subtracted, or their gradients, alike in all rounds,
    would drown it. To three digits: what is said of a release spends nothing and an attacker loses nothing
    beside the noise, while the digits of noise are what a kept run's file would mostly be.
    """
    if not run.canaries:
        return
    of_all = directions(streams, run.canaries.clients, len(total)).to(total)
    came = canaries_in_round(run, streams, state.round + 1)
    seen = of_all @ ((total - others.sum(0)) / clip_of(run) - of_all[came].sum(0))
    seen[came] += of_all[came].square().sum(1)  # each is no other of itself
    state.samples.setdefault("canary_seen", []).append(seen.bfloat16().float().cpu().numpy())
    state.samples.setdefault("canary_included", []).append(canaries_in_run(run, streams).astype(np.float32))


def record_canaries_of_the_model(run: Run, state: RoundState, task: Task, streams: Streams) -> None:
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
