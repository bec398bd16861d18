"""Local work: what a client computes from the global weights, on whichever device.

`Workshop.updates` returns one row a client. How a stack of clients is worked through is chosen per device
and never changes results beyond float tolerance: on a CPU each core works on its own clients
(`fedpriv.threaded`), on a GPU clients are stacked into one launch (`fedpriv.stacked`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from fedpriv.config import FedAvg, LocalWork, Speed
from fedpriv.models import Model
from fedpriv.models.flat import Shapes
from fedpriv.private import Gradient
from fedpriv.schemes.private_gradient import PrivateGradient


class Task(NamedTuple):
    """What is learned: a model on inputs (see `as_floats`) and labels `[n]`, on one device."""

    model: Model
    shapes: Shapes
    inputs: torch.Tensor
    labels: torch.Tensor


class Client(NamedTuple):
    """One member of a round: the rows of the inputs it holds, its own stream, and one for its noise."""

    rows: np.ndarray
    rng: np.random.Generator
    noise: torch.Generator | None = None


class Done(NamedTuple):
    """What a stack of clients has done: a row for each."""

    updates: torch.Tensor  # [clients, d], with the noise of their local work
    losses: torch.Tensor  # [clients], mean training loss
    clean: torch.Tensor  # [clients, d], without that noise; after several noisy steps there is none: updates
    distances: dict[str, np.ndarray]  # of private gradients: [steps, clients, samples], leave-one-out
    share_clipped: np.ndarray  # of private gradients: [clients, steps]


def gathered(
    updates: torch.Tensor, losses: torch.Tensor, clean: torch.Tensor, gradients: Sequence[Sequence[Gradient]]
) -> Done:
    """Return what was done, from every client's private `gradients`, one a step."""
    distances = {
        name: np.array([[one.distances[name] for one in client] for client in gradients]).swapaxes(0, 1)
        for name in (gradients[0][0].distances if len(gradients) else ())
    }
    shares = np.array([[one.share_clipped for one in client] for client in gradients])
    return Done(updates, losses, clean, distances, shares)


def as_floats(inputs: torch.Tensor) -> torch.Tensor:
    """Return what a model reads: images `[n, 28, 28]` uint8 as `pixels`, features `[n, f]` as float32."""
    return pixels(inputs) if inputs.dim() == 3 else inputs.float()


def pixels(images: torch.Tensor) -> torch.Tensor:
    """Return uint8 images `[n, 28, 28]` as float32 `[n, 1, 28, 28]` in [0, 1], with channels-last strides.

    `contiguous(memory_format=...)` leaves a one-channel tensor as it is and the first convolution in its
    slow layout, so the strides are asked for when the tensor is made.
    """
    n, height, width = images.shape
    x = torch.empty((n, 1, height, width), device=images.device, memory_format=torch.channels_last)
    x.copy_(images[:, None])
    return x.div_(255)


def batches(work: FedAvg, examples: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the positions of every mini-batch, in order: shuffled epochs, cut off after `steps` if given.

    Without examples there are none.
    """
    if not examples:
        return []
    batch = min(work.batch_size, examples)
    a_pass = math.ceil(examples / batch)
    steps = work.steps or work.epochs * a_pass
    plan: list[np.ndarray] = []
    while len(plan) < steps:
        order = rng.permutation(examples)
        plan += [order[start : start + batch] for start in range(0, examples, batch)]
    return plan[:steps]


def optimise(work: FedAvg, weights: torch.Tensor, gradient: torch.Tensor, memory: dict) -> None:
    """Take one optimiser step in place, elementwise on flat weights of any leading shape."""
    if work.optimizer == "sgd":
        if work.momentum:
            velocity = memory.setdefault("velocity", torch.zeros_like(weights))
            gradient = velocity.mul_(work.momentum).add_(gradient)
        weights.add_(gradient, alpha=-work.learning_rate)
        return
    # Adam with its usual constants (Kingma and Ba, 2015, algorithm 1)
    first, second = (memory.setdefault(name, torch.zeros_like(weights)) for name in ("first", "second"))
    memory["steps"] = steps = memory.get("steps", 0) + 1
    first.lerp_(gradient, 0.1)
    second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
    root = (second / (1 - 0.999**steps)).sqrt_().add_(1e-8)
    weights.addcdiv_(first, root, value=-work.learning_rate / (1 - 0.9**steps))


class Workshop:
    """Where local work is done; holds the worker threads on a CPU. Use as a context manager."""

    def __init__(self, task: Task, speed: Speed):
        if task.inputs.device.type == "cpu":
            from fedpriv.threaded import Threads

            self._backend = Threads(task, speed)
        else:
            from fedpriv.stacked import Stacks

            self._backend = Stacks(task, speed)

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *_: object) -> None:
        self._backend.close()

    def updates(
        self,
        work: LocalWork,
        flat: torch.Tensor,
        clients: Sequence[Client],
        how: PrivateGradient | None = None,
    ) -> Done:
        """Return what each client sends after its local work at `flat` `[d]`.

        `fedsgd`: minus the mean gradient over its examples, or over a Poisson batch with its expected size as
        denominator. `fedavg`: the change of the weights after the local steps; its loss is that of the last
        mini-batch. With `how` every gradient is private and every batch a Poisson batch. A client without
        examples sends zeros.
        """
        return self._backend.updates(work, flat, clients, how)

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]`, float32, of inputs as a task has them."""
        return self._backend.logits(flat, inputs)
