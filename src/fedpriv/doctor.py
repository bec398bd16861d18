"""Look at the machine and say what a run will find on it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from fedpriv import allocator, native
from fedpriv.data import DATASETS, manifest, source
from fedpriv.data.photographs import Photographs
from fedpriv.errors import BadInput

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


class Finding(NamedTuple):
    """One line of the diagnosis; `missing` means that nothing works without it."""

    name: str
    text: str
    missing: bool = False


def diagnose(resources: Path) -> list[Finding]:
    """Return everything that a run depends on and what is there of it; `resources` is where data are kept."""
    return [
        Finding("python", platform.python_version(), missing=sys.version_info < (3, 11)),
        libraries(),
        Finding("torch", torch()),
        Finding("photographs", photographs()),
        Finding("cores", cores()),
        *(Finding(f"native {name}", engine(name)) for name in ("conv_pool", "small_net")),
        Finding("allocator", allocator.describe()),
        Finding("snakemake", snakemake()),
        Finding("mirrors", mirrors()),
        *(Finding(f"data {name}", data(name, resources)) for name in sorted(DATASETS)),
    ]


def libraries() -> Finding:
    """Say which of the libraries that every run needs are missing."""
    lost = [name for name in ESSENTIAL if find_spec(name) is None]
    text = f"missing {', '.join(lost)}; pip install -e . brings them" if lost else "all there"
    return Finding("libraries", text, missing=bool(lost))


def torch() -> str:
    """Name torch's version and the device that `auto` would choose."""
    if find_spec("torch") is None:
        return "not installed"
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU, runs on the CPU"
    return f"{torch.__version__}, {device}"


def photographs() -> str:
    """Name what only photographs and their features need."""
    lost = [name for name in ("torchvision", "PIL", "kagglehub") if find_spec(name) is None]
    if lost:
        return f"missing {', '.join(lost)}; plain images work without, photographs do not"
    return f"torchvision {version('torchvision')}, kagglehub {version('kagglehub')}"


def cores() -> str:
    """Count the cores that this process may use."""
    return str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def engine(name: str) -> str:
    """Say whether the C code of that name can be used, and why not."""
    if native.available(name):
        return "available"
    return f"not available: {native.why_not(name)}; torch does its work, slower"


def snakemake() -> str:
    """Name Snakemake's version."""
    try:
        return version("snakemake")
    except PackageNotFoundError:
        return "not installed; single steps work without it, whole papers do not"


def mirrors() -> str:
    """List the mirrors that the environment sets, and which of them are not there."""
    found = [
        place if source.is_url(place) or Path(place).is_dir() else f"{place} (no such folder)"
        for place in source.mirrors()
    ]
    return ", ".join(found) or "none set (FEDPRIV_MIRROR), the public sources are used"


def data(name: str, resources: Path) -> str:
    """Say how far a dataset is prepared."""
    dataset = DATASETS[name]
    if isinstance(dataset, Photographs):
        return looked_at(dataset, resources)
    if (resources / f"{name}.npz").exists():
        return f"ready: {resources / name}.npz"
    files = dataset.files
    if not files:
        return "bundled, nothing to download"
    there = sum((resources / name / "raw" / file.name).exists() for file in files)
    return f"{there} of {len(files)} files fetched; fedpriv fetch {name}"


def looked_at(dataset: Photographs, resources: Path) -> str:
    """Say whether photographs have been found, and which features have been made of them."""
    path = resources / dataset.name / "images.json"
    if not path.exists():
        found = "not looked for yet" if dataset.network else "drawn when needed"
        return f"{found}; fedpriv fetch {dataset.name}"
    try:
        listed = manifest.load(path)
    except BadInput as error:
        return str(error)
    made = ", ".join(sorted(file.name for file in resources.glob(f"{dataset.name}-*.npz"))) or "none yet"
    wrong = manifest.wrong(listed)
    return f"{len(listed.images):,} images in {listed.folder}{wrong and f' ({wrong})'}; features: {made}"
