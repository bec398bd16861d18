"""What is chosen by name: ours, and beside it what installed packages add."""

import tomllib
from collections import UserDict
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any, TypeVar

from fedpriv.errors import BadInput

T = TypeVar("T")


class Registry(UserDict[str, T]):
    """A dict of our own, which also has the entry points `fedpriv.<group>` of installed packages.

    Each is loaded when it is first asked for, and its name is known before: so a package may import the room
    that it adds to, and who wants names imports nothing. One that cannot be imported, is not of this `kind`
    (a class, or several), or takes a name that is taken, is BadInput naming the package.
    """

    def __init__(self, group: str, kind: Any, own: Mapping[str, T]) -> None:
        self.group, self.kind, self.own = group, kind, own

    @cached_property
    def data(self) -> dict[str, Any]:
        """Ours, and those of packages: an entry point until it is loaded."""
        by_name: dict[str, Any] = dict(self.own)
        for point in points(self.group):
            if point.name in by_name:
                taken = f"found a name that is taken, allowed: not {', '.join(by_name)}"
                raise BadInput(f"{described(point)}: {taken}")
            by_name[point.name] = point
        return by_name

    def __getitem__(self, name: str) -> T:
        if isinstance(self.data[name], EntryPoint):
            self.data[name] = load(self.data[name], self.kind)
        return self.data[name]

    def beside(self, name: str) -> str:
        """Command that installs the package beside the suite that this name is of; empty: there is none."""
        for file in sorted(Path(__file__).parents[2].glob("packages/*/pyproject.toml")):
            project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
            if name in project.get("entry-points", {}).get(f"fedpriv.{self.group}", {}):
                return f"{name} is of the package {project['name']}: pip install packages/{file.parent.name}"
        return ""


@cache
def points(group: str) -> tuple[EntryPoint, ...]:
    """Entry points of installed packages that add to a registry."""
    return tuple(entry_points(group=f"fedpriv.{group}"))


def packages() -> set[str]:
    """Return the packages that add something to any registry."""
    return {
        distribution.name
        for distribution in distributions()
        if any(point.group.startswith("fedpriv.") for point in distribution.entry_points)
    }


def package(point: EntryPoint) -> str:
    """Return the package that an entry point is of."""
    return point.dist.name if point.dist else "a package without a name"


def described(point: EntryPoint) -> str:
    """Return an entry point as messages have it: its group, its package, its name."""
    return f"{point.group} of {package(point)}: {point.name}"


def load(point: EntryPoint, kind: Any) -> Any:
    """Object that an entry point names; BadInput where that cannot be, or is of another kind or name."""
    where = described(point)
    try:
        plugin = point.load()
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{where}: found {point.value}, which fails with {type(error).__name__}: {error}; "
            "allowed: what can be imported"
        ) from error
    if not (isinstance(plugin, kind) or (isinstance(plugin, type) and issubclass(plugin, kind))):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        allowed = " or ".join(base.__name__ for base in kinds)
        raise BadInput(f"{where}: found {type(plugin).__name__} {point.value}, allowed: {allowed}")
    if (name := getattr(plugin, "name", point.name)) != point.name:
        raise BadInput(f"{where}: found {name}, allowed: {point.name}, as the entry point is called")
    return plugin
