"""Every backend of local work that there is, for tests of what all of them do.

FEDPRIV_TEST_DEVICE names the device of the stacked one: `cuda` tries it where a GPU is, else it is the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from fedpriv.local import threads
from fedpriv.local.client import Client, ClientResults, ClientState, Task
from fedpriv.local.stacks import GpuBackend
from fedpriv.local.threads import CpuBackend
from fedpriv.local.work import Speed

DEVICE = torch.device(os.environ.get("FEDPRIV_TEST_DEVICE", "cpu"))


def without_kernels(task: Task, speed: Speed) -> CpuBackend:
    """Return the threads as they are where no package brings engines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "engines", lambda: None)
        return CpuBackend(task, speed)


def moved(kept: ClientState) -> ClientState:
    """Return what a client has kept, copied to DEVICE."""
    return ClientState(*(part.to(DEVICE, copy=True) for part in kept))


class Stacked(GpuBackend):
    """The stacks on DEVICE, which take from and give to the CPU."""

    def __init__(self, task: Task, speed: Speed):
        super().__init__(replace(task, inputs=task.inputs.to(DEVICE), labels=task.labels.to(DEVICE)), speed)

    def train_clients(
        self, work: Any, flat: torch.Tensor, clients: Sequence[Client], *others: Any, **more: Any
    ) -> ClientResults:
        there = [client._replace(kept=client.kept and moved(client.kept)) for client in clients]
        found = super().train_clients(work, flat.to(DEVICE), there, *others, **more)
        for client, worked in zip(clients, there, strict=True):
            if client.kept and worked.kept:
                for own, part in zip(client.kept, worked.kept, strict=True):
                    own.copy_(part)
        here = {name: part.cpu() for name, part in found._asdict().items() if isinstance(part, torch.Tensor)}
        return found._replace(**here)

    def logits(self, flat: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return super().logits(flat.to(DEVICE), inputs.to(DEVICE)).cpu()


# cuDNN's deterministic gradients of small batches under 5x5 convolutions are a thousand times as far from
# float64 as its others: 1e-4 of their length, measured on an H100.
TOLERANCE = 1e-5 if DEVICE.type == "cpu" else 3e-4

BACKENDS = {"threads": CpuBackend, "without_kernels": without_kernels, "stacks": Stacked}


def every_backend(test: Any) -> Any:
    """Run a test with each of them as `backend`."""
    return pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)(test)
