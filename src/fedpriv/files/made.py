"""What a derived file was made with, said in it or beside it: the code, and what it was told.

The version of a maker is the digest of the source of every module of ours that it imports, at whatever
depth, and of the templates beside these; with it go the versions of libraries and of packages that add to
ours. So nobody has to raise a number when an accountant is corrected, and a ledger of the old one is known.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.registry import packages

SOURCE = Path(__file__).parents[1]
IMPORT = re.compile(
    r"^ *(?:from fedpriv\.?([\w.]*) import (\([^)]*\)|[^\n]*)|import fedpriv\.([\w.]+))", re.M
)
LIBRARIES = ("numpy", "scipy", "pandas", "dp-accounting", "matplotlib")
LENGTH = 16  # of a digest
MARK = b"made-with:"
LAST = 2**16  # bytes of a file, among which its metadata are


def digest(told: Any) -> str:
    """Return what stands for plain data, the same for equal ones."""
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:LENGTH]


def made(maker: str, told: Any) -> str:
    """Return what a file says that the module `maker` makes, told such plain data."""
    return f"{MARK.decode()}{maker} {maker_version(maker)} {digest(told)}"


def said(path: Path) -> str:
    """Return what a file says that it was made with; nothing where it says nothing, or is not there."""
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - LAST, 0))
            end = file.read()
    except OSError:
        return ""
    found = re.search(re.escape(MARK) + rb"[\w.]+ [0-9a-f]{16} [0-9a-f]{16}", end)
    return found.group().decode() if found else ""


def made_otherwise(path: Path) -> bool:
    """Return whether a file says of its maker another version than the one that is here."""
    words = said(path).removeprefix(MARK.decode()).split()
    return bool(words) and words[1] != maker_version(words[0])


@cache
def maker_version(maker: str) -> str:
    """Return the digest of all that the module `maker` of ours is made of."""
    files = {path: read(path).digest for path in sources(maker)}
    told = {str(path.relative_to(SOURCE)): one for path, one in files.items()}
    return digest([told, {name: installed(name) for name in (*LIBRARIES, *packages())}])


def sources(maker: str) -> set[Path]:
    """Return the files of a module, of all that it imports, and what is no Python beside them."""
    found: set[Path] = set()
    waiting = [maker]
    while waiting:
        name = waiting.pop()
        waiting += [name.rpartition(".")[0]] if "." in name else []  # a module's folder is imported before it
        path = module_file(name)
        if path and path not in found:
            found |= {path, *beside(path.parent)}
            waiting += read(path).imports
    return found


class Source(NamedTuple):
    """A file of ours: the digest of its bytes, and the modules that it may import."""

    digest: str
    imports: tuple[str, ...]


@cache
def read(path: Path) -> Source:
    """Return what is in a file."""
    content = path.read_bytes()
    return Source(hashlib.sha256(content).hexdigest(), tuple(imports(content.decode())))


@cache
def beside(folder: Path) -> tuple[Path, ...]:
    """Return the templates and style sheets of a folder."""
    return tuple(path for path in folder.iterdir() if path.suffix in (".j2", ".css"))


def imports(text: str) -> Iterator[str]:
    """Yield the modules of ours that a source may import, without the name of the package."""
    for room, names, whole in IMPORT.findall(text):
        yield room or whole
        for name in re.findall(r"\w+", names):
            yield f"{room}.{name}".strip(".")


@cache
def module_file(name: str) -> Path | None:
    """Return the file of a module; None where that is the name of something else."""
    path = SOURCE.joinpath(*name.split(".")) if name else SOURCE
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


def installed(name: str) -> str:
    """Return the version of an installed package, or the empty string."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
