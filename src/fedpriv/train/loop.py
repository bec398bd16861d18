"""The loop: every scheme, every model, every dataset goes through it. Read it from top to bottom.

A scheme never computes ε and neither does the loop: they write down what happened, and
`fedpriv.account` reads the trace.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fedpriv.config.run import Run
from fedpriv.errors import Stopped
from fedpriv.files.rundir import RESUME, RunDir, keep_outputs, restore_outputs
from fedpriv.local.engine import LocalEngine
from fedpriv.local.work import Speed
from fedpriv.machine.allocator import keep_buffers
from fedpriv.machine.environment import cores, environment, peak_mib
from fedpriv.machine.gpus import select_device
from fedpriv.progress import progress
from fedpriv.streams import Streams
from fedpriv.train import canaries, checkpoint, record
from fedpriv.train.evaluate import evaluate, looked_at
from fedpriv.train.inputs import arrays_for, load_partition, normalised
from fedpriv.train.round import run_round
from fedpriv.train.state import initial_state
from fedpriv.train.task import task_for
from fedpriv.train.warned import warned


def train(
    run: Run,
    name: str,
    seed: int,
    arrays_path: Path,
    partition_path: Path,
    out: Path,
    speed: Speed,
    labels: dict[str, Any],
    resume: Path | None = None,
) -> Path:
    """Train `run` on the files made for it and write its run directory `out`; return it.

    Resumes from the folder `resume`, by default `out/resume`, if a state of the same identity is there, or
    the finished run itself, whose files a workflow may have removed: below its identity they are kept. A
    directory that already holds the finished run is left as it is. `labels` (paper, preset, what stands in
    for what) go into the summary.

    Guarantees: on a CPU the model and the trace, but for its measured columns, are bit-identical whatever
    the number of threads and however often the run was killed and resumed by the same engine.

    A signal that warns of the end (`warned`) ends it after the round that it is in, which is saved: Stopped.

    A run has diverged when its weights are no longer finite or nobody in a cohort has a finite loss: it ends
    there, and its summary says so.

    Raises BadInput when `out` holds a run of another config, a file that training did not write, or the state
    of another config or engine, and when another process trains in it.
    """
    identity = run.identity(name, seed)
    resume = resume or out / RESUME
    saved, kept = resume / "state.safetensors", resume / identity
    if RunDir(out).holds(identity) or restore_outputs(out, kept, identity):
        checkpoint.remove(saved, identity)  # left by a process that was killed when it had finished
        return out
    keep_buffers()  # before the first tensor
    streams = Streams(seed, name, run.secure_noise)
    data = normalised(run, arrays_for(run, arrays_path), streams)
    clients = load_partition(run, data, seed, partition_path)
    holders = clients.holders(data.content)
    device = select_device(speed.device)
    rounds = run.scheme.horizon(run.cohort, clients.clients, run.rounds)
    task = task_for(run, data, device)

    with checkpoint.exclusive(saved), LocalEngine(task, speed) as engine:
        test = looked_at(run.evaluation, device, data.x_test, data.y_test)
        first = initial_state(run, task, streams, clients.clients)
        state = checkpoint.load(saved, identity, engine.name, device, first) or first
        with progress(f"{name} seed {seed}", state.round, rounds) as report, warned() as warning:
            while state.round < rounds and not state.diverged:
                started = time.perf_counter()
                row = run_round(run, clients, engine, streams, state, rounds)
                state.rows.append(row)
                due = state.round % run.evaluate_every == 0 or state.round == rounds
                if due and not state.diverged:
                    rng = streams.numpy("evaluation", state.round)
                    row |= evaluate(engine, run.evaluation, state, test, rng)
                row |= {
                    "holders": holders,
                    "seconds": time.perf_counter() - started,
                    "peak_mib": peak_mib(device),
                }
                signal = warning()  # looked at once: what is stopped has been saved
                if signal or state.round % speed.checkpoint_every == 0:
                    checkpoint.save(saved, identity, engine.name, state)
                report(row)
                if signal:
                    raise Stopped(signal, f"{name} seed {seed}: {state.round} of {rounds} rounds are saved")
        canaries.record_end(run, state, task, streams)
        summary = record.summarise(run, name, seed, state, data, clients, labels) | {
            "identity": identity,
            "environment": environment(device, engine.name, speed.threads or cores()),
        }
        record.write(out, state, run.probe, summary)
        checkpoint.remove(saved, identity)
        keep_outputs(out, kept)
    return out
