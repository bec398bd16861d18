"""Who says each key of a run: its paper's defaults, a part, the run itself, or a preset.

Nothing is laid over anything here: the layers are read once more with every value marked, and laid by the
functions that lay them for training.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fedpriv.frozen import DISCRIMINATORS
from fedpriv.paper.parts import OWN, runs_of
from fedpriv.paper.read import read_files


class Said:
    """A value and who says it; equal to whatever the value is equal to."""

    def __init__(self, value: object, by: str) -> None:
        self.value, self.by = value, by

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Said) else other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return str(self.value)


class Layers(NamedTuple):
    """What a run is made of, from the lowest to the highest, each value as it is or marked."""

    defaults: Mapping[str, Any]
    runs: Mapping[str, Mapping[str, Any]]
    stand_ins: Mapping[str, Any]
    patches: Mapping[str, Mapping[str, Any]]


def marked(fragment: Any, by: str) -> Any:
    """Return a fragment of a run with every value marked; what says how it is laid stays as it is."""
    if not isinstance(fragment, Mapping):
        return Said(fragment, by)
    return {key: value if key in OWN else marked(value, by) for key, value in fragment.items()}


def origins(
    folder: Path, stand_ins: Mapping[str, str], patches: Mapping[str, Any], where: str, only: str = ""
) -> Layers:
    """Return the layers of the runs of the paper in `folder`, and of the preset `where`, marked.

    With `only` the others are not looked at that cannot be the run of that name.
    """
    files = read_files(folder)

    def each(key: str) -> dict[str, Any]:
        found = files.get(key)
        return (
            {name: marked(one, f"{folder / found.file}: {key}.{name}") for name, one in found.value.items()}
            if found
            else {}
        )

    defaults = files.get("defaults")
    return Layers(
        marked(defaults.value, f"{folder / defaults.file}: defaults") if defaults else {},
        runs_of({"parts": each("parts"), "runs": each("runs")}, str(folder), only),
        {name: Said(instead, f"{where}: stand_ins") for name, instead in stand_ins.items()},
        {glob: marked(patch, f"{where}: patches.{glob}") for glob, patch in patches.items()},
    )


def said_at(tree: Any, path: Iterable[object]) -> str:
    """Return who says the key at `path`, or the value that it is in; the empty string if nobody does.

    A kind that is named alone, as in `scheme: none`, says its name and no other key.
    """
    for key in path:
        if isinstance(tree, Said):
            return tree.by if key in DISCRIMINATORS or not isinstance(tree.value, str) else ""
        if not isinstance(tree, Mapping) or key not in tree:
            return ""
        tree = tree[key]
    if isinstance(tree, Mapping):
        tree = next((tree[key] for key in DISCRIMINATORS if key in tree), next(iter(tree.values()), None))
    return tree.by if isinstance(tree, Said) else ""
