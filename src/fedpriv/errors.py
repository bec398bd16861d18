"""What ends a program and is no failure of it: wrong input of the user's, or a signal."""

import errno
import re
import signal
from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr

from fedpriv.progress import visible

FEW = 12  # names that a message lists
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, the limit of a process
# In the text of an error: where it has got a path, or is Arrow's or safetensors', its number is nowhere else.
NO_ROOM = re.compile(rf"(errno|os error) ({'|'.join(map(str, FULL))})\b", re.IGNORECASE)


class BadInput(ValueError):
    """A visible line a mistake: the key or file, what was found and what is allowed (exit code 2)."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(dict.fromkeys(map(visible, mistakes))))


def is_full(error: BaseException) -> bool:
    """Return True for the error of a full disk, a full quota or a limit of the process."""
    return isinstance(error, OSError) and bool(NO_ROOM.search(str(error)))


class Stopped(BaseException):
    """A signal has stopped work that can go on (exit code 128 and its number).

    Like an interrupt it is no Exception: what goes on after one of many has failed does not go on after it.
    """

    def __init__(self, number: int, done: str) -> None:
        name = signal.Signals(number).name
        super().__init__(visible(f"{done}; stopped by {name}, the same command goes on"))
        self.code = 128 + number


def require_known(where: str, words: Iterable[object], allowed: Iterable[object], listing: str = "") -> None:
    """Raise the BadInput of the first of `words` that is not `allowed`, with the nearest that are.

    A long list is left to the command that prints it, where there is one: `listing`.
    """
    allowed = list(dict.fromkeys(allowed))
    names = list(map(str, allowed))
    for word in (word for word in words if word not in allowed):
        meant = f"; did you mean {near}?" if (near := nearest(word, names)) else ""
        many = ", ".join(names) or "none is there"
        if listing and len(names) > FEW:
            many = f"{len(names)}, listed by: {listing}"
        raise BadInput(f"{where}: found {plain(word)}, allowed: {many}{meant}")


def nearest(word: object, names: Iterable[str]) -> str:
    """Return the names that are nearly that word, joined by `or`."""
    alike = {name.casefold(): name for name in names}
    near = get_close_matches(str(word).casefold()[:100], alike, 3, 0.75)
    return " or ".join(alike[name] for name in near)


def match_name(what: str, word: str, there: Iterable[object], listing: str = "") -> str:
    """Return the name `there` that a word of the command line means, in whatever case, or raise `no_such`."""
    names = [str(name) for name in there]
    for name in names:
        if name.casefold() == word.casefold():
            return name
    raise no_such(what, word, names, listing)


def no_such(what: str, word: str, there: Iterable[object], listing: str = "") -> BadInput:
    """Return the sentence about a word that names nothing: the nearest names, or all, or what lists all."""
    names = [str(name) for name in dict.fromkeys(there)]
    no = f"No {what} '{plain(word)}'." if word else f"Which {what}?"
    if near := nearest(word, names):
        return BadInput(f"{no} Did you mean {near}?")
    many = ", ".join(names) or "none" if len(names) <= FEW or not listing else f"{len(names)}: {listing}"
    return BadInput(f"{no} There {'are' if len(names) > 1 else 'is'} {many}.")


class Short(Repr):
    """What `repr` says, but short, whatever a hostile file makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 100, 100

    def repr_int(self, x: int, level: int) -> str:
        # Python itself refuses to write more than 4,300 digits.
        return f"a number of {x.bit_length()} bits" if x.bit_length() > 200 else repr(x)


def short_repr(value: object) -> str:
    """Return a value as a message shows it: on one line and short, whatever a hostile file makes of it."""
    return Short().repr(value)


def plain(value: object) -> str:
    """Return a name as a message shows it: plain text stands without quotes."""
    if isinstance(value, str) and len(value) <= 100 and value.isprintable():
        return value or "nothing"
    return short_repr(value)
