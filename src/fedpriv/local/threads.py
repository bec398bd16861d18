"""Local work on a CPU: one Python thread a core, each on its own clients.

Each thread runs its operators on one core, so there are no barriers inside an operator; torch and the
engines in C release the interpreter's lock. A client's result depends on nothing but the client, hence
not on the number of threads; where many hold the same examples, all share their gradients, which may change
its last bits (`fedpriv.local.shared`). Where an engine of the package `fedpriv-engines` knows the model, its
gradients at a batch, or all mini-batches of a client, are one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch.func import grad_and_value, vmap

from fedpriv.local import shared
from fedpriv.local.client import (
    CACHED,
    Client,
    ClientResults,
    ClientState,
    LocalEngine,
    Pieces,
    Task,
    add_penalty,
    as_read,
    collect_results,
    initial_client_state,
    optimise,
    update_running_statistics,
)
from fedpriv.local.work import FedAvg, FedSGD, LocalWork, Speed
from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.private_gradient import Gradient, PrivateGradient, privatise
from fedpriv.models.base import Params, flatten_stack, unflatten
from fedpriv.store.machine import cores, engines


class Steps(NamedTuple):
    """The local steps of one client, which are taken in place."""

    task: Task
    work: FedAvg
    start: torch.Tensor  # [d], the weights that it was sent
    kept: ClientState
    plan: list[np.ndarray]  # the rows of every mini-batch
    uniforms: torch.Tensor | None  # [steps + 1, d], of stochastic signs

    @property
    def batches(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return images, labels, the rows of all mini-batches one after the other, and their sizes."""
        rows = torch.from_numpy(np.concatenate(self.plan).astype(np.int64))
        return self.task.inputs, self.task.labels, rows, torch.tensor([len(batch) for batch in self.plan])


class Gradients(NamedTuple):
    """What the gradients at the examples of a batch are."""

    total: torch.Tensor  # [d], their sum
    sampled: torch.Tensor  # [samples, d], those of the first examples
    loss: float  # the sum of the losses
    clipped: int  # how many were clipped


class Compiled(Protocol):
    """What a package may know of a model: its passes in one call, float32."""

    @property
    def name(self) -> str:
        """The engine that computes, and its version."""
        ...

    def logits(self, inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]` of inputs `[n, ...]`."""
        ...


class GradientEngine(Compiled, Protocol):
    """Gradients of a model at all examples of a batch."""

    def gradient(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        rows: torch.Tensor,
        weights: torch.Tensor,
        clip: float = 0.0,
        samples: int = 0,
    ) -> Gradients:
        """Return the gradients at the examples `rows`, each clipped to a norm; 0: none is."""
        ...

    def each(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        rows: torch.Tensor,
        weights: torch.Tensor,
        to: torch.Tensor,
    ) -> torch.Tensor:
        """Write the gradient at every example of `rows` to `to` `[n, d]`; return the losses `[n]` float64."""
        ...

    @property
    def heavy(self) -> bool:
        """Whether a gradient costs much more than to add it to a sum."""
        ...


class StepEngine(Compiled, Protocol):
    """All local steps of a client."""

    def knows(self, work: FedAvg) -> bool:
        """Say whether `take` takes the steps of this work."""
        ...

    def take(self, asked: Steps) -> float:
        """Take the steps, in place; return the loss on the last mini-batch."""
        ...


EVALUATION_CHUNK = 500  # images; no gradients are kept, so it may be larger than a training chunk


class CpuBackend(LocalEngine):
    """Worker threads over one task."""

    def __init__(self, task: Task, speed: Speed):
        torch.set_num_threads(1)
        super().__init__(task)
        self.chunk = speed.chunk
        self.engine: GradientEngine | None = None  # for gradients
        self.step_engine: StepEngine | None = None  # for all local steps at once
        if (package := engines()) and task.loss.is_plain(task.labels):
            read = task.inputs.dtype, tuple(task.inputs.shape[1:])
            self.engine = package.gradient_engine(task.model.gradient_engine(task.classes), read)
            self.step_engine = package.step_engine(task.model.step_engine(task.classes), read)
        names = [engine.name for engine in (self.engine, self.step_engine) if engine]
        # The engines know float32 alone, and are faster in it than torch is in bfloat16.
        self.dtype = torch.bfloat16 if speed.dtype == "bfloat16" and not names else torch.float32
        filters = any(len(shape) == 4 for shape in task.shapes.values())
        self.copied = filters or self.dtype != torch.float32  # whether a pass reads the weights otherwise
        library = f"torch {torch.__version__} {torch.backends.cpu.get_cpu_capability()}"
        dtype = str(self.dtype).removeprefix("torch.")
        self.arithmetic = ", ".join((library, *names, dtype, f"{self.chunk} examples a pass"))
        workers = speed.threads or cores()
        self.pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)

    def train_clients(
        self,
        work: LocalWork,
        flat: torch.Tensor,
        clients: Sequence[Client],
        private_gradient: PrivateGradient | None = None,
        send_weights: bool = False,
    ) -> ClientResults:
        updates = torch.zeros(len(clients), len(flat))
        if isinstance(work, FedSGD) and not private_gradient:
            losses = self._one_gradient_each(work, flat, clients, updates)
            return collect_results(updates, losses, updates, [])
        if isinstance(work, FedAvg):
            clean = updates
            job = partial(self._fedavg, work, private_gradient, send_weights, flat)
        else:
            assert private_gradient
            clean = torch.zeros_like(updates)
            job = partial(self._fedsgd, private_gradient, flat)
        outcomes = list(self.pool.map(job, clients, updates, clean))
        losses = torch.tensor([loss for loss, _ in outcomes])
        return collect_results(updates, losses, clean, [gradients for _, gradients in outcomes if gradients])

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.cat(list(self.pool.map(self._forward(flat), inputs.split(EVALUATION_CHUNK))))

    def _forward(self, flat: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return the function from a chunk of inputs to its logits at `flat` `[d]`."""
        if net := self.step_engine:
            return lambda chunk: net.logits(chunk, flat)
        if engine := self.engine:
            return lambda chunk: engine.logits(chunk, flat)
        params = self._read(unflatten(self.task.effective(flat).detach(), self.task.shapes))
        return lambda chunk: self.task.model.apply(params, as_read(chunk)).float()

    def _leaves(self, flat: torch.Tensor) -> Params:
        """Return the weights `flat` `[d]` as autograd leaves; they are views: when it changes, so do they."""
        leaves = unflatten(flat.detach(), self.task.shapes)
        return {name: leaf.requires_grad_() for name, leaf in leaves.items()}

    def _read(self, params: Params) -> Params:
        """Return the weights as a pass reads them: in the arithmetic's dtype, channels-last."""
        if not self.copied:
            return params
        read = {name: weights.to(self.dtype) for name, weights in params.items()}
        return {
            name: weights.contiguous(memory_format=torch.channels_last) if weights.dim() == 4 else weights
            for name, weights in read.items()
        }

    def _gradient(
        self,
        engine: GradientEngine | None,
        flat: torch.Tensor,
        rows: torch.Tensor,
        denominator: float,
        leaves: Params | None = None,
    ) -> tuple[Pieces, float, torch.Tensor]:
        """Return Σ gradients over `rows` / denominator `[d]` in pieces; by an `engine` if given.

        And Σ losses / denominator, and the running statistics that this batch has `[r]`. `leaves` are those
        of `flat`, where they are there from an earlier step.
        """
        if engine:
            gradients = engine.gradient(self.task.inputs, self.task.labels, rows.long(), flat)
            return [gradients.total.mul_(1 / denominator)], gradients.loss / denominator, flat.new_zeros(0)
        leaves = leaves or self._leaves(flat)
        for leaf in leaves.values():
            leaf.grad = None
        total, statistics = 0.0, {}
        at_once = len(rows) if self.task.model.normalises else self.chunk
        for chunk in rows.split(at_once) if len(rows) > at_once else (rows,):
            x = as_read(self.task.inputs[chunk])
            weight = torch.full((len(chunk),), 1 / max(len(chunk), 1))
            logits, statistics = self.task.model.learn(self._read(leaves), x, weight)
            start, seed, loss = self.task.loss.start(logits.float(), self.task.labels[chunk], denominator)
            torch.autograd.backward(start, seed)
            total += loss
        parts = [
            flat.new_zeros(leaf.numel()) if leaf.grad is None or name in statistics else leaf.grad.flatten()
            for name, leaf in leaves.items()
        ]
        pieces = [piece for part in parts for piece in part.split(CACHED)]
        learned = [statistics[name].float() for name in self.task.shapes if name in statistics]
        return pieces, total, torch.cat(learned) if learned else flat.new_zeros(0)

    def _per_example(self, flat: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, float]:
        """Gradients of every example `[n, d]`, float32, and the sum of the losses."""
        params = unflatten(flat.to(self.dtype), self.task.shapes)
        gradients, losses = self._each(params, rows, self.shares_weights)
        return flatten_stack(gradients), float(losses.sum())

    def _each(self, params: Params, rows: torch.Tensor, shared: bool) -> tuple[Params, torch.Tensor]:
        """Gradients of every example, stacked, and the losses; the weights are `shared`, or views of them."""

        def loss(params: Params, x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
            outputs = self.task.model.apply(params, x[None]).float()
            return self.task.loss.of(outputs, label[None], "sum")

        if not shared:
            params = {name: leaf.expand(len(rows), *leaf.shape) for name, leaf in params.items()}
        each = vmap(grad_and_value(loss), in_dims=(None if shared else 0, 0, 0))
        return each(params, as_read(self.task.inputs[rows]), self.task.labels[rows])

    @cached_property
    def shares_weights(self) -> bool:
        """Whether `vmap` can take gradients of examples that share their weights, which are then read once.

        It cannot where a pass writes into a state that no example has by itself, as nn.GRUCell does.
        """
        params = {name: torch.zeros(shape, dtype=self.dtype) for name, shape in self.task.shapes.items()}
        try:
            self._each(params, torch.arange(min(2, len(self.task.inputs))), shared=True)
        except RuntimeError:
            return False
        return True

    def _private(
        self, private_gradient: PrivateGradient, flat: torch.Tensor, client: Client
    ) -> tuple[Gradient, float]:
        """Return one private gradient at `flat` and the loss on its batch; the first examples are sampled."""
        rows = torch.from_numpy(client.one_batch(private_gradient.batch_size))
        sums = self._gradients(private_gradient, flat, rows)
        mean, sampled = (total / private_gradient.batch_size for total in (sums.total, sums.sampled))
        assert client.noise is not None
        share = sums.clipped / max(len(rows), 1)
        gradient = privatise(private_gradient, mean, sampled, len(rows), share, client.noise)
        return gradient, sums.loss / private_gradient.batch_size

    def _gradients(
        self, private_gradient: PrivateGradient, flat: torch.Tensor, rows: torch.Tensor
    ) -> Gradients:
        """Return the gradients at `rows`, clipped one by one if asked for; the first examples are sampled."""
        if self.engine:
            examples = self.task.inputs, self.task.labels, rows.long()
            clip_l2 = private_gradient.example_clip_l2 or 0.0
            return self.engine.gradient(*examples, flat, clip_l2, private_gradient.samples)
        # Only examples whose gradient is needed by itself are worked on one by one.
        alone = rows if private_gradient.example_clip_l2 else rows[: private_gradient.samples]
        total, sampled = torch.zeros_like(flat), flat.new_zeros(0, len(flat))
        clipped, loss = 0, 0.0
        for chunk in alone.split(max(self.chunk, private_gradient.samples)) if len(alone) else ():
            gradients, chunk_loss = self._per_example(flat, chunk)
            if private_gradient.example_clip_l2:
                bounded, facts = clip(gradients, private_gradient.example_clip_l2)
                gradients, clipped = bounded.updates, clipped + round(facts["share_clipped"] * len(chunk))
            sampled = sampled if len(sampled) else gradients[: private_gradient.samples]
            total += gradients.sum(0)
            loss += chunk_loss
        others = 0.0  # a chunk at a time: what they add up to with those above depends on the order
        for chunk in rows[len(alone) :].split(self.chunk) if len(alone) < len(rows) else ():
            gradients, chunk_loss, _ = self._gradient(None, flat, chunk, 1.0)
            total += torch.cat([*gradients])
            others += chunk_loss
        return Gradients(total, sampled, loss + others, clipped)

    def _one_gradient_each(
        self, work: FedSGD, flat: torch.Tensor, clients: Sequence[Client], updates: torch.Tensor
    ) -> torch.Tensor:
        """Subtract every client's gradient from its row of `updates`; return the losses `[clients]`."""
        batches = [torch.from_numpy(client.one_batch(work.batch_size)).long() for client in clients]
        sizes = [work.batch_size or max(len(rows), 1) for rows in batches]
        if self.engine and shared.pays(self.engine, len(flat), batches):
            each = torch.tensor(sizes)
            sums, losses = shared.sum_gradients(self.engine, self.task, flat, batches, self.pool)
            updates.sub_(sums.div_(each[:, None]))
            return (losses / each).float()

        def subtract(rows: torch.Tensor, size: int, update: torch.Tensor) -> float:
            gradient, loss, _ = self._gradient(self.engine, flat, rows, size)
            update.sub_(torch.cat([*gradient]))
            return loss

        return torch.tensor([*self.pool.map(subtract, batches, sizes, updates)])

    def _fedsgd(
        self,
        private_gradient: PrivateGradient,
        flat: torch.Tensor,
        client: Client,
        update: torch.Tensor,
        clean: torch.Tensor,
    ) -> tuple[float, list[Gradient]]:
        gradient, loss = self._private(private_gradient, flat, client)
        update.copy_(-gradient.noisy)
        clean.copy_(-gradient.clean)
        return loss, [gradient]

    def _fedavg(
        self,
        work: FedAvg,
        private_gradient: PrivateGradient | None,
        send_weights: bool,
        flat: torch.Tensor,
        client: Client,
        update: torch.Tensor,
        clean: torch.Tensor,
    ) -> tuple[float, list[Gradient]]:
        kept = client.kept or initial_client_state(flat.clone(), work)
        uniforms, private = None, []
        if private_gradient:
            loss, private = self._private_steps(work, private_gradient, kept, client)
        else:
            plan = client.mini_batches(work)
            uniforms = client.uniforms(len(plan), len(flat))
            loss = self._steps(work, flat, kept, plan, uniforms) if plan else 0.0
        last = None if uniforms is None else uniforms[-1]
        update.copy_(self.task.upload(kept.weights, last, flat, send_weights))
        return loss, private

    def _private_steps(
        self, work: FedAvg, private_gradient: PrivateGradient, kept: ClientState, client: Client
    ) -> tuple[float, list[Gradient]]:
        private, loss = [], 0.0
        for _ in range(work.steps or 0):
            gradient, loss = self._private(private_gradient, kept.weights, client)
            private.append(gradient)
            optimise(work, kept, [gradient.noisy])
        return loss, private

    def _steps(
        self,
        work: FedAvg,
        flat: torch.Tensor,
        kept: ClientState,
        plan: list[np.ndarray],
        uniforms: torch.Tensor | None,
    ) -> float:
        """Take a step for each batch (rows of the inputs), in place; return the loss on the last one."""
        if (net := self.step_engine) and net.knows(work):
            return net.take(Steps(self.task, work, flat, kept, plan, uniforms))
        weights, loss, running = kept.weights, 0.0, self.task.running
        # Where a gradient is zero Winograd's algorithm leaves rounding, and Adam would make steps of it.
        engine = None if work.optimizer == "adam" else self.engine
        leaves = None if engine or self.task.model.binary else self._leaves(weights)
        for step, batch in enumerate(plan):
            used = self.task.effective(weights, None if uniforms is None else uniforms[step])
            before, rows = weights[running], torch.from_numpy(batch)
            gradient, loss, learned = self._gradient(engine, used, rows, len(rows), leaves)
            optimise(work, kept, add_penalty(work, gradient, weights, flat, running))
            update_running_statistics(self.task, weights, before, learned)
        return loss
