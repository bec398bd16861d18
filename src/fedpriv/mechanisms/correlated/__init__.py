"""Gaussian noise that is correlated between rounds, so that it partly cancels in the sum of all rounds.

What clients send in T rounds is x `[T, p]`, and what matters of it are the partial sums A x, A of ones below
and on the diagonal. B (C x + z) is released, with A = B C and independent normals z: round for round x + W z,
where W C = 1. Whoever sees all of it knows no more than C x + z, one Gaussian, also where clients answer to
what was released before, for the matrices are lower triangular in time. Denisov, McMahan, Rush, Smith,
Thakurta 2022, "Improved differential privacy for SGD via optimal private linear operators on adaptive
streams".

Independent normals come from streams by the rounds that they are for, so that none needs to be kept. To add a
matrix, write its file, and its name and its line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fedpriv.errors import BadInput, short_repr
from fedpriv.mechanisms.correlated.banded import Banded
from fedpriv.mechanisms.correlated.blt import Blt
from fedpriv.mechanisms.correlated.matrix import Matrix
from fedpriv.mechanisms.correlated.tree import Tree

Name = Literal["tree", "banded", "blt"]
MATRICES: dict[str, type[Matrix]] = {"tree": Tree, "banded": Banded, "blt": Blt}


def told(facts: Mapping[str, Any]) -> Matrix | None:
    """Return the matrix that a row of a trace names; None: none of ours. BadInput names what it lacks."""
    kind = MATRICES.get(str(facts.get("matrix", "")))
    if kind is None:
        return None
    bands, numbers = int(facts.get("bands", 1)), str(facts.get("numbers", ""))
    if unread := not_read(kind, bands, numbers):
        raise BadInput(f"trace: {unread}")
    return kind.told(bands, numbers)


def not_read(kind: type[Matrix], bands: int, numbers: str) -> str:
    """Return what is said of a matrix that does not read it, or the empty string; one band says nothing."""
    for name, found, there in (("bands", bands, bands > 1), ("numbers", numbers, numbers != "")):
        if there and name != kind.reads:
            of = next(other for other, one in MATRICES.items() if one.reads == name)
            return f"{name}: found {short_repr(found)} with matrix {kind.name}, allowed: with matrix {of}"
    return ""
