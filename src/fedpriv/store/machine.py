"""What numbers are computed with: processor, memory, this package and its revision, the libraries.

And how memory is asked for while training: what a step needs stays in the process, the rest is in huge
pages. glibc's malloc maps every buffer above 128 KiB anew and unmaps it when freed; for the activations
of a convolution that costs up to 40 % of a training step. The thresholds can be set from inside the
process.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedpriv import __version__
from fedpriv.registry import packages

if TYPE_CHECKING:
    import torch


LIBRARIES = ("dp-accounting", "numpy", "pandas", "pyarrow", "safetensors", "scipy", "torch", "torchvision")


@cache
def engines() -> Any:
    """Return the engines of an installed package for a CPU; None: PyTorch does the work."""
    with suppress(ImportError):
        return next((point.load() for point in entry_points(group="fedpriv_engines", name="cpu")), None)


def peak_mib(device: torch.device) -> float:
    """Return the largest memory used so far, MiB: of the process on a CPU, of the allocator on a GPU."""
    if device.type == "cuda":
        import torch

        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def environment(device: torch.device, engine: str, threads: int) -> dict[str, Any]:
    """Processor and libraries that the numbers were computed with."""
    import torch

    if device.type == "cuda":
        hardware = torch.cuda.get_device_name(device)
    else:
        hardware = f"{processor()}, {threads} core{'s' if threads > 1 else ''}"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": device.type,
        "hardware": hardware,
        "threads": threads,
        "engine": engine,
        "code": code(),
        "libraries": libraries(),
    }


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


UNKNOWN = "unknown"  # instead of a revision
HERE = "src/fedpriv/store/machine.py"  # this file in a checkout


def code() -> str:
    """Return this package's version and, unless that is a release, `+` and the revision or `unknown`.

    `-dirty` behind a revision: files were changed since.
    """
    return "+".join(filter(None, (package("fedpriv") or __version__, checkout() or installed())))


def installed() -> str:
    """Return the revision that pip has installed, `unknown` of a folder or file, nothing of a release."""
    try:
        origin = distribution("fedpriv").read_text("direct_url.json")
    except PackageNotFoundError:
        return UNKNOWN
    return json.loads(origin).get("vcs_info", {}).get("commit_id", UNKNOWN)[:12] if origin else ""


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that are installed, and of what adds to ours, by name."""
    return {name: release for name in (*LIBRARIES, *sorted(packages())) if (release := package(name))}


def package(name: str) -> str:
    """Return the version of an installed package, or the empty string."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def checkout() -> str:
    """Return the git revision of these sources, or the empty string where git does not know them as ours.

    A copy may lie in somebody else's repository, and git reads none of another owner.
    """
    source = Path(__file__)
    known = ["git", "ls-files", "--full-name", "--error-unmatch", source.name]
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    answers: list[str] = []
    for command in (known, describe):
        try:
            done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        answers.append(done.stdout.strip())
    name, revision = answers
    return revision if name == HERE else ""


# <malloc.h>. 64 MiB cover every activation of a chunk. Stacked updates of large networks are larger, and of
# another size in every round: kept, each would leave a hole that the next does not fit into, and the process
# would grow to many times its size.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
MIB = 1 << 20
KEPT, PADDED, UNTRIMMED = 64 * MIB, 64 * MIB, 1024 * MIB


def keep_buffers() -> bool:
    """Tell malloc to keep buffers of up to 64 MiB; return whether it could be done (glibc only).

    Larger ones are mapped anew, on Linux in pages of 2 MiB where it has them: clearing a gigabyte in pages of
    4 KiB takes half a second. torch asks for them if that is set before its first tensor, and not later.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = {M_MMAP_THRESHOLD: KEPT, M_TRIM_THRESHOLD: UNTRIMMED, M_TOP_PAD: PADDED}
    return all(mallopt(key, value) for key, value in settings.items())
