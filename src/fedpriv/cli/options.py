"""What verbs share: options, keys that are set, and results that are printed for people or as JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedpriv.cli.table import Table, layout
from fedpriv.errors import BadInput, no_such, plain
from fedpriv.progress import say

if TYPE_CHECKING:
    from fedpriv.account.statement import PrivacyStatement

RATE = ("--sample-rate", "-q", "--q")
NOISE = ("--noise-multiplier", "--sigma")


def rate(q: float) -> float:
    """Return `q`, or BadInput under the name that it has on the command line."""
    if not 0 < q <= 1:
        raise BadInput(f"{RATE[0]}: found {q:g}, allowed: above 0 and at most 1")
    return q


Rate = Annotated[float, typer.Option(*RATE, help="Chance of a client to be in a round.", callback=rate)]
Rounds = Annotated[int, typer.Option(help="Rounds of training.")]
Delta = Annotated[float, typer.Option(help="δ, above 0 and below 1.")]


def preset_file(path: Path) -> Path:
    """Return the path of a preset; BadInput has those that are there, beside it and in `CONFIGS`."""
    if not path.is_file():
        there = {*path.parent.glob("[!.]*.yaml"), *CONFIGS.glob("*.yaml")}
        raise no_such("preset", str(path), sorted(map(str, there)))
    return path


def take_only(command: str, names: Sequence[str], options: Sequence[str]) -> None:
    """Raise BadInput for the first of the options by `names` that the command does not take in this form."""
    for option in names:
        if option not in options:
            raise BadInput(f"{command} does not take {option}, only {' and '.join(options)}.")


def nested(settings: list[str]) -> dict[str, Any]:
    """Return `KEY=VALUE` as nested keys, of which dots tell one from the next; values are YAML.

    A key that is set twice is BadInput, and so is one that a key below it was set of.
    """
    config: dict[str, Any] = {}
    paths: list[str] = []
    if not settings:
        return config
    from fedpriv.paper.paper import read_value  # only with an extra is YAML there

    for setting in settings:
        path, equals, text = setting.partition("=")
        *above, last = path.split(".")
        level = config
        for key in above:
            level = level.setdefault(key, {})
            if not isinstance(level, dict):
                raise BadInput(f"--set {plain(setting)}: the key above it is a value already.")
        if not equals or not all((*above, last)):
            raise BadInput(f"--set {plain(setting)} is not KEY=VALUE.")
        if twice := [known for known in paths if f"{known}.".startswith(f"{path}.")]:
            raise BadInput(f"--set {plain(setting)}: {plain(twice[0])} is set already. Give every key once.")
        paths.append(path)
        level[last] = read_value(text, f"--set: {path}")
    return config


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Reference = Annotated[Path, typer.Option(file_okay=False, help="Where finished runs are stored.")]
Configs = Annotated[Path, typer.Option(file_okay=False, help="Where presets and papers are declared.")]
Resources = Annotated[Path, typer.Option(file_okay=False, help="Where data are kept.")]
REFERENCE = Path("results/reference")
RESOURCES = Path("resources")
CONFIGS = Path("config")
WIDE = 10_000


def print_result(facts: Mapping[str, Any], parts: Sequence[Table | str], as_json: bool) -> None:
    """Print the facts as one JSON object, of ASCII alone; or for people tables and sentences.

    At a terminal they are as wide as that; elsewhere as they need to be, for programs that read lines.
    """
    if as_json:
        say(json.dumps(finite(facts), allow_nan=False))
        return
    narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    say(*layout(parts, shutil.get_terminal_size().columns if narrow else WIDE))


def finite(value: Any) -> Any:
    """Return `value` as JSON can write it: "inf" for an infinite ε, null for no accuracy."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def statement_as_dict(statement: PrivacyStatement) -> dict[str, Any]:
    """Return a statement as plain data, with the status and the attacker accuracy that belong to every ε.

    And a `note`, empty but where its δ is so large that it means nothing.
    """
    words = {"status": statement.status, "attacker_accuracy": statement.attacker_accuracy}
    return asdict(statement) | words | {"note": statement.note}
