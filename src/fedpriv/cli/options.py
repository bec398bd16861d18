"""Options that several verbs have: those of a plan of rounds."""

from __future__ import annotations

from typing import Annotated

import typer

from fedpriv.errors import BadInput


def rate(q: float) -> float:
    """Return `q`, or BadInput under the name that it has on the command line."""
    if not 0 < q <= 1:
        raise BadInput(f"--q: found {q:g}, allowed: above 0 and at most 1")
    return q


Rate = Annotated[
    float, typer.Option("--q", help="Chance of a client to be in a round: the sampling rate.", callback=rate)
]
Rounds = Annotated[int, typer.Option(help="Rounds of training.")]
Delta = Annotated[float, typer.Option(help="δ, above 0 and below 1.")]
