"""One round: cohort, local work, bound, release, combine, broadcast; and its row of the trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from fedpriv import partition
from fedpriv.config.run import Run
from fedpriv.local.engine import LocalEngine
from fedpriv.local.statistics import facts as statistics_facts
from fedpriv.mechanisms.distances import sample_positions
from fedpriv.models.flat import Layout
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import exchange
from fedpriv.streams import Streams
from fedpriv.trace import NO_FACTS
from fedpriv.train import canaries, neighbours
from fedpriv.train.clients import receive_broadcast, round_clients
from fedpriv.train.measure import record_client_distances, record_instance_distances
from fedpriv.train.server import average, learning_rate, move
from fedpriv.train.state import RoundState


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
    again = neighbours.followed(run, cohort)
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
    others = [neighbours.neighbour(one, engine.task.labels) for one in working[len(members) :]]
    results = engine.train_clients(
        run.local.at(round),
        state.flat,
        [*working[: len(members)], *others],
        private_gradient,
        send_weights=run.scheme.sends == "weights",
    )
    uploads = run.hooks.before_upload(results.updates[:, :protected])
    rows = results.clean[:, :protected] if private_gradient else uploads
    sent = [canaries.joined(run, some[:size], streams, round) for some in (rows, uploads)]
    mean, bounded, state.memory, exchanged = exchange(run.scheme, run.hooks, sent[0], sent[1], context, noisy)
    bounded = bounded._replace(updates=bounded.updates[:size])
    canaries.record(run, state, mean * expected, bounded.updates, streams)
    facts = of_gradients | neighbours.measured(run, cohort, rows[:size], rows[len(members) :], context)
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
