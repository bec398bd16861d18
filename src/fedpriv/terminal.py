"""The one way to a terminal: what is said there is seen and never obeyed, and saying it never fails."""

import io
import os
import re
import sys
import unicodedata
from contextlib import suppress
from typing import TextIO

LINE_BREAK = re.compile(r"[ \t]*[\r\n][ \t\r\n]*")
# Controls, formats (among them those that turn the direction of writing), halves of a letter, separators.
OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""Return `text` in one line, with what would be obeyed instead of shown spelt out, as in `\x1b`.

    Breaks of lines are spaces. What is visible already is returned as it is.
    """
    line = LINE_BREAK.sub(" ", text.strip("\r\n")).replace("\t", " ")
    if line.isprintable():
        return line
    return "".join(spelt(letter) if unicodedata.category(letter) in OBEYED else letter for letter in line)


def spelt(letter: str) -> str:
    """Return a letter as Python spells it."""
    return letter.encode("unicode_escape").decode()


def say(*lines: str) -> None:
    """Print texts of any origin to stdout, a visible line each."""
    put("\n".join(map(visible, lines)), sys.stdout)


def aside(*lines: str) -> None:
    """Print them to stderr; that they are lost is no reason to stop."""
    with suppress(OSError):
        put("\n".join(map(visible, lines)), sys.stderr)


def put(text: str, stream: TextIO | None) -> None:
    """Print a finished text at once; who no longer reads, or never did, is no reason to stop working.

    Raises OSError where it is lost for another reason, such as a full disk.
    """
    if stream is None:
        return
    try:
        print(text, file=lenient(stream), flush=True)
    except OSError as error:
        # What waits in the stream would fail once more, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def lenient(stream: TextIO) -> TextIO:
    """Return the stream, which spells out from now on what its encoding has no letter for."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
        stream.reconfigure(errors="backslashreplace")
    return stream
