"""What computes: torch and the GPUs that it sees, cores, our C code, the allocator."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from fedpriv.doctor.finding import Finding
from fedpriv.machine import allocator
from fedpriv.models import native

DRIVER = Path("/proc/driver/nvidia/version")


def torch() -> Finding:
    """Name torch's version and the devices that it sees; a GPU that it cannot use is something to do."""
    if find_spec("torch") is None:
        return Finding(
            "torch", "missing", "not installed; pip install -c constraints.txt -e '.[train]' brings it"
        )
    import torch

    if torch.cuda.is_available():
        seen = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
        devices = ", ".join(f"{one.name} ({one.total_memory / 2**30:.0f} GiB)" for one in seen)
        return Finding("torch", "ok", f"{torch.__version__}, {devices}")
    said = f"{torch.__version__}, runs on the CPU"
    if not DRIVER.exists():
        return Finding("torch", "ok", f"{said}: no GPU here")
    if torch.version.cuda is None:
        wanted = "install the torch that https://pytorch.org/get-started names for CUDA"
        return Finding(
            "torch", "to do", f"{said}: an NVIDIA driver is here, but this torch has no CUDA; {wanted}"
        )
    return Finding(
        "torch",
        "to do",
        f"{said}: an NVIDIA driver is here, but its GPU cannot be used with CUDA {torch.version.cuda}; see "
        "whether nvidia-smi lists it and CUDA_VISIBLE_DEVICES allows it, or bring the driver up to date",
    )


def cores() -> Finding:
    """Count the cores that this process may use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("cores", "ok", str(count))


def engine(name: str) -> Finding:
    """Say whether the C code of that name can be used, and why not."""
    if native.available(name):
        return Finding(f"native {name}", "ok", "available")
    why = f"not available: {native.why_not(name)}; torch does its work, slower"
    return Finding(f"native {name}", "to do", why)


def memory() -> Finding:
    """Say what has been done about freed memory."""
    return Finding("allocator", "ok", allocator.describe())
