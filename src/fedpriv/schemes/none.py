"""Plain federated averaging: the baseline of every table."""

from typing import ClassVar, Literal

from fedpriv.schemes.base import Scheme
from fedpriv.trace import Mechanism


class NoPrivacy(Scheme):
    """Average the updates; nothing is clipped and nothing is added."""

    name: Literal["none"] = "none"
    mechanism: ClassVar[Mechanism] = "none"
