"""The server's step: at which rate, what its optimiser makes of a round, and which weights count."""

from __future__ import annotations

import math

import torch

from fedpriv.config.run import Server
from fedpriv.train.state import RoundState

# FedAdam: of the mean of steps, and of that of their squares; where moments are below τ, steps count as is.
BETAS, TAU = (0.9, 0.99), 1e-3


def learning_rate(server: Server, round: int, rounds: int) -> float:
    """Return the server's rate in `round` of 1..`rounds`: full in the first, `final_fraction` in the last."""
    passed = (round - 1) / max(rounds - 1, 1)
    left = {"constant": 1.0, "linear": 1 - passed, "cosine": (1 + math.cos(math.pi * passed)) / 2}
    fraction = server.final_fraction
    return server.learning_rate * (fraction + (1 - fraction) * left[server.schedule])


def average(server: Server, state: RoundState) -> torch.Tensor | None:
    """Return the moving average `[d]` of a round's weights and those before, the first round's at first.

    It is computed from what was released, at no cost. None where the server does not average.
    """
    if not server.averaging:
        return None
    return state.flat.clone() if state.average is None else state.flat.lerp(state.average, server.averaging)


def move(server: Server, state: RoundState, step: torch.Tensor) -> torch.Tensor:
    """Return the move `[p]` that the optimiser makes of a round's step, before the rate; it remembers it.

    Adam is FedAdam (Reddi et al. 2021, Adaptive Federated Optimization, Algorithm 2): without correction of
    the bias, and with second moments that start at τ².
    """
    if server.optimizer == "sgd":
        state.velocity = server.momentum * state.velocity + step
        return state.velocity
    (one, two), tau = BETAS, TAU
    second = torch.full_like(step, tau**2) if state.second is None else state.second
    state.velocity = one * state.velocity + (1 - one) * step
    state.second = two * second + (1 - two) * step.square()
    return state.velocity / (state.second.sqrt() + tau)
