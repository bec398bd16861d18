"""The rooms of the package and what imports what: counted off the source, shown in docs/architecture.md.

A room is a module or a package directly under the package. An arrow says that any file of one room imports
another room, at its top or within a function. Imports under TYPE_CHECKING are no arrows, because nothing runs
them; import-linter, which enforces the order that [tool.importlinter] of pyproject.toml declares, agrees.
"""

import ast
import tomllib
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

OPENING, CLOSING = "<!-- rooms: written by `make docs` -->\n", "<!-- end of rooms -->\n"

Arrows = dict[str, set[str]]  # room -> the rooms that it imports


class Layout(NamedTuple):
    """What a package looks like from above."""

    arrows: Arrows
    floors: list[list[str]]  # from the ground up: a room stands on the one above the highest that it imports
    circles: list[list[str]]  # rooms that import one another
    upward: list[tuple[str, str]]  # arrows against the declared order, or between rooms that must not meet
    undeclared: list[str]  # rooms that the declared order does not name


def layout(package: Path, layers: list[list[str]]) -> Layout:
    """Return the layout of a package's folder against `layers`, from top to bottom."""
    arrows = rooms(package)
    reached = {room: reachable(arrows, room) for room in arrows}
    together = {
        room: frozenset({room, *(one for one in reached[room] if room in reached[one])}) for room in arrows
    }
    height: dict[frozenset[str], int] = {}

    def floor(circle: frozenset[str]) -> int:
        if circle not in height:
            below = {together[one] for room in circle for one in arrows[room]} - {circle}
            height[circle] = 1 + max(map(floor, below), default=-1)
        return height[circle]

    height_of = {room: floor(circle) for room, circle in together.items()}
    floors: list[list[str]] = [[] for _ in range(1 + max(height_of.values(), default=-1))]
    for room, number in height_of.items():
        floors[number].append(room)
    level = {room: index for index, layer in enumerate(layers) for room in layer}
    declared = ((room, one) for room in arrows for one in arrows[room] if room in level and one in level)
    return Layout(
        arrows=arrows,
        floors=floors,
        circles=sorted(sorted(circle) for circle in set(together.values()) if len(circle) > 1),
        upward=sorted((room, one) for room, one in declared if level[room] >= level[one]),
        undeclared=sorted(set(arrows) - set(level)),
    )


def rooms(package: Path) -> Arrows:
    """Return the arrows of a package's folder; its own `__init__` and `__main__` are the door, not rooms."""
    files = {path: path.relative_to(package).parts[0].removesuffix(".py") for path in package.rglob("*.py")}
    arrows: Arrows = {room: set() for room in sorted(set(files.values()) - {"__init__", "__main__"})}
    for path, room in files.items():
        if room in arrows:
            parts = (package.name, *path.relative_to(package).parent.parts)
            for name in imported(ast.parse(path.read_text(encoding="utf-8")), ".".join(parts)):
                first, *rest = name.split(".")
                if first == package.name and rest and rest[0] in arrows and rest[0] != room:
                    arrows[room].add(rest[0])
    return arrows


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield what a module of `package` imports; of `from a import b` a.b, which may be a module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for other in node.orelse:
                yield from imported(ast.Module([other], []), package)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            start = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{start}.{alias.name}" for alias in node.names)
        yield from imported(node, package)


def reachable(arrows: Arrows, start: str) -> set[str]:
    """Return the rooms that one can get to from `start`, itself only if there is a way back."""
    found: set[str] = set()
    ahead = [*arrows[start]]
    while ahead:
        room = ahead.pop()
        if room not in found:
            found.add(room)
            ahead += arrows[room]
    return found


def declared_layers(project: Path) -> list[list[str]]:
    """Return the layers that a pyproject.toml declares, from top to bottom."""
    (contract,) = tomllib.loads(project.read_text())["tool"]["importlinter"]["contracts"]
    return [layer.replace("|", " ").replace(":", " ").split() for layer in contract["layers"]]


def page(root: Path) -> str:
    """Return docs/architecture.md with its section on rooms as the source has it."""
    text = (root / "docs/architecture.md").read_text(encoding="utf-8")
    before, rest = text.split(OPENING)
    _, after = rest.split(CLOSING)
    found = layout(root / "src/fedpriv", declared_layers(root / "pyproject.toml"))
    return f"{before}{OPENING}{section(found)}{CLOSING}{after}"


def section(found: Layout) -> str:
    """Return what the page says: the counts, what breaks the order, and the floors from top to bottom."""
    count = sum(map(len, found.arrows.values()))
    said = f"{len(found.arrows)} rooms on {len(found.floors)} floors, {count} arrows; "
    said += f"in circles: {'; '.join(', '.join(circle) for circle in found.circles) or 'none'}; "
    said += f"upward: {', '.join(f'{room} to {one}' for room, one in found.upward) or 'none'}"
    said += f"; not declared: {', '.join(found.undeclared)}" if found.undeclared else ""
    floors = [", ".join(f"`{room}`" for room in floor) for floor in found.floors]
    rows = [f"| {number} | {names} |" for number, names in enumerate(floors)]
    return "\n".join([f"{said}.\n", "| floor | rooms |", "|---|---|", *reversed(rows), ""])
