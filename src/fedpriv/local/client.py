"""What the backends of local work share: the task, a client, its mini-batches, its result, the optimiser.

`LocalEngine.train_clients` returns one row a client. How a stack of clients is worked through is chosen
per device and never changes results beyond float tolerance: on a CPU each core works on its own clients
(`fedpriv.local.threads`), on a GPU clients are stacked into one launch (`fedpriv.local.stacks`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import torch

from fedpriv.local.loss import CROSS_ENTROPY, Loss
from fedpriv.local.work import FedAvg, LocalWork, Speed
from fedpriv.mechanisms.private_gradient import Gradient, PrivateGradient
from fedpriv.mechanisms.sampling import poisson_batch
from fedpriv.models import Model
from fedpriv.models.base import Example, Layout, Shapes, layout
from fedpriv.models.layers import signs
from fedpriv.store.gpus import kernels
from fedpriv.streams import Noise

if TYPE_CHECKING:
    import torch


Pieces = Sequence[torch.Tensor]  # `[..., d_i]`, which one after the other are a flat tensor `[..., d]`
CACHED = 1 << 17  # numbers of a piece on a CPU: it stays in a core's cache from one operator to the next


class ClientState(NamedTuple):
    """What a client changes in place: weights `[..., d]`, its optimiser's moments, its steps.

    An optimiser without moments has `[..., 0]`.
    """

    weights: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor
    steps: torch.Tensor  # [...], int64


def initial_client_state(weights: torch.Tensor, work: LocalWork) -> ClientState:
    """Return the state before the first step from `weights`, which are not copied."""
    steps = torch.zeros(weights.shape[:-1], dtype=torch.int64, device=weights.device)
    like = weights if work.has_moments else weights[..., :0]
    return ClientState(weights, torch.zeros_like(like), torch.zeros_like(like), steps)


def add_penalty(
    work: FedAvg, gradient: Pieces, weights: torch.Tensor, sent: torch.Tensor, running: torch.Tensor
) -> Pieces:
    """Return a gradient `[..., d]` with that of the proximal term, and clipped, if it is to be; in place.

    `running` statistics are no weights, and nothing draws them back: they are set to those that were `sent`,
    until `update_running_statistics`.
    """
    if not work.proximal and not work.clip_gradient:
        return gradient
    weights[..., running] = sent[..., running]
    pieces = gradient if weights.shape[-1] > CACHED else [torch.cat([*gradient], dim=-1)]
    sizes, norms = [piece.shape[-1] for piece in pieces], []
    for piece, part, before in zip(pieces, weights.split(sizes, -1), sent.split(sizes, -1), strict=True):
        if work.proximal:
            piece.add_(part - before, alpha=work.proximal)
        norms.append(piece.norm(dim=-1, keepdim=True))
    if work.clip_gradient:
        norm = torch.cat(norms, dim=-1).norm(dim=-1, keepdim=True)
        scale = work.clip_gradient / norm.clamp(min=work.clip_gradient)
        for piece in pieces:
            piece.mul_(scale)
    return pieces


def optimise(work: FedAvg, state: ClientState, gradient: Pieces) -> None:
    """Take one optimiser step in place, elementwise.

    Piece by piece: to put the gradient of a large network together costs more than the step.
    """
    sizes = [piece.shape[-1] for piece in gradient]
    parts = state.weights.split(sizes, dim=-1)
    if work.optimizer == "sgd":
        if work.momentum:
            kept = state.first.split(sizes, dim=-1)
            gradient = [old.mul_(work.momentum).add_(new) for old, new in zip(kept, gradient, strict=True)]
        for part, piece in zip(parts, gradient, strict=True):
            part.add_(piece, alpha=-work.learning_rate)
        return
    # Adam (Kingma and Ba, 2015, algorithm 1)
    beta1, beta2 = work.adam_betas
    steps = state.steps.add_(1).double()[..., None]
    rate, whole = (work.learning_rate / (1 - beta1**steps)).float(), (1 - beta2**steps).float()
    if steps.device.type == "cuda" and (engine := kernels()):
        engine.adam(*state[:3], gradient[0], rate, whole, (beta1, beta2))
        return
    moments = (state.first.split(sizes, dim=-1), state.second.split(sizes, dim=-1))
    for part, first, second, new in zip(parts, *moments, gradient, strict=True):
        first.lerp_(new, 1 - beta1)
        second.mul_(beta2).addcmul_(new, new, value=1 - beta2)
        part.sub_(first / (second / whole).sqrt_().add_(1e-8) * rate)


MOMENTUM = 0.1  # of the running statistics of a normalisation, as everywhere


@dataclass(frozen=True)
class Task:
    """What is learned: a model on inputs (see `as_read`) and labels `[n, ...]` by a loss, on one device."""

    model: Model
    classes: int
    inputs: torch.Tensor
    labels: torch.Tensor
    loss: Loss = CROSS_ENTROPY

    def __post_init__(self) -> None:
        """Raise BadInput where the model cannot read the inputs, before any work on them."""
        _ = self.shapes
        self.examine(self.inputs, self.labels)

    @property
    def example(self) -> Example:
        """Return the shape of what the model reads of one example."""
        grey = self.inputs.dim() == 3 and self.inputs.dtype == torch.uint8
        return (1, *self.inputs.shape[1:]) if grey else tuple(self.inputs.shape[1:])

    @property
    def outputs(self) -> Example | None:
        """Return the shape of what the model gives of one example; None: only a loss of one's own knows."""
        return self.loss.outputs(self.classes, tuple(self.labels.shape[1:]))

    @property
    def width(self) -> int:
        """Number of outputs of an example, or of each of its positions."""
        return self.outputs[-1] if self.outputs else self.classes

    def examine(self, inputs: torch.Tensor, labels: torch.Tensor) -> None:
        """Raise BadInput where the model or the loss cannot read such examples: a pass over two is tried."""
        outputs = self.model.tried(try_inputs(inputs, self.example), self.classes, self.outputs)
        if len(labels):
            self.loss.check(outputs, labels)

    @cached_property
    def alone(self) -> str:
        """Name the part of model or loss that `vmap` cannot stack; empty: it can stack all.

        Where there is something, no example has a gradient by itself, and clients are worked on one by one.
        """
        x = try_inputs(self.inputs, self.example)
        return self.model.unstackable(x) or self.loss.unstackable(
            self.model.tried(x, self.classes, self.outputs), self.labels
        )

    @cached_property
    def shapes(self) -> Shapes:
        return self.model.shapes(self.width, self.example)

    @cached_property
    def layout(self) -> Layout:
        return layout(self.model, self.width, self.example)

    @cached_property
    def running(self) -> torch.Tensor:
        """Return the places in a flat vector of running statistics, which no gradient moves."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        ranges = [
            np.arange(end - math.prod(shape), end)
            for end, (name, shape) in zip(ends, self.shapes.items(), strict=True)
            if self.model.normalises and name.endswith((".mean", ".variance"))
        ]
        places = np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)
        return torch.from_numpy(places).to(self.inputs.device)

    def effective(self, weights: torch.Tensor, uniforms: torch.Tensor | None = None) -> torch.Tensor:
        """Return the weights `[..., d]` that a pass uses: of a binary model their signs (see `signs`)."""
        if not self.model.binary:
            return weights
        bits = self.layout.protected
        drawn = signs(weights[..., :bits], None if uniforms is None else uniforms[..., :bits])
        return torch.cat([drawn, weights[..., bits:]], dim=-1)

    def upload(
        self, weights: torch.Tensor, uniforms: torch.Tensor | None, sent: torch.Tensor, send_weights: bool
    ) -> torch.Tensor:
        """Return the upload after local steps from `sent` to `weights` `[..., d]`: these, or the change."""
        used = self.effective(weights, uniforms)
        return used if send_weights else used - sent


class Client(NamedTuple):
    """One member of a round: the rows of the inputs it holds, its own streams, and what it has kept."""

    rows: np.ndarray
    rng: np.random.Generator
    noise: Noise | None = None
    signs: np.random.Generator | None = None  # of stochastic signs
    kept: ClientState | None = None

    def uniforms(self, steps: int, numbers: int) -> torch.Tensor | None:
        """Draw the uniforms of the signs of every step and the upload `[steps + 1, numbers]`, or None."""
        if self.signs is None:
            return None
        return torch.from_numpy(self.signs.random((steps + 1, numbers), dtype=np.float32))

    def one_batch(self, batch_size: int | None) -> np.ndarray:
        """Return the rows of one gradient: a Poisson batch of that expected size, or all."""
        if not batch_size or not len(self.rows):
            return self.rows
        return self.rows[poisson_batch(len(self.rows), batch_size, self.rng)]

    def mini_batches(self, work: FedAvg) -> list[np.ndarray]:
        """Return the rows of every local step, in order."""
        return [self.rows[batch] for batch in batches(work, len(self.rows), self.rng)]

    def snapshot(self) -> Callable[[], None]:
        """Return a function that puts the streams back to their state of now."""
        noise = self.noise.generator if self.noise else None
        generators = [generator.bit_generator for generator in (self.rng, self.signs, noise) if generator]
        states = [generator.state for generator in generators]

        def back() -> None:
            for generator, state in zip(generators, states, strict=True):
                generator.state = state

        return back


class ClientResults(NamedTuple):
    """What a stack of clients has done: a row for each."""

    updates: torch.Tensor  # [clients, d], with the noise of their local work
    losses: torch.Tensor  # [clients], mean training loss
    clean: torch.Tensor  # [clients, d], without that noise; after several noisy steps there is none: updates
    distances: dict[str, np.ndarray]  # of private gradients: [steps, clients, samples], leave-one-out
    share_clipped: np.ndarray  # of private gradients: [clients, steps]


def collect_results(
    updates: torch.Tensor, losses: torch.Tensor, clean: torch.Tensor, gradients: Sequence[Sequence[Gradient]]
) -> ClientResults:
    """Collect the results of a round, with every client's private `gradients`, one a step."""
    distances = {
        name: np.array([[step.distances[name] for step in client] for client in gradients]).swapaxes(0, 1)
        for name in (gradients[0][0].distances if len(gradients) else ())
    }
    shares = np.array([[step.share_clipped for step in client] for client in gradients])
    return ClientResults(updates, losses, clean, distances, shares)


def try_inputs(inputs: torch.Tensor, example: Example) -> torch.Tensor:
    """Return two examples `[2, *example]`, on CPU, that inputs could have; they are made up.

    Whole numbers may be places in a table, so they are two examples of the data, of which one holds the
    smallest and one the largest.
    """
    if inputs.is_floating_point() or inputs.dtype == torch.uint8 or not len(inputs):
        return torch.rand(2, *example, generator=torch.Generator().manual_seed(0))
    flat = inputs.flatten(1)
    low, high = (int(place) // flat.shape[1] for place in (flat.argmin(), flat.argmax()))
    if low == high:  # the first that is another one
        high = int((flat != flat[low]).any(1).int().argmax())
    return inputs[[low, high]].cpu()


def as_read(inputs: torch.Tensor) -> torch.Tensor:
    """Return inputs as a model reads them: bytes as parts of 255, images as `pixels`, whole numbers as such.

    All that are not whole numbers are float32.
    """
    if inputs.dtype in (torch.int32, torch.int64):
        return inputs
    if inputs.dtype != torch.uint8:
        return inputs.float()
    return pixels(inputs) if inputs.dim() > 2 else inputs / 255


def pixels(images: torch.Tensor) -> torch.Tensor:
    """Return uint8 images `[n, (c,) h, w]` as float32 `[n, c, h, w]` in [0, 1], on a CPU with channels last.

    `contiguous(memory_format=...)` leaves a one-channel tensor as it is and the first convolution in its
    slow layout, so the strides are asked for when the tensor is made. On a GPU stacked clients want the
    usual ones.
    """
    images = images[:, None] if images.dim() == 3 else images
    if images.device.type != "cpu":
        return images / 255
    x = torch.empty(images.shape, device=images.device, memory_format=torch.channels_last)
    x.copy_(images)
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


def update_running_statistics(
    task: Task, weights: torch.Tensor, before: torch.Tensor, statistics: torch.Tensor
) -> None:
    """Give running statistics `[..., r]` the place between those `before` and those of this batch; clip.

    Auxiliary weights of a binary model stay in [-1, 1].
    """
    if len(task.running):
        weights[..., task.running] = before.lerp(statistics, MOMENTUM)
    if task.model.binary:
        weights[..., : task.layout.protected].clamp_(-1, 1)


class LocalEngine:
    """A way to work through clients on one task. Use as a context manager."""

    arithmetic: str  # libraries, kernels, types, the size of a pass; it may be better than asked for

    def __init__(self, task: Task):
        self.task = task

    @property
    def name(self) -> str:
        """All that the last bits depend on: the arithmetic, and code that is not ours."""
        return ", ".join(filter(None, (self.arithmetic, self.task.model.code, self.task.loss.code)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is held between calls."""

    def train_clients(
        self,
        work: LocalWork,
        flat: torch.Tensor,
        clients: Sequence[Client],
        private_gradient: PrivateGradient | None = None,
        send_weights: bool = False,
    ) -> ClientResults:
        """Return the upload of each client after its local work at `flat` `[d]`.

        `fedsgd`: minus the mean gradient over its examples, or over a Poisson batch with its expected size as
        denominator. `fedavg`: the change of the weights after the local steps; its loss is that of the last
        mini-batch. `send_weights` asks for the weights themselves, of a binary model as a pass uses them. A
        client that has kept weights goes on from these. With `private_gradient` every gradient is private and
        every batch a Poisson batch. A client without examples changes nothing.
        """
        raise NotImplementedError

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]`, float32, of inputs as a task has them."""
        raise NotImplementedError


def local_engine(task: Task, speed: Speed) -> LocalEngine:
    """Return the engine of the device that the task lies on: threads on a CPU, stacks on a GPU."""
    if task.inputs.device.type == "cpu":
        from fedpriv.local.threads import CpuBackend

        return CpuBackend(task, speed)
    from fedpriv.local.stacks import GpuBackend

    return GpuBackend(task, speed)
