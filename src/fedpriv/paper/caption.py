"""What people write under a table or figure, with places for what is measured.

    DP stops at {accuracy(iid_n100_dp)}, {accuracy(iid_n100_dp) - accuracy(iid_n100_tight)} points above.

A place holds what a side of a claim may hold (`fedpriv.paper.arithmetic`); its names are those of runs.
"""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from fedpriv.errors import BadInput
from fedpriv.paper.arithmetic import COLUMN, PRIVATE, Call, Term, read_term, terms

PLACE = re.compile(r"\{([^{}]*)\}")


def pieces(text: str) -> Iterator[str | Term]:
    """Yield the words of a caption and what its places hold, in order; BadInput names a wrong place."""
    for number, piece in enumerate(PLACE.split(text)):
        yield read_term(piece.strip()) if number % 2 else piece


def runs(text: str) -> list[str]:
    """Return the runs that the places of a caption name."""
    held = [piece for number, piece in enumerate(pieces(text)) if number % 2]
    return [name for term in held for call in terms(term, Call) for name in call.names]


def _check(text: str) -> str:
    """Return a caption whose places can be read, each a number that is measured of runs."""
    try:
        for number, term in enumerate(pieces(text)):
            if number % 2 and (not [*terms(term, Call)] or not _of_runs(term)):
                found = PLACE.findall(text)[number // 2]
                raise BadInput(f"{found}: found no number of a run, allowed: such as accuracy(RUN)")
    except BadInput as error:
        raise PydanticCustomError("choice", "{said}", {"said": str(error)}) from None
    return text


def _of_runs(term: Term) -> bool:
    """Return whether all that a term names is a run, and no column of a table."""
    return not [*terms(term, str)] and all(
        len(call.of(COLUMN, PRIVATE)) == len(call.names) for call in terms(term, Call)
    )


Caption = Annotated[str, AfterValidator(_check)]
