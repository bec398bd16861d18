"""Python and the packages."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from fedpriv.doctor.finding import Finding

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
