"""The machine: Python and the packages, torch and the GPUs that it sees, cores, our C code, Slurm."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from fedpriv.doctor.finding import Finding
from fedpriv.machine import allocator
from fedpriv.models import native

# Without these no run can be trained or accounted.
ESSENTIAL = (
    "dp_accounting",
    "msgpack",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "safetensors",
    "scipy",
    "torch",
    "yaml",
)
INSTALL = "pip install -c constraints.txt -e '.[train,workflow]' brings it all"
DRIVER = Path("/proc/driver/nvidia/version")
PLUGIN = "snakemake_executor_plugin_slurm"
SECONDS = 10  # for sinfo to answer


def python() -> Finding:
    """Name the interpreter's version."""
    return Finding("python", "ok", platform.python_version())


def lost(names: tuple[str, ...]) -> str:
    """Return those of the modules that cannot be imported, as one text."""
    return ", ".join(name for name in names if find_spec(name) is None)


def libraries() -> Finding:
    """Say which of the libraries that every run needs are missing."""
    if names := lost(ESSENTIAL):
        return Finding("libraries", "missing", f"no {names}; {INSTALL}")
    return Finding("libraries", "ok", "all there")


def photographs() -> Finding:
    """Name what only photographs and their features need."""
    if names := lost(("torchvision", "PIL", "kagglehub")):
        return Finding("photographs", "to do", f"no {names}; plain images work without; {INSTALL}")
    said = f"torchvision {version('torchvision')}, kagglehub {version('kagglehub')}"
    return Finding("photographs", "ok", said)


def snakemake() -> Finding:
    """Name Snakemake's version."""
    try:
        return Finding("snakemake", "ok", version("snakemake"))
    except PackageNotFoundError:
        said = f"not installed; single steps work without it, whole papers do not; {INSTALL}"
        return Finding("snakemake", "to do", said)


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


def partitions() -> list[str]:
    """Return the partitions that sinfo lists, with their state; RuntimeError if it does not answer."""
    command = ["sinfo", "--noheader", "--format=%R (%a, %D nodes)"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"sinfo does not answer within {SECONDS} seconds") from None
    except OSError as error:
        raise RuntimeError(f"sinfo cannot be run ({error.strerror})") from None
    if said.returncode:
        words = said.stderr.strip().splitlines() or [f"exit code {said.returncode}"]
        raise RuntimeError(f"sinfo says {words[-1].removeprefix('sinfo: ')}")
    return sorted(set(filter(None, map(str.strip, said.stdout.splitlines()))))


def slurm() -> Finding:
    """Say whether jobs can be sent to a cluster."""
    if shutil.which("sbatch") is None:
        return Finding("slurm", "ok", "none here; runs stay on this machine")
    if find_spec(PLUGIN) is None:
        install = f"pip install -c constraints.txt {PLUGIN.replace('_', '-')}"
        return Finding("slurm", "to do", f"sbatch is here, Snakemake's plugin for it is not; {install}")
    try:
        found = partitions()
    except RuntimeError as error:
        ask = "ask who runs the cluster, or leave it: runs stay on this machine"
        return Finding("slurm", "to do", f"sbatch is here, but {error}; {ask}")
    if not found:
        return Finding("slurm", "to do", "sinfo lists no partition; ask who runs the cluster for one")
    return Finding("slurm", "ok", f"partitions {', '.join(found)}")
