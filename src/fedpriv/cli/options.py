"""Options that several verbs have: those of a plan of rounds, and keys that are set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fedpriv.errors import BadInput, plain

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


def nested(settings: list[str]) -> dict[str, Any]:
    """Return `KEY=VALUE` as nested keys, of which dots tell one from the next; values are YAML."""
    found: dict[str, Any] = {}
    if not settings:
        return found
    from fedpriv.paper.read import read_value  # only with an extra is YAML there

    for one in settings:
        path, given, text = one.partition("=")
        *above, last = path.split(".")
        place = found
        for key in above:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise BadInput(f"--set: found {path} below a value, allowed: one of both")
        if not given or not all((*above, last)):
            raise BadInput(f"--set: found {plain(one)}, allowed: KEY=VALUE")
        place[last] = read_value(text, f"--set: {path}")
    return found
