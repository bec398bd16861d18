"""The keys of a config as plain data, and how to put another value at one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONFIG = Path(__file__).parents[2] / "config"


def paths(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything below `node`."""
    if at:
        yield at
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from paths(value, (*at, key))


def put(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return `node` with another value at `path`."""
    if not path:
        return value
    key, *rest = path
    if isinstance(node, dict):
        return node | {key: put(node[key], tuple(rest), value)}
    return [put(one, tuple(rest), value) if key == place else one for place, one in enumerate(node)]
