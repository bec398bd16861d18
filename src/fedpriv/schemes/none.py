"""Plain federated averaging: the baseline of every table."""

from typing import Literal

from fedpriv.schemes.base import Scheme


class NoPrivacy(Scheme):
    """Average the updates; nothing is clipped and nothing is added."""

    name: Literal["none"] = "none"
