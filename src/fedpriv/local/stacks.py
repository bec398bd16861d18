"""Local work on a GPU: clients are a tensor axis, one launch works on a stack of them.

Clients of unequal size are padded; a padding example has weight zero, so it adds exactly nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch.func import grad_and_value, vmap

from fedpriv.local.client import (
    Client,
    ClientResults,
    ClientState,
    LocalEngine,
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
from fedpriv.mechanisms.private_gradient import Gradient, PrivateGradient, privatise_stack
from fedpriv.models.base import Params, flatten_stack, unflatten
from fedpriv.store.gpus import kernels

Launched = tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[list[Gradient]]]  # updates, clean, losses


class GpuBackend(LocalEngine):
    """Stacked launches over one task; what does not fit into memory is tried again by halves."""

    def __init__(self, task: Task, speed: Speed):
        super().__init__(task)
        self.stack = 1 if task.alone else speed.stack  # clients in a launch
        self.chunk = 5000  # images in an evaluation
        self.dtype = torch.bfloat16 if speed.dtype == "bfloat16" else torch.float32
        self.device = task.inputs.device
        # What is called float32 is that: TF32, which convolutions take unless told, has 10 of its 23 bits.
        tf32 = speed.dtype == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        dtype = "float32 without TF32" if speed.dtype == "float32" else speed.dtype
        if self.device.type == "cuda":
            # Sums in one order: the same GPU finds the same bits, but where torch knows no way and warns.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when a device is first used
            torch.use_deterministic_algorithms(True, warn_only=True)
            # Nothing here reads memory that nobody wrote.
            setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010
            dtype += ", deterministic algorithms"
            dtype += f", {engine.NAME}" if (engine := kernels()) else ""
        self.arithmetic = (
            f"torch {torch.__version__} {self.device.type}, {dtype}, {self.stack} clients a launch"
        )

    def train_clients(
        self,
        work: LocalWork,
        flat: torch.Tensor,
        clients: Sequence[Client],
        private_gradient: PrivateGradient | None = None,
        send_weights: bool = False,
    ) -> ClientResults:
        if isinstance(work, FedAvg):
            launch = partial(self._fedavg, work, private_gradient, send_weights, flat)
        else:
            launch = partial(self._fedsgd, work, private_gradient, flat)
        none = flat.new_zeros(0, len(flat))
        updates, clean, losses, gradients = [none], [none], [flat.new_zeros(0)], []
        start = 0
        while start < len(clients):
            stack = clients[start : start + self.stack]
            done = attempt_stack(launch, stack)
            if done is None:
                self.stack = -(-len(stack) // 2)
                release(self.device)
                continue
            rows, without_noise, loss, private = done
            updates.append(rows)
            clean.append(without_noise)
            losses.append(loss)
            gradients += private
            start += len(stack)
        together = torch.cat(updates)
        with_clean = private_gradient and isinstance(work, FedSGD)
        return collect_results(
            together, torch.cat(losses), torch.cat(clean) if with_clean else together, gradients
        )

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        try:
            with torch.no_grad():
                used = self._named(self.task.effective(flat))
                return torch.cat([self._forward(used, as_read(chunk)) for chunk in inputs.split(self.chunk)])
        except torch.OutOfMemoryError:
            if self.chunk == 1:
                raise
        self.chunk = -(-self.chunk // 2)
        release(self.device)
        return self.logits(flat, inputs)

    def _forward(self, params: Params, x: torch.Tensor) -> torch.Tensor:
        if not self.task.model.stacked:
            return self.task.model.apply(self._cast(params), x).float()
        stack = {name: weights[None] for name, weights in self._cast(params).items()}
        return self.task.model.apply(stack, x[None])[0].float()

    def _cast(self, params: Params) -> Params:
        return {name: weights.to(self.dtype) for name, weights in params.items()}

    def _gradients(
        self, weights: torch.Tensor, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return gradients `[s, d]` of the weighted sums of losses, these `[s]`, and statistics `[s, r]`.

        Each member of the stack has its row of `weights` `[s, d]`, or those of all `[d]`; inputs
        `[s, n, ...]`, labels and `weight` `[s, n]`. `vmap` makes of a model that knows no stacks one that
        does; what `vmap` cannot stack is worked on alone, in stacks of one.
        """
        if not self.task.model.stacked and not self.task.alone:
            of_one = grad_and_value(self._losses, has_aux=True)
            each = vmap(of_one, in_dims=(None, 0, 0, 0) if weights.dim() == 1 else 0)
            gradients, (losses, learned) = each(self._named(weights), x, y, weight)
        else:
            # Views of the same numbers, one a member: so their gradients stay apart.
            own = self._named(weights.expand(len(x), -1))
            own = {name: leaf.detach().requires_grad_() for name, leaf in own.items()}
            if self.task.alone:
                only = {name: leaf[0] for name, leaf in own.items()}
                loss, learned = self._losses(only, x[0], y[0], weight[0])
                losses, learned = loss[None], [values[None] for values in learned]
            else:
                losses, learned = self._losses(own, x, y, weight)
            parts = torch.autograd.grad(losses.sum(), list(own.values()), materialize_grads=True)
            gradients = dict(zip(own, parts, strict=True))
        statistics = [values.detach() for values in learned] or [losses.new_zeros(len(x), 0)]
        return flatten_stack(gradients), losses.detach(), torch.cat(statistics, dim=1)

    def _losses(
        self, params: Params, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return the weighted sum of losses in training and the running statistics of this batch.

        Of one client, or of a stack of them where `weight` `[s, n]` has two dimensions.
        """
        last = weight.dim() - 1
        logits, statistics = self.task.model.learn(self._cast(params), x, weight)
        each = self.task.loss.of(logits.float().flatten(0, last), y.flatten(0, last), "none").view_as(weight)
        learned = [statistics[name].float() for name in self.task.shapes if name in statistics]
        return (each * weight).sum(last), learned

    def _examples(
        self, weights: torch.Tensor, x: torch.Tensor, y: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the gradient of every example `[s, n, d]` and the losses `[s, n]`: a stack of them all."""
        rows = weights if weights.dim() == 1 else weights.repeat_interleave(x.shape[1], 0)
        alone = x.flatten(0, 1)[:, None], y.flatten(0, 1)[:, None]
        weight = torch.ones(len(alone[0]), 1, device=self.device)
        gradients, losses, _ = self._gradients(rows, *alone, weight)
        return gradients.unflatten(0, x.shape[:2]), losses.unflatten(0, x.shape[:2])

    def _named(self, flat: torch.Tensor) -> Params:
        """Return views of weights `[..., d]`; gradients are taken by these.

        By the vector each would be a vector of zeros but for its place.
        """
        return unflatten(flat, self.task.shapes)

    def _gather(
        self, rows: Sequence[np.ndarray], denominator: int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return inputs `[c, n, ...]`, labels and weights `[c, n]` padded to the longest client.

        A weight is 1/`denominator`, by default one over the client's own number of rows.
        """
        sizes = np.array([len(batch) for batch in rows])[:, None]
        present = np.arange(max(1, sizes.max(initial=0))) < sizes
        index = np.zeros(present.shape, dtype=np.int64)
        index[present] = np.concatenate([*rows, index[:0, 0]])
        weight = present / np.maximum(denominator or sizes, 1)
        where = torch.from_numpy(index).to(self.device)
        x = as_read(self.task.inputs[where.flatten()]).unflatten(0, where.shape)
        return x, self.task.labels[where], torch.from_numpy(weight.astype(np.float32)).to(self.device)

    def _private(
        self, private_gradient: PrivateGradient, weights: torch.Tensor, clients: Sequence[Client]
    ) -> tuple[list[Gradient], torch.Tensor]:
        """Return a private gradient of each client, and the losses.

        At its row of `weights` `[c, d]`, or at those of all `[d]`.
        """
        batches = [client.one_batch(private_gradient.batch_size) for client in clients]
        x, y, weight = self._gather(batches, private_gradient.batch_size)
        samples = private_gradient.samples
        if bound := private_gradient.example_clip_l2:
            gradients, of_examples = self._examples(weights, x, y)
            losses = (of_examples * weight).sum(1)
            bounded, _ = clip(gradients.flatten(0, 1), bound)
            assert bounded.inside is not None
            present = weight > 0
            rows = bounded.updates.unflatten(0, present.shape) * weight[..., None]
            clipped = present & ~bounded.inside.view(present.shape)
            shares = clipped.sum(1) / present.sum(1).clamp(min=1)
            totals = rows.sum(1)
            rows = rows[:, :samples]
        else:
            totals, losses, _ = self._gradients(weights, x, y, weight)
            rows = totals.new_zeros(len(clients), 0, totals.shape[1])
            if samples:
                gradients, _ = self._examples(weights, x[:, :samples], y[:, :samples])
                rows = gradients * weight[:, :samples, None]
            shares = None
        sizes = list(map(len, batches))
        noises = [client.noise for client in clients if client.noise]
        return privatise_stack(private_gradient, totals, rows, sizes, shares, noises), losses

    def _fedsgd(
        self,
        work: LocalWork,
        private_gradient: PrivateGradient | None,
        flat: torch.Tensor,
        clients: Sequence[Client],
    ) -> Launched:
        if private_gradient:
            private, losses = self._private(private_gradient, flat, clients)
            noisy, clean = (torch.stack(rows) for rows in list(zip(*private, strict=True))[:2])
            return -noisy, -clean, losses, [[gradient] for gradient in private]
        rows = [client.one_batch(work.batch_size) for client in clients]
        x, y, weight = self._gather(rows, work.batch_size)
        gradients, losses, _ = self._gradients(flat, x, y, weight)
        gradients = -gradients
        return gradients, gradients, losses, []

    def _fedavg(
        self,
        work: FedAvg,
        private_gradient: PrivateGradient | None,
        send_weights: bool,
        flat: torch.Tensor,
        clients: Sequence[Client],
    ):
        kept = self._start(work, flat, clients)
        uniforms, private = None, []
        if private_gradient:
            losses, private = self._private_steps(work, private_gradient, kept, clients)
        else:
            plans = [client.mini_batches(work) for client in clients]
            steps = max(map(len, plans))
            drawn = [
                client.uniforms(len(plan), len(flat)) for client, plan in zip(clients, plans, strict=True)
            ]
            uniforms = self._padded(drawn, steps)
            losses = self._steps(work, flat, kept, plans, uniforms, steps)
        last = None if uniforms is None else uniforms[:, -1]
        self._remember(kept, clients)
        sent = self.task.upload(kept.weights, last, flat, send_weights)
        return sent, sent, losses, private

    def _start(self, work: FedAvg, flat: torch.Tensor, clients: Sequence[Client]) -> ClientState:
        """Return the state that the clients start from, stacked."""
        every = [client.kept for client in clients if client.kept]
        if not every:
            return initial_client_state(flat.expand(len(clients), -1).clone(), work)
        return ClientState(*map(torch.stack, map(list, zip(*every, strict=True))))

    def _remember(self, kept: ClientState, clients: Sequence[Client]) -> None:
        """Give every persistent client what is its own of `kept`."""
        for row, client in enumerate(clients):
            if client.kept:
                for own, part in zip(client.kept, kept, strict=True):
                    own.copy_(part[row])

    def _padded(self, drawn: Sequence[torch.Tensor | None], steps: int) -> torch.Tensor | None:
        """Return the clients' uniforms `[c, steps + 1, d]`; those of an upload are always the last."""
        if not drawn or drawn[0] is None:
            return None
        own = [rows for rows in drawn if rows is not None]
        filled = [torch.cat([rows[:-1], rows[-1:].expand(steps + 2 - len(rows), -1)]) for rows in own]
        return torch.stack(filled).to(self.device)

    def _private_steps(
        self, work: FedAvg, private_gradient: PrivateGradient, kept: ClientState, clients: Sequence[Client]
    ) -> tuple[torch.Tensor, list[list[Gradient]]]:
        losses, steps = kept.weights.new_zeros(len(clients)), []
        for _ in range(work.steps or 0):
            private, losses = self._private(private_gradient, kept.weights, clients)
            steps.append(private)
            optimise(work, kept, [torch.stack([gradient.noisy for gradient in private])])
        return losses, [list(client) for client in zip(*steps, strict=True)]

    def _steps(
        self,
        work: FedAvg,
        flat: torch.Tensor,
        kept: ClientState,
        plans: Sequence[Sequence[np.ndarray]],
        uniforms: torch.Tensor | None,
        steps: int,
    ) -> torch.Tensor:
        """Take every client's steps, in place; return the losses on the last mini-batches."""
        weights, running = kept.weights, self.task.running
        losses, nothing = flat.new_zeros(len(plans)), np.empty(0, dtype=np.int64)
        for step in range(steps):
            now = [plan[step] if step < len(plan) else nothing for plan in plans]
            x, y, weight = self._gather(now)
            used = self.task.effective(weights, None if uniforms is None else uniforms[:, step])
            gradients, loss, learned = self._gradients(used, x, y, weight)
            # A client that has finished stays as it is, whatever its optimiser would do without a gradient.
            active = torch.tensor([len(batch) > 0 for batch in now], device=self.device)
            before = weights[:, running]
            copies = [] if all(map(len, now)) else [part.clone() for part in kept]
            optimise(work, kept, add_penalty(work, [gradients], weights, flat, running))
            update_running_statistics(self.task, weights, before, learned)
            for part, old in zip(kept, copies, strict=True) if copies else ():
                part.copy_(part.where(active.view(-1, *[1] * (part.dim() - 1)), old))
            losses = loss.where(active, losses)
        return losses


def attempt_stack(work: Callable[[Sequence[Client]], Launched], stack: Sequence[Client]) -> Launched | None:
    """Return the results of a stack, or None if memory could not hold it: its streams are then put back.

    Raises what torch raises if one client alone is too large.
    """
    marks = [client.snapshot() for client in stack]
    try:
        return work(stack)
    except torch.OutOfMemoryError:
        if len(stack) == 1:
            raise
    for back in marks:  # out of `except`, whose traceback would hold on to the memory
        back()
    return None


def release(device: torch.device) -> None:
    """Give back what the allocator of a GPU holds for nobody, before a smaller launch."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
