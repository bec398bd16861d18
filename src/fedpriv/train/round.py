"""One round: cohort, local work, bound, release, combine, broadcast; and its row of the trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from fedpriv import partition
from fedpriv.config.run import Run, Server
from fedpriv.local.client import Client, ClientState, LocalEngine, OptimizerState
from fedpriv.local.statistics import facts as statistics_facts
from fedpriv.mechanisms.gaussian import sample_positions
from fedpriv.models.flat import Layout
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import exchange
from fedpriv.streams import Streams
from fedpriv.trace import NO_FACTS
from fedpriv.train import probes
from fedpriv.train.probes import record_client_distances, record_instance_distances
from fedpriv.train.record import RoundState


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


def run_round(
    run: Run,
    clients: partition.Partition,
    engine: LocalEngine,
    streams: Streams,
    state: RoundState,
    rounds: int,
) -> dict[str, Any]:
    """Advance `state` by one round in place and return its row of the trace."""
    population, round = clients.clients, state.round + 1
    expected, layout = run.cohort.expected(population), engine.task.layout
    examples, protected = np.diff(clients.offsets), layout.protected

    # Who takes part. The panel is followed whether drawn or not; who was not drawn is only measured.
    cohort = run.cohort.members(population, streams, round)
    panel = sample_positions(
        population, run.probe.panel if run.scheme.measures else 0, streams.numpy("panel")
    )
    members = np.concatenate([cohort, np.setdiff1d(panel, cohort)])
    size = len(cohort)
    again = probes.followed(run, cohort)
    private_gradient = run.scheme.gradient(run.local)
    context = RoundContext(
        number=round,
        rounds=rounds,
        population=population,
        expected=expected,
        examples=examples[cohort],
        fewest=int(examples.min()),
        most=int(examples.max()),
        tensors=layout.tensors,
        streams=streams,
        law=run.cohort,
        gradient_noise_std=private_gradient.noise_std if private_gradient else 0.0,
        memory=state.memory,
        members=cohort,
    )

    # Local work → bound → client-side release → aggregate with a public denominator → server noise.
    steps = run.local.noisy_steps or 0
    of_gradients = private_gradient.facts(steps, examples) if private_gradient else {}
    if statistics := run.model.statistics:
        of_gradients |= statistics_facts(statistics, round)
    noisy = private_gradient is not None
    working = round_clients(run, clients, np.concatenate([members, again]), size, streams, state, noisy)
    others = [probes.neighbour(one, engine.task.labels) for one in working[len(members) :]]
    results = engine.train_clients(
        run.local.at(round),
        state.flat,
        [*working[: len(members)], *others],
        private_gradient,
        send_weights=run.scheme.sends == "weights",
    )
    uploads = run.hooks.before_upload(results.updates[:, :protected])
    rows = results.clean[:, :protected] if private_gradient else uploads
    sent = [probes.joined(run, some[:size], streams, round) for some in (rows, uploads)]
    mean, bounded, state.memory, exchanged = exchange(run.scheme, run.hooks, sent[0], sent[1], context, noisy)
    bounded = bounded._replace(updates=bounded.updates[:size])
    probes.record(run, state, mean * expected, bounded.updates, streams)
    facts = of_gradients | probes.measured(run, cohort, rows[:size], rows[len(members) :], context)
    if run.scheme.measures:
        rng = streams.numpy("probe", round)
        record_client_distances(run, state, bounded, rows[size : len(members)], members, panel, rng)
    if private_gradient:
        facts |= record_instance_distances(state, private_gradient, results, size, steps)

    rate = learning_rate(run.server, round, rounds)
    old = state.flat[:protected]
    step = mean - old if run.scheme.sends == "weights" else mean
    new, told = run.scheme.broadcast(old + rate * move(run.server, state, step), context)
    new, noised = run.hooks.before_broadcast(new, context)
    state.flat = torch.cat([new, unprotected(run, state.flat, results.updates[:size], layout)])
    state.round, state.average = round, average(run.server, state)
    receive_broadcast(run, state, layout)
    norms = rows[:size].norm(dim=1).double().cpu().numpy()
    losses = results.losses[:size][results.losses[:size].isfinite()]
    facts |= exchanged | told | noised
    facts = {name: one.item() if isinstance(one, torch.Tensor) else one for name, one in facts.items()}
    return {
        "round": round,
        "scheme": run.scheme.name,
        "unit": run.scheme.unit,
        "relation": run.scheme.relation,
        "sampling_law": run.cohort.law,
        "population": population,
        "expected_cohort": expected,
        "sampling_rate": expected / population,
        "cohort_size": size,
        "norm_min": norms.min() if size else math.nan,
        "norm_median": np.median(norms) if size else math.nan,
        "norm_max": norms.max() if size else math.nan,
        "server_learning_rate": rate,
        "train_loss": float(losses.mean()) if len(losses) else math.nan,
        "test_accuracy": math.nan,
        "test_accuracy_drawn": math.nan,
        "test_loss": math.nan,
        **NO_FACTS,
        **run.cohort.facts(population, rounds),
        **facts,
        "mechanism": run.scheme.mechanism,
        "clear_values": layout.clear,
        "upload_bytes": facts.get("upload_bytes", 4.0 * protected) + 4.0 * layout.clear,
    }


def unprotected(run: Run, flat: torch.Tensor, updates: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Return the server's numbers that no scheme protects: means over the cohort, and what clients keep."""
    start, end = layout.protected, layout.protected + layout.clear
    rest = flat[start:].clone()
    if len(updates) and layout.clear:
        mean = updates[:, start:end].mean(0)
        rest[: layout.clear] = mean if run.scheme.sends == "weights" else flat[start:end] + mean
    return rest
