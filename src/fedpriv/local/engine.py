"""Where local work is done: on the backend of the task's device.

`train_clients` returns one row a client. How a stack of clients is worked through is chosen per device and
never changes results beyond float tolerance: on a CPU each core works on its own clients
(`fedpriv.local.threads`), on a GPU clients are stacked into one launch (`fedpriv.local.stacks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from fedpriv.local.client import Client, ClientResults, Task
from fedpriv.local.work import LocalWork, Speed
from fedpriv.mechanisms.private_gradient import PrivateGradient

if TYPE_CHECKING:
    import torch


class Backend(Protocol):
    """A way to work through clients."""

    name: str  # says all that the last bits depend on, beside what is computed

    def train_clients(
        self,
        work: LocalWork,
        flat: torch.Tensor,
        clients: Sequence[Client],
        private_gradient: PrivateGradient | None,
        send_weights: bool,
    ) -> ClientResults:
        """Return what each client sends: see `LocalEngine.train_clients`."""
        ...

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]`, float32, of inputs as a task has them."""
        ...

    def close(self) -> None:
        """Let go of what is held between calls."""
        ...


def backend_for(task: Task, speed: Speed) -> Backend:
    """Return the backend of the device that the task lies on."""
    if task.inputs.device.type == "cpu":
        from fedpriv.local.threads import CpuBackend

        return CpuBackend(task, speed)
    from fedpriv.local.stacks import GpuBackend

    return GpuBackend(task, speed)


class LocalEngine:
    """Local work on one task; holds the worker threads on a CPU. Use as a context manager."""

    def __init__(self, task: Task, speed: Speed):
        self.task = task
        self._backend = backend_for(task, speed)

    @property
    def name(self) -> str:
        """Return what the last bits depend on: libraries, kernels, arithmetic, the size of a pass, code.

        The arithmetic may be better than the one asked for.
        """
        return ", ".join(filter(None, (self._backend.name, self.task.model.code, self.task.loss.code)))

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._backend.close()

    def train_clients(
        self,
        work: LocalWork,
        flat: torch.Tensor,
        clients: Sequence[Client],
        private_gradient: PrivateGradient | None = None,
        send_weights: bool = False,
    ) -> ClientResults:
        """Return what each client sends after its local work at `flat` `[d]`.

        `fedsgd`: minus the mean gradient over its examples, or over a Poisson batch with its expected size as
        denominator. `fedavg`: the change of the weights after the local steps; its loss is that of the last
        mini-batch. `send_weights` asks for the weights themselves, of a binary model as a pass uses them. A
        client that has kept weights goes on from these. With `private_gradient` every gradient is private and
        every batch a Poisson batch. A client without examples changes nothing.
        """
        return self._backend.train_clients(work, flat, clients, private_gradient, send_weights)

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits `[n, classes]`, float32, of inputs as a task has them."""
        return self._backend.logits(flat, inputs)
