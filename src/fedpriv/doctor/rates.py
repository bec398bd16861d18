"""Measure how fast this machine works through a run's clients: a moment for every kind of work."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from fedpriv.config.run import Run
from fedpriv.doctor.times import Rates, held, passed, size
from fedpriv.local.client import Client, Task
from fedpriv.local.engine import LocalEngine
from fedpriv.local.work import Speed
from fedpriv.machine.environment import cores
from fedpriv.machine.gpus import select_device
from fedpriv.streams import Streams

SECONDS = 0.3  # of a measurement, after a first go that compiles
AWAKE = 14  # times as long goes by before the first one: threads share a core until the scheduler parts them
EXAMPLES, TESTED = 2_000, 1_000  # made-up ones to train on, and to evaluate in one go
LIT = 0.2  # share of the pixels that are not black, as of digits: some engines leave out what is zero
# What changes the numbers of local work and not its amount.
NUMBERS = {"learning_rate", "decay_every", "decay_factor", "adam_betas", "persistent", "mixing"}
SCALES = {"threshold", "mean", "std"}  # of what a model reads


class Stopwatch:
    """Rates by kind of work: each kind is measured once, when it is first asked for."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._known: dict[str, Rates] = {}

    def __call__(self, run: Run, speed: Speed) -> Rates:
        """Return the rates of a run's work on all cores, or on the GPU where there is one."""
        kind = kind_of(run, speed)
        if kind not in self._known:
            before = 0.0 if self._known else AWAKE * self.seconds
            self._known[kind] = measure(run, speed.model_copy(update={"threads": 0}), self.seconds, before)
        return self._known[kind]


def kind_of(run: Run, speed: Speed) -> str:
    """Return what a rate depends on, the same for all runs whose clients do the same amount of work."""
    private = run.scheme.gradient(run.local)
    kind: dict[str, Any] = {
        "model": run.model.model_dump(mode="json", exclude=SCALES),
        "classes": size(run).classes,
        "held": held(run),
        "local": run.local.model_dump(mode="json", exclude=NUMBERS),
        "private": private and [private.batch_size, private.samples, private.example_clip_l2 is not None],
        "weights": run.scheme.sends,
        "speed": speed.model_dump(include={"device", "dtype", "chunk", "stack"}),
    }
    return json.dumps(kind, sort_keys=True)


def measure(run: Run, speed: Speed, seconds: float, before: float) -> Rates:
    """Return the rates of a run's work on made-up examples, after so many seconds of it."""
    device, streams = select_device(speed.device), Streams(0, "rates")
    rng, classes = streams.numpy("examples"), size(run).classes
    inputs = made_up(run, rng).to(device)
    labels = torch.from_numpy(rng.integers(0, classes, EXAMPLES)).to(device)
    task = Task(run.model, classes, inputs, labels)
    flat = run.model.initial(task.classes, task.example, streams.numpy("init")).to(device)
    count = cores() if device.type == "cpu" else speed.stack
    private = run.scheme.gradient(run.local)
    clients = [
        Client(
            rng.integers(0, EXAMPLES, held(run)),
            streams.numpy("batches", one),
            streams.noise("instance", one) if private else None,
            streams.numpy("signs", one) if run.model.stochastic else None,
        )
        for one in range(count)
    ]
    with LocalEngine(task, speed) as engine:

        def train() -> None:
            sends = run.scheme.sends == "weights"
            engine.train_clients(run.local, flat, clients, private, sends).losses.cpu()

        def evaluate() -> None:
            engine.logits(flat, inputs[:TESTED]).cpu()

        calls_a_second(train, before)
        trained = calls_a_second(train, seconds) * count * passed(run)
        return Rates(trained, calls_a_second(evaluate, seconds) * TESTED)


def made_up(run: Run, rng: np.random.Generator) -> torch.Tensor:
    """Return random images, or random features where the model reads these."""
    if not run.model.features:
        greys = rng.integers(1, 256, (EXAMPLES, 28, 28), dtype=np.uint8)
        return torch.from_numpy(greys * (rng.random(greys.shape) < LIT))
    return torch.from_numpy(rng.standard_normal((EXAMPLES, run.model.width), dtype=np.float32)).half()


def calls_a_second(call: Callable[[], None], seconds: float) -> float:
    """Return how often a second something can be done, the first time left out."""
    call()
    started, count = time.perf_counter(), 0
    while (took := time.perf_counter() - started) < seconds or not count:
        call()
        count += 1
    return count / took


def where() -> str:
    """Return what the rates are measured on, in words."""
    if torch.cuda.is_available():
        return f"on one {torch.cuda.get_device_name()}"
    return f"on these {cores()} cores" if cores() > 1 else "on this core"
