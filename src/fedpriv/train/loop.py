"""The loop: every scheme, every model, every dataset goes through it. Read it from top to bottom.

A scheme never computes ε and neither does the loop: they write down what happened, and `fedpriv.account`
reads the trace. A batch system sends a signal before a limit or a preemption: the round ends, is saved,
and the loop stops.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from fedpriv.config.run import Run
from fedpriv.data.arrays import Arrays
from fedpriv.errors import BadInput, Stopped
from fedpriv.local.client import Task, local_engine
from fedpriv.local.loss import Loss
from fedpriv.local.work import Speed
from fedpriv.progress import print_stderr, progress
from fedpriv.store.gpus import select_device
from fedpriv.store.machine import cores, environment, keep_buffers, peak_mib
from fedpriv.store.rundir import RESUME, RunDir, keep_outputs, restore_outputs
from fedpriv.streams import Streams
from fedpriv.train import checkpoint, probes, record
from fedpriv.train.evaluate import evaluate, test_split
from fedpriv.train.inputs import arrays_for, load_partition
from fedpriv.train.record import initial_state
from fedpriv.train.round import run_round

# Slurm sends what one asks for and, before it preempts, the first; Grid Engine sends the others.
WARNINGS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


@contextmanager
def catch_warnings() -> Generator[Callable[[], int]]:
    """Catch warnings in the block; yield what says which signal was the first, 0 as long as there was none.

    Before and after the block each ends the process at once. A signal for which somebody else has a handler,
    or that is ignored, is left to that; so are all of them outside of the main thread, where Python has no
    handlers.
    """
    heard: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)

    is_main = threading.current_thread() is threading.main_thread()
    caught = [number for number in WARNINGS if is_main and signal.getsignal(number) == signal.SIG_DFL]
    for number in caught:
        signal.signal(number, hear)
    try:
        yield lambda: heard[0] if heard else 0
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def task_for(run: Run, data: Arrays, device: torch.device) -> Task:
    """Build the task that a run learns, with the training data on `device`.

    BadInput says what model or loss cannot read, of the test split too, and which layer is in the way of a
    scheme that needs the gradient of every example.
    """
    task = Task(
        run.model,
        data.classes,
        torch.from_numpy(data.x_train).to(device),
        torch.from_numpy(data.y_train).to(device),
        Loss(run.loss),
    )
    task.examine(torch.from_numpy(data.x_test), torch.from_numpy(data.y_test))
    private = run.scheme.gradient(run.local)
    each = private and (private.example_clip_l2 is not None or private.samples > 0)  # clipped, or measured
    if each and task.alone:
        raise BadInput(
            f"scheme: found {run.scheme.name}, which needs the gradient of every example, with {task.alone}, "
            "allowed: a scheme of clients, as client_dp; or, in place of nn.LSTM, nn.GRU or nn.RNN, a loop "
            "over the positions with nn.GRUCell, nn.RNNCell or an LSTM cell that is written out"
        )
    return task


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

    A signal that warns of the end (`catch_warnings`) ends it after its round, which is saved: Stopped.

    A run has diverged when its weights are no longer finite or nobody in a cohort has a finite loss: it ends
    there, and its summary says so.

    Raises BadInput when `out` holds a run of another config, a file that training did not write, or the state
    of another config or engine, and when another process trains in it.
    """
    # 1. A run that is finished, here or below the resume folder, is not trained again.
    identity = run.identity(name, seed)
    resume = resume or out / RESUME
    saved, kept = resume / "state.safetensors", resume / identity
    if RunDir(out).holds(identity) or restore_outputs(out, kept, identity, labels):
        checkpoint.remove_state(saved, identity)  # left by a process that was killed when it had finished
        return out

    # 2. What it trains on. Buffers are kept before the first tensor is made.
    keep_buffers()
    streams = Streams(seed, name, run.secure_noise)
    data = arrays_for(run, arrays_path)
    run.model.normalise(data.x_train, data.x_test, streams)
    clients = load_partition(run, data, seed, partition_path)
    holders = clients.holders(data.content)
    device = select_device(speed.device)
    rounds = run.scheme.horizon(run.cohort, clients.clients, run.rounds)
    task = task_for(run, data, device)

    # 3. Round after round, from the state before the first or the one that a killed run has saved.
    with checkpoint.lock_run(saved), local_engine(task, speed) as engine:
        test = test_split(run.evaluation, device, data)
        first = initial_state(run, task, streams, clients.clients)
        state = checkpoint.load_state(saved, identity, engine.name, device) or first
        if state.round:
            saved_rounds = f"{state.round} of {rounds} rounds were saved"
            print_stderr(f"{name} seed {seed}: {saved_rounds}, the training goes on")
        with progress(f"{name} seed {seed}", state.round, rounds) as report, catch_warnings() as warning:
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
                warned = warning()  # looked at once: what is stopped has been saved
                if warned or state.round % speed.checkpoint_every == 0:
                    checkpoint.save_state(saved, identity, engine.name, state)
                report(row)
                if warned:
                    raise Stopped(warned, f"{name} seed {seed}: {state.round} of {rounds} rounds are saved")

        # 4. The four files, and a copy of them where a workflow may remove these.
        probes.record_canaries_of_the_model(run, state, task, streams)
        summary = record.summarise(run, name, seed, state, data, clients, labels) | {
            "identity": identity,
            "environment": environment(device, engine.name, speed.threads or cores()),
        }
        record.write_run(out, state, run.probe, summary)
        checkpoint.remove_state(saved, identity)
        keep_outputs(out, kept)
    return out
