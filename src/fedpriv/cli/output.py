"""What verbs of the program share: to print what was found, for people or as JSON; where runs are kept."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedpriv.terminal import put, say

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fedpriv.account.spend import Spend

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Reference = Annotated[Path, typer.Option(file_okay=False, help="Where finished runs are stored.")]
Configs = Annotated[Path, typer.Option(file_okay=False, help="Where presets and papers are declared.")]
Resources = Annotated[Path, typer.Option(file_okay=False, help="Where data are kept.")]
REFERENCE = Path("results/reference")
RESOURCES = Path("resources")
CONFIGS = Path("config")
WIDE = 10_000


def print_result(facts: Mapping[str, Any], shown: list[str] | RenderableType, as_json: bool) -> None:
    """Print the facts as one JSON object, of ASCII alone; or for people, lines or what rich lays out."""
    if as_json:
        say(json.dumps(finite(facts), allow_nan=False))
    elif isinstance(shown, list):
        say(*shown)
    else:
        put(rendered(shown), sys.stdout)


def finite(value: Any) -> Any:
    """Return `value` as JSON can write it: "inf" for an infinite ε, null for no accuracy."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def spend_as_dict(spend: Spend) -> dict[str, Any]:
    """Return a spend as plain data, with the status and the attacker accuracy that belong to every ε."""
    return asdict(spend) | {"status": spend.status, "attacker_accuracy": spend.attacker_accuracy}


def rendered(shown: RenderableType) -> str:
    """Return what rich would print here: colours and width are those of the terminal, if stdout is one.

    Elsewhere a line is as wide as it needs to be, for programs that read lines.
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE, highlight=False)
    with console.capture() as capture:
        console.print(shown, crop=False)
    return capture.get().rstrip("\n")
