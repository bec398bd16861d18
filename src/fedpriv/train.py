"""The loop: every scheme, every model, every dataset goes through it. Read it from top to bottom.

A scheme never computes ε and neither does the loop: they write down what happened, and
`fedpriv.account` reads the trace.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedpriv import devices, partition, record, resume
from fedpriv.config import Run, Server, Speed
from fedpriv.data.arrays import Arrays
from fedpriv.errors import BadInput
from fedpriv.evaluate import evaluate
from fedpriv.inputs import arrays_for
from fedpriv.local import Done, Kept, Task, Workshop
from fedpriv.members import receive, working
from fedpriv.models.flat import Layout, initial
from fedpriv.optimiser import fresh
from fedpriv.private import facts as private_facts
from fedpriv.probe import choose, distances, width
from fedpriv.progress import progress
from fedpriv.resume import RoundState
from fedpriv.schemes.base import DISTANCES, NO_FACTS, Bounded, Facts, Round
from fedpriv.schemes.gaussian import clip
from fedpriv.schemes.private_gradient import PrivateGradient
from fedpriv.streams import Streams
from fedpriv.threaded import cores


def train(
    run: Run,
    name: str,
    seed: int,
    arrays_path: Path,
    partition_path: Path,
    out: Path,
    speed: Speed,
    labels: dict[str, Any],
) -> Path:
    """Train `run` on the files made for it and write its run directory `out`; return it.

    Resumes from `out/resume/` if a state of the same identity is there, or the finished run itself, whose
    files a workflow may have removed. A directory that already holds the finished run is left as it is.
    `labels` (paper, preset, what stands in for what) go into the summary.

    Guarantees: on a CPU the model and the trace, but for its measured columns, are bit-identical whatever
    the number of threads and however often the run was killed and resumed.

    A run has diverged when its weights are no longer finite or nobody in a cohort has a finite loss: it ends
    there, and its summary says so.

    Raises BadInput when `out` holds a finished run of another config, or another process trains in it.
    """
    identity = run.identity(name, seed)
    checkpoint = out / record.KEPT / "state.safetensors"
    finished = record.finished(out)
    if finished:
        if finished != identity:
            raise BadInput(f"{out}: found the finished run of another config, allowed: an empty folder")
        checkpoint.unlink(missing_ok=True)  # left by a process that was killed when it had finished
        return out
    if record.restored(out, identity):
        return out
    data, clients = arrays_for(run, arrays_path), partition.load(partition_path)
    device = devices.chosen(speed.device)
    streams = Streams(seed, name, run.secure_noise)
    rounds = run.scheme.horizon(run.cohort, clients.clients, run.rounds)
    task = Task(
        run.model,
        data.classes,
        torch.from_numpy(data.x_train).to(device),
        torch.from_numpy(data.y_train).to(device),
    )
    test = torch.from_numpy(data.x_test).to(device), torch.from_numpy(data.y_test).to(device)

    with resume.alone(checkpoint), Workshop(task, speed) as workshop:
        state = resume.load(checkpoint, identity, device) or before(run, task, streams, clients.clients)
        with progress(f"{name} seed {seed}", state.round, rounds) as report:
            while state.round < rounds and not state.diverged:
                started = time.perf_counter()
                row = one_round(run, clients, workshop, streams, state, rounds)
                state.rows.append(row)
                last = state.round == rounds
                if (state.round % run.evaluate_every == 0 or last) and not state.diverged:
                    rng = streams.numpy("evaluation", state.round)
                    row |= evaluate(workshop, run.evaluation, state, test, last, rng)
                row |= {"seconds": time.perf_counter() - started, "peak_mib": record.peak_mib(device)}
                if state.round % speed.checkpoint_every == 0:
                    resume.save(checkpoint, identity, state)
                report(row)
        told = summary(run, name, seed, state, data, clients, labels) | {
            "identity": identity,
            "environment": record.environment(device, workshop.dtype, speed.threads or cores()),
        }
        record.write(out, state, run.probe.clients, run.probe.panel, told)
        resume.forget(checkpoint)
        record.keep(out)
    return out


def summary(
    run: Run,
    name: str,
    seed: int,
    state: RoundState,
    data: Arrays,
    clients: partition.Partition,
    labels: dict[str, Any],
) -> dict[str, Any]:
    """Return what a finished run says about itself as a whole; a diverged one has no accuracy."""
    return labels | {
        "run": name,
        "seed": seed,
        "config": run.training(),
        "rounds": state.round,
        "rounds_wanted": run.rounds,
        "diverged": state.round if state.diverged else None,
        "parameters": len(state.flat),
        "test_accuracy": None if state.diverged else state.rows[-1]["test_accuracy"],
        "data": labels.get("data", {})
        | {
            "name": run.dataset,
            "train": len(data.y_train),
            "test": len(data.y_test),
            "repetition": len(clients.indices) / len(data.y_train),
            "note": data.note,
        },
        "evaluated_on": "validation" if run.validation else "test",
        "seconds": sum(row["seconds"] for row in state.rows),
        "peak_mib": max(row["peak_mib"] for row in state.rows),
    }


def before(run: Run, task: Task, streams: Streams, clients: int) -> RoundState:
    """Return the state before the first round; persistent clients start from the server's weights."""
    flat = initial(task.shapes, streams.torch("init")).to(task.inputs.device)
    state = RoundState(flat, torch.zeros_like(flat[: task.layout.protected]))
    if run.local.name == "fedavg" and run.local.persistent:
        weights = flat.repeat(clients, 1)
        state.clients = Kept(weights, fresh(weights))
    return state


def one_round(
    run: Run,
    clients: partition.Partition,
    workshop: Workshop,
    streams: Streams,
    state: RoundState,
    rounds: int,
) -> dict[str, Any]:
    """Advance `state` by one round in place and return its row of the trace."""
    population, round = clients.clients, state.round + 1
    expected, layout = run.cohort.expected(population), workshop.task.layout
    examples, protected = np.diff(clients.offsets), layout.protected

    # Who takes part. The panel is followed whether drawn or not; who was not drawn is only measured.
    cohort = run.cohort.draw(population, streams.numpy("cohort", round))
    panel = choose(population, run.probe.panel if run.scheme.measures else 0, streams.numpy("panel"))
    members = np.concatenate([cohort, np.setdiff1d(panel, cohort)])
    now = Round(
        *(round, rounds, population, expected, examples[cohort], int(examples.min()), layout.tensors, streams)
    )

    # Local work → bound → client-side release → aggregate with a public denominator → server noise.
    how = run.scheme.gradient(run.local)
    alone = private_facts(how, run.local, examples) if how else {}
    done = workshop.updates(
        run.local.at(round),
        state.flat,
        working(run, clients, members, len(cohort), streams, state, how),
        how,
        run.scheme.sends == "weights",
    )
    size = len(cohort)
    uploads = run.hooks.before_upload(done.updates[:, :protected])
    rows = done.clean[:, :protected] if how else uploads
    bounded, facts = run.scheme.bound(rows[:size])
    bounded, limits = run.hooks.bounded(bounded)
    if run.scheme.measures:
        measure(run, state, bounded, rows[size:], members, panel, streams.numpy("probe", round))
    if how:
        facts |= alone | keep(state, how, done, size, alone["local_steps"])
    sent, released = run.scheme.release(bounded, uploads[:size], now)
    received, hooked = run.hooks.on_upload(sent, now)
    mean, combined = run.scheme.combine(received, now)

    rate = learning_rate(run.server, round, rounds)
    old = state.flat[:protected]
    step = mean - old if run.scheme.sends == "weights" else mean
    state.velocity = run.server.momentum * state.velocity + step
    new, told = run.scheme.broadcast(old + rate * state.velocity, now)
    new, noised = run.hooks.before_broadcast(new, now)
    state.flat = torch.cat([new, in_the_clear(run, state.flat, done.updates[:size], layout)])
    state.round = round
    receive(run, state, layout)
    norms = rows[:size].norm(dim=1).double().cpu().numpy()
    losses = done.losses[:size][done.losses[:size].isfinite()]
    facts |= limits | released | hooked | combined | told | noised
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
        **facts,
        "clear_values": layout.clear,
        "upload_bytes": facts.get("upload_bytes", 4.0 * protected) + 4.0 * layout.clear,
    }


def in_the_clear(run: Run, flat: torch.Tensor, updates: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Return the server's numbers that no scheme protects: means over the cohort, and what clients keep."""
    start, end = layout.protected, layout.protected + layout.clear
    rest = flat[start:].clone()
    if len(updates) and layout.clear:
        mean = updates[:, start:end].mean(0)
        rest[: layout.clear] = mean if run.scheme.sends == "weights" else flat[start:end] + mean
    return rest


def keep(state: RoundState, how: PrivateGradient, done: Done, size: int, steps: int) -> Facts:
    """Append the cohort's leave-one-out distances `[steps, size, samples]`; return what was clipped."""
    for name in DISTANCES if how.samples else ():
        nobody = np.empty((steps, 0, width(name, how.samples)), dtype=np.float32)
        state.samples.setdefault(f"instance_{name}", []).append(done.distances.get(name, nobody)[:, :size])
    shares = done.share_clipped[:size]
    return {"share_clipped": float(shares.mean()) if shares.size else 0.0}


def measure(
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
    everyone = torch.cat([bounded.updates, clip(outsiders, bounded.l2)[0].updates])
    in_cohort = torch.arange(len(everyone), device=everyone.device) < size
    drawn = choose(size, run.probe.clients, rng)
    followed = np.array([np.flatnonzero(members == one)[0] for one in panel], dtype=np.int64)
    for prefix, chosen in (("", drawn), ("panel_", followed)):
        for name, values in distances(everyone, in_cohort, chosen).items():
            if name not in run.scheme.measures:
                continue
            state.samples.setdefault(prefix + name, []).append(values)


def learning_rate(server: Server, round: int, rounds: int) -> float:
    """Return the server's rate in `round` of 1..`rounds`: full in the first, `final_fraction` in the last."""
    passed = (round - 1) / max(rounds - 1, 1)
    left = {"constant": 1.0, "linear": 1 - passed, "cosine": (1 + math.cos(math.pi * passed)) / 2}
    fraction = server.final_fraction
    return server.learning_rate * (fraction + (1 - fraction) * left[server.schedule])
