"""Every schema of the YAML files, with an example of it that says every key."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fedpriv.config.plan import load_preset
from fedpriv.config.preset import Preset
from fedpriv.config.run import Run
from fedpriv.data.own import Npz, Torchvision
from fedpriv.docs.keys import sections
from fedpriv.frozen import Frozen
from fedpriv.mechanisms.sampling import COHORTS
from fedpriv.models import MODELS
from fedpriv.paper.paper import Paper
from fedpriv.paper.parts import DeclaredRun, Part
from fedpriv.partition import PARTITIONS
from fedpriv.schemes import SCHEMES

CONFIG = Path(__file__).parents[2] / "config"
UNUSED = [  # no shipped file has them
    DeclaredRun(uses=("x",), over={"n": ("1",)}),
    Part(uses=("x",)),
    PARTITIONS["natural"](clients=4),
    SCHEMES["adaptive_dp"](clip_l2=1.0, noise_multiplier=1.0),
    SCHEMES["dp_ftrl"](clip_l2=1.0, noise_multiplier=1.0),
    COHORTS["spaced"](size=1),
    Npz(npz="mine.npz", sha256="0" * 64),
    Torchvision(torchvision="CIFAR10"),
    MODELS["module"](module="mine:Net"),
]


@cache
def schemas() -> list[type[Frozen]]:
    """Return the classes that docs/config.md describes."""
    seen: set[type[Frozen]] = set()
    for cls in (Preset, Paper, DeclaredRun, Run):
        list(sections(cls, seen, ""))
    return sorted(seen, key=lambda cls: (cls.__module__, cls.__name__))


@cache
def examples() -> dict[type[Frozen], dict[str, Any]]:
    """Return an example of each schema as plain data: of the shipped files, as far as they have one."""
    found: dict[type[Frozen], dict[str, Any]] = {}
    for name in ("paper", "search", "readings", "guarantees", "handcrafted"):
        plan = load_preset(CONFIG / f"{name}.yaml")
        for one in (plan.preset, *plan.papers.values(), *plan.all_runs(), *UNUSED):
            collect(one, found)
    return found


def collect(value: Any, found: dict[type[Frozen], dict[str, Any]]) -> None:
    """Put every config value within `value` into `found`, the first of each class."""
    if isinstance(value, Frozen):
        if type(value) not in found:
            found[type(value)] = value.model_dump()
        inner = [one for _, one in value]
    elif isinstance(value, dict):
        inner = list(value.values())
    else:
        inner = list(value) if isinstance(value, list | tuple) else []
    for one in inner:
        collect(one, found)


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
