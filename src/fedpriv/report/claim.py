"""A sentence of a paper made checkable."""

from typing import Annotated

from pydantic import SerializeAsAny

from fedpriv.frozen import Frozen, chosen_from
from fedpriv.report.check import Check
from fedpriv.report.checks import CHECKS


class Claim(Frozen):
    """What is claimed, in our words, where, and how it is checked.

    `unsound` says why the statement is false although its numbers may hold: the verdict is then `unsound`
    instead of `reproduced`.
    """

    id: str
    place: str
    text: str
    check: Annotated[SerializeAsAny[Check], chosen_from(CHECKS)]
    unsound: str = ""
