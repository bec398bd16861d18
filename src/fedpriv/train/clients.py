"""Who works in a round and with what, and what they take from the server when it is over."""

from __future__ import annotations

import numpy as np

from fedpriv import partition
from fedpriv.config.run import Run
from fedpriv.local.client import Client, ClientState
from fedpriv.local.optimiser import OptimizerState
from fedpriv.models.flat import Layout
from fedpriv.streams import Streams
from fedpriv.train.state import RoundState


def round_clients(
    run: Run,
    clients: partition.Partition,
    members: np.ndarray,
    size: int,
    streams: Streams,
    state: RoundState,
    noisy: bool,
) -> list[Client]:
    """Return the members of a round, each with its own streams and with what it has kept.

    Those after the first `size` were not drawn: they work on copies. Where gradients are `noisy`, each has a
    stream of noise.
    """
    round = state.round + 1
    return [
        Client(
            clients.client(one),
            streams.numpy("batches", round, int(one)),
            streams.noise("instance", round, int(one)) if noisy else None,
            streams.numpy("signs", round, int(one)) if run.model.stochastic else None,
            client_state(state.clients, int(one), copied=place >= size) if state.clients else None,
        )
        for place, one in enumerate(members)
    ]


def client_state(everyone: ClientState, client: int, copied: bool) -> ClientState:
    """Return what one client has kept, as views of what everyone has, or copied."""
    weights, *memory = (
        part[client].clone() if copied else part[client]
        for part in (everyone.weights, *vars(everyone.memory).values())
    )
    return ClientState(weights, OptimizerState(*memory))


def receive_broadcast(run: Run, state: RoundState, layout: Layout) -> None:
    """Let persistent clients take the server's weights: β of the protected, all of the clear ones."""
    if not state.clients:
        return
    weights, end = state.clients.weights, layout.protected + layout.clear
    weights[:, : layout.protected].lerp_(state.flat[: layout.protected], run.local.share_taken)
    weights[:, layout.protected : end] = state.flat[layout.protected : end]
