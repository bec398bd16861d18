"""What a round writes down for the Bayesian accountant: distances of clients, and of examples."""

from __future__ import annotations

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.local.client import ClientResults
from fedpriv.mechanisms.clipping import Bounded, clip
from fedpriv.mechanisms.distances import distances, sample_positions
from fedpriv.mechanisms.private_gradient import PrivateGradient
from fedpriv.trace import DISTANCES, Facts
from fedpriv.train.state import RoundState


def record_instance_distances(
    state: RoundState, private_gradient: PrivateGradient, results: ClientResults, size: int, steps: int
) -> Facts:
    """Append the cohort's leave-one-out distances `[steps, size, samples]`; return what was clipped."""
    for name in DISTANCES if private_gradient.samples else ():
        nobody = np.empty((steps, 0, private_gradient.samples), dtype=np.float32)
        found = results.distances.get(name, nobody)[:, :size]
        state.samples.setdefault(f"instance_{name}", []).append(found)
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
    followed = np.array([np.flatnonzero(members == one)[0] for one in panel], dtype=np.int64)
    for prefix, positions in (("", drawn), ("panel_", followed)):
        for name, values in distances(everyone, size, positions).items():
            if name in run.scheme.measures:
                state.samples.setdefault(prefix + name, []).append(values)
