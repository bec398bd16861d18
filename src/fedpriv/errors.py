"""The one exception that means: the user's input is wrong, not the program."""

from collections.abc import Iterable

from fedpriv.terminal import visible


class BadInput(ValueError):
    """One visible line naming the key or file, what was found and what is allowed (exit code 2)."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


def require_known(where: str, found: Iterable[object], allowed: Iterable[object]) -> None:
    """Raise BadInput naming the first of `found` that is not among `allowed`."""
    allowed = list(dict.fromkeys(allowed))
    for one in found:
        if one not in allowed:
            raise BadInput(f"{where}: found {one or 'nothing'}, allowed: {', '.join(map(str, allowed))}")
