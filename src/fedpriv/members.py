"""Who works in a round and with what, and what they take from the server when it is over."""

from __future__ import annotations

import numpy as np

from fedpriv import partition
from fedpriv.config import Run
from fedpriv.local import Client, Kept
from fedpriv.models.flat import Layout
from fedpriv.optimiser import Memory
from fedpriv.resume import RoundState
from fedpriv.schemes.private_gradient import PrivateGradient
from fedpriv.streams import Streams


def working(
    run: Run,
    clients: partition.Partition,
    members: np.ndarray,
    size: int,
    streams: Streams,
    state: RoundState,
    how: PrivateGradient | None,
) -> list[Client]:
    """Return the members of a round, each with its own streams and with what it has kept.

    Those after the first `size` were not drawn: they work on copies.
    """
    round, device = state.round + 1, state.flat.device
    stochastic = getattr(run.model, "sign", "") == "stochastic"
    return [
        Client(
            clients.client(one),
            streams.numpy("batches", round, int(one)),
            streams.noise("instance", round, int(one), device) if how else None,
            streams.numpy("signs", round, int(one)) if stochastic else None,
            own(state.clients, int(one), copied=place >= size) if state.clients else None,
        )
        for place, one in enumerate(members)
    ]


def own(everyone: Kept, client: int, copied: bool) -> Kept:
    """Return what one client has kept, as views of what everyone has, or copied."""
    weights, *memory = (
        part[client].clone() if copied else part[client]
        for part in (everyone.weights, *vars(everyone.memory).values())
    )
    return Kept(weights, Memory(*memory))


def receive(run: Run, state: RoundState, layout: Layout) -> None:
    """Let persistent clients take the server's weights: β of the protected, all of the clear ones."""
    if not state.clients or run.local.name != "fedavg":
        return
    weights, end = state.clients.weights, layout.protected + layout.clear
    weights[:, : layout.protected].lerp_(state.flat[: layout.protected], run.local.mixing)
    weights[:, layout.protected : end] = state.flat[layout.protected : end]
