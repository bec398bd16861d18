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
    """A dict of our own, which from its first use on also has the entry points `fedpriv.<group>`.

    They are loaded no earlier, so that a package may import the room that it adds to. One that cannot be
    imported, is not of this `kind` (a class, or several), or takes a name that is taken, is BadInput naming
    the package.
    """

    def __init__(self, group: str, kind: Any, own: Mapping[str, T]) -> None:
        self.group, self.kind, self.own = group, kind, own

    @cached_property
    def data(self) -> dict[str, T]:
        """Ours and those of packages."""
        by_name = dict(self.own)
        for point in points(self.group):
            where = f"{point.group} of {package(point)}: {point.name}"
            if point.name in by_name:
                raise BadInput(f"{where}: found a name that is taken, allowed: not {', '.join(by_name)}")
            by_name[point.name] = load(point, self.kind, where)
        return by_name

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


def load(point: EntryPoint, kind: Any, where: str) -> Any:
    """Object that an entry point names; BadInput where that cannot be, or is of another kind or name."""
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
