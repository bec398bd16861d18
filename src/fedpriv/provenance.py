"""Which code computed something: this package, its revision, and the libraries whose numbers it uses."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("dp-accounting", "numpy", "pandas", "pyarrow", "safetensors", "scipy", "torch", "torchvision")


def code() -> str:
    """Return this package's version, and of a checkout its revision; `-dirty`: files were changed since."""
    return "+".join(filter(None, (package("fedpriv"), checkout())))


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that are installed, by name."""
    return {name: found for name in LIBRARIES if (found := package(name))}


def package(name: str) -> str:
    """Return the version of an installed package, or the empty string."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def checkout() -> str:
    """Return the git revision of these sources, or the empty string where git does not know them."""
    here = Path(__file__)
    # An installed copy may lie in somebody else's repository.
    known = ["git", "ls-files", "--error-unmatch", here.name]
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    found = ""
    for command in (known, describe):
        try:
            done = subprocess.run(command, cwd=here.parent, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        found = done.stdout.strip()
    return found
