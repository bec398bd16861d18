"""One round: cohort, local work, bound, release, combine, postprocess, broadcast; its row of the trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from fedpriv import partition
from fedpriv.config.run import Run, Server
from fedpriv.local.client import Client, ClientState, LocalEngine
from fedpriv.mechanisms.gaussian import sample_positions
from fedpriv.models.base import Layout
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import exchange
from fedpriv.streams import Streams
from fedpriv.trace import NO_FACTS
from fedpriv.train import probes
from fedpriv.train.record import RoundState


def client_state(everyone: ClientState, client: int, copied: bool) -> ClientState:
    """State of one client, as views of what everyone has, or copied."""
    return ClientState(*(part[client].clone() if copied else part[client] for part in everyone))


def receive_broadcast(run: Run, state: RoundState, layout: Layout) -> None:
    """Let persistent clients take the server's weights: β of the protected, all of the clear ones."""
    if not state.clients:
        return
    weights, end = state.clients.weights, layout.protected + layout.clear
    weights[:, : layout.protected].lerp_(state.flat[: layout.protected], run.local.share_taken)
    weights[:, layout.protected : end] = state.flat[layout.protected : end]


# FedAdam: of the mean of steps, and of that of their squares; where moments are below τ, steps count as is.
BETAS, TAU = (0.9, 0.99), 1e-3


def learning_rate(server: Server, round_number: int, rounds: int) -> float:
    """Return the server's rate in `round` of 1..`rounds`: full in the first, `final_fraction` in the last."""
    passed = (round_number - 1) / max(rounds - 1, 1)
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
    """Return the move `[p]` that the optimiser makes of a step, before the rate; its moments are kept.

    Adam is FedAdam (Reddi et al. 2021, Adaptive Federated Optimization, Algorithm 2): without correction of
    the bias, and with second moments that start at τ².
    """
    if server.optimizer == "sgd":
        state.velocity = server.momentum * state.velocity + step
        return state.velocity
    (first, second_beta), tau = BETAS, TAU
    second = torch.full_like(step, tau**2) if state.second is None else state.second
    state.velocity = first * state.velocity + (1 - first) * step
    state.second = second_beta * second + (1 - second_beta) * step.square()
    return state.velocity / (state.second.sqrt() + tau)


def run_round(
    run: Run,
    clients: partition.Partition,
    engine: LocalEngine,
    streams: Streams,
    state: RoundState,
    rounds: int,
) -> dict[str, Any]:
    """One round: draw, train, bound, release, combine, move. `state` advances in place; its trace row.

    Every random draw is of a stream that is named by the round, so a resumed run draws the same. Nothing here
    computes an ε: the row says what was released, `fedpriv.account` what that costs.
    """
    population, round_number = clients.clients, state.round + 1
    expected, layout = run.cohort.expected(population), engine.task.layout
    examples, protected = np.diff(clients.offsets), layout.protected

    # 1. The cohort. A panel of clients is followed for the Bayesian estimate, whether drawn or not: those who
    # were not drawn train on copies of what they keep, and are only measured. So is a client that works a
    # second time, with the same coins on neighbouring data.
    cohort = run.cohort.members(population, streams, round_number)
    size = len(cohort)
    panel = sample_positions(
        population, run.probe.panel if run.scheme.measures else 0, streams.numpy("panel")
    )
    members = np.concatenate([cohort, np.setdiff1d(panel, cohort)])
    again = cohort[cohort == probes.FOLLOWED] if run.probe.neighbours else cohort[:0]

    # 2. What is public about the round, for the verbs of the scheme and the hooks.
    private_gradient = run.scheme.gradient(run.local)
    context = RoundContext(
        number=round_number,
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

    # 3. Local work. Each client has streams of its own, and what it has kept, as views unless it is copied.
    working = [
        Client(
            clients.client(client),
            streams.numpy("batches", round_number, int(client)),
            streams.noise("instance", round_number, int(client)) if private_gradient else None,
            streams.numpy("signs", round_number, int(client)) if run.model.stochastic else None,
            client_state(state.clients, int(client), copied=place >= size) if state.clients else None,
        )
        for place, client in enumerate(np.concatenate([members, again]))
    ]
    neighbours = [probes.neighbour(client, engine.task.labels) for client in working[len(members) :]]
    results = engine.train_clients(
        run.local.at(round_number),
        state.flat,
        [*working[: len(members)], *neighbours],
        private_gradient,
        send_weights=run.scheme.sends == "weights",
    )
    uploads = run.hooks.before_upload(results.updates[:, :protected])
    rows = results.clean[:, :protected] if private_gradient else uploads  # what is bounded, without noise

    # 4. Bound, client-side release, mean over a public denominator, server noise. Canaries send, too.
    mean, bounded, memory, exchanged = exchange(
        run.scheme,
        run.hooks,
        probes.with_canaries(run, rows[:size], streams, round_number),
        probes.with_canaries(run, uploads[:size], streams, round_number),
        context,
        noisy=private_gradient is not None,
    )
    bounded = bounded._replace(updates=bounded.updates[:size])

    # 5. What is measured: distances for the Bayesian accountant, neighbouring data, canaries.
    probes.record_canaries(run, state, mean * expected, bounded.updates, streams)
    facts = probes.neighbours_distance(run, cohort, rows[:size], rows[len(members) :], context)
    if run.scheme.measures:
        rng = streams.numpy("probe", round_number)
        outsiders = rows[size : len(members)]
        probes.record_client_distances(run, state, bounded, outsiders, members, panel, rng)
    if private_gradient:
        steps = run.local.noisy_steps or 0
        facts |= private_gradient.facts(steps, examples)
        facts |= probes.record_instance_distances(state, private_gradient, results, size, steps)
    facts |= run.model.facts(round_number)

    # 6. The server makes a step of what was released, moves and sends. What no scheme protects is the
    # cohort's mean, or stays with its client.
    mean, state.memory, processed = run.scheme.postprocess(mean, context._replace(memory=memory))
    rate = learning_rate(run.server, round_number, rounds)
    old = state.flat[:protected]
    step = mean - old if run.scheme.sends == "weights" else mean
    new, broadcast = run.scheme.broadcast(old + rate * move(run.server, state, step), context)
    new, noised = run.hooks.before_broadcast(new, context)
    clear = slice(protected, protected + layout.clear)
    rest = state.flat[protected:].clone()
    if size and layout.clear:
        clear_mean = results.updates[:size, clear].mean(0)
        rest[: layout.clear] = clear_mean if run.scheme.sends == "weights" else state.flat[clear] + clear_mean
    state.flat = torch.cat([new, rest])
    state.round, state.average = round_number, average(run.server, state)
    receive_broadcast(run, state, layout)

    # 7. The row of the trace.
    norms = rows[:size].norm(dim=1).double().cpu().numpy()
    losses = results.losses[:size][results.losses[:size].isfinite()]
    facts |= exchanged | processed | broadcast | noised
    facts = {name: fact.item() if isinstance(fact, torch.Tensor) else fact for name, fact in facts.items()}
    return {
        "round": round_number,
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
