"""Which GPU a process takes where several share a workstation: one that no other has, while there is one.

A claim is a lock on a file, so it ends with its process, however that ends. Where a process sees one
device, as under a scheduler, there is nothing to claim.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from filelock import FileLock, Timeout

from fedpriv.errors import BadInput

if TYPE_CHECKING:
    import torch


class DeviceLock(NamedTuple):
    """A device that is ours as long as this is referred to."""

    number: int  # among the devices that were offered
    lock: FileLock


def select_device(setting: str) -> torch.device:
    """Return the device that `speed.device` means: `auto` takes a GPU where there is one, else the CPU."""
    import torch

    if setting == "cuda" and not torch.cuda.is_available():
        raise BadInput("speed.device: found cuda, but torch sees no CUDA device; allowed here: auto, cpu")
    if setting == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", own_claim().number)
    torch.cuda.set_device(device)  # for whatever asks for no device by number
    return device


@cache  # refers to it for the life of the process
def own_claim() -> DeviceLock:
    """Return this process's claim on one of the GPUs that torch sees here, by locks of this user's.

    What CUDA_VISIBLE_DEVICES hides is not taken. Nobody waits: when every device is taken, they are shared
    evenly. Claims of other users are not seen.
    """
    import torch

    names = [str(torch.cuda.get_device_properties(gpu).uuid) for gpu in range(torch.cuda.device_count())]
    return claim(names, Path(tempfile.gettempdir()) / f"fedpriv-devices-{os.getuid()}")


@cache
def kernels() -> Any:
    """Return the kernels for GPUs that an installed package offers; None: PyTorch does the work.

    `fedpriv-engines` does, where PyTorch brings Triton and the GPU has TF32 (Ampere and later).
    FEDPRIV_NATIVE=0 switches it off.
    """
    import torch

    if os.environ.get("FEDPRIV_NATIVE") == "0" or torch.cuda.get_device_capability() < (8, 0):
        return None
    with suppress(ImportError):
        return next((point.load() for point in entry_points(group="fedpriv_engines", name="gpu")), None)


def claim(names: Sequence[str], folder: Path) -> DeviceLock:
    """Claim one of the devices `names`, each named the same by every process that claims in `folder`.

    It is the first that nobody has; when all are taken, the first that one other process has, and so on.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    others = 0
    while True:
        for number, name in enumerate(names):
            lock = FileLock(folder / f"{name}.{others}", blocking=False)
            with suppress(Timeout):
                lock.acquire()
                return DeviceLock(number, lock)
        others += 1
