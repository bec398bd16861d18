"""Cut Shakespeare's plays into the next character of what a role says, after the 80 before it, as LEAF does.

    python draw_shakespeare.py 1994-01-100.zip

LEAF (Caldas et al., 2018) takes the Complete Works as Project Gutenberg had them in January 1994, number
100. A role of a play that speaks in three lines or more is a writer; its lines, in their order, are one text,
with one space for an end of a line and for several spaces. Every place of the text with 80 characters before
it is an example: those, and the character there. The first nine of ten of a role's are trained on; of the
others those are tested on that share no character with them, and roles without any are left out.

DEVIATION: LEAF numbers a character that is none of its 80 as -1, which is its last one; ours is the first
one, the end of a line, which is in no example.
"""

import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np

MEMBER = "100.txt"  # of 1994-01-100.zip
LARGEST = 2**24  # bytes of the text; the works have 5.6 million
ALPHABET = "\n !\"&'(),-." + digits + ":;>?" + ascii_uppercase + "[]" + ascii_lowercase + "}"
LENGTH = 80  # characters that the next one is guessed from
LEAST = 3  # lines of a role
TRAINED = 0.9  # of a role's examples
AUTHOR = "by William Shakespeare"  # stands under the title of every play, and first of all in the contents
TITLES = range(2, 8)  # lines above it, where the title may be
END = 124_196  # lines, after which there are no plays
SPEAKS, GOES_ON = re.compile(r"  ([a-zA-Z][a-zA-Z ]*)\. (.*)"), re.compile(r"    (.*)")
# Of the one play that is not indented.
ERRORS = "THE COMEDY OF ERRORS"
SPEAKS_THERE, GOES_ON_THERE = re.compile(r"([a-zA-Z][a-zA-Z ]*)\. (.*)"), re.compile(r"([^<].*|)$")
ALLOWED = f"a zip file with {MEMBER}, the Complete Works of 1994 (Project Gutenberg, number 100)"


def text_in(path: Path) -> str:
    """Return the text in the zip file."""
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo(MEMBER).file_size > LARGEST:
            raise ValueError(f"more than {LARGEST:,} bytes in {MEMBER}")
        return archive.read(MEMBER).decode("latin-1")


def spoken(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the lines of every role, by play and its name in capitals, in the order of the text."""
    lines = text.splitlines()[:END]
    begins = [number for number, line in enumerate(lines) if AUTHOR in line][1:]  # the first: the contents
    speeches: dict[tuple[str, str], list[str]] = {}
    for first, last in zip(begins, [*begins[1:], len(lines)], strict=True):
        above = (lines[first - back].strip() for back in TITLES if first >= back)
        title = next(filter(None, above), "")
        roles = spoken_in(lines[first + 1 : last], indented=title != ERRORS)
        if len(roles) > 1:  # or it is no play
            speeches |= {(title, role): speech for role, speech in roles.items()}
    return speeches


def spoken_in(lines: Sequence[str], indented: bool) -> dict[str, list[str]]:
    """Return the lines of every role of one play."""
    speaks, goes_on = (SPEAKS, GOES_ON) if indented else (SPEAKS_THERE, GOES_ON_THERE)
    roles: dict[str, list[str]] = defaultdict(list)
    role = ""
    for line in lines:
        if match := speaks.match(line):
            role = match[1].upper()
            if not indented and role.startswith("ACT "):
                role = ""
            else:
                roles[role].append(match[2])
        elif role and (match := goes_on.match(line)):
            roles[role].append(match[1])
        elif role and not indented:  # what stands in angles belongs to nobody
            role = ""
    return roles


def coded(lines: Sequence[str]) -> np.ndarray:
    """Return what a role says as numbers of the alphabet, int32 [characters]."""
    text = re.sub("  +", " ", " ".join((*lines, "")))
    return np.array([max(ALPHABET.find(letter), 0) for letter in text], dtype=np.int32)


def examples(lines: dict[tuple[str, str], list[str]]) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the examples of roles that have both, [n, LENGTH + 1], and how many of them are trained on."""
    for speech in lines.values():
        codes = coded(speech)
        if len(speech) < LEAST or len(codes) <= LENGTH:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(codes, LENGTH + 1)
        trained = max(1, int(TRAINED * len(windows)))
        if trained + LENGTH - 1 < len(windows):
            yield windows, trained


def drawn(text: str) -> dict[str, np.ndarray]:
    """Return the arrays of a dataset of one's own, of the text of the works; an owner is a role."""
    roles = list(examples(spoken(text)))
    if not roles:
        raise ValueError("no role that says enough")
    train = [windows[:trained] for windows, trained in roles]
    test = [windows[trained + LENGTH - 1 :] for windows, trained in roles]
    whole, tested = np.concatenate(train), np.concatenate(test)
    return {
        "x_train": np.ascontiguousarray(whole[:, :LENGTH]),
        "y_train": whole[:, LENGTH].astype(np.int64),
        "x_test": np.ascontiguousarray(tested[:, :LENGTH]),
        "y_test": tested[:, LENGTH].astype(np.int64),
        "classes": np.array(len(ALPHABET)),
        "owner": np.repeat(np.arange(len(train)), [len(part) for part in train]),
    }


if __name__ == "__main__":
    path, out = Path(sys.argv[1]), Path("shakespeare.npz")
    try:
        arrays = drawn(text_in(path))
    except (ValueError, KeyError, zipfile.BadZipFile, OSError) as error:
        sys.exit(f"{path}: found {error}, allowed: {ALLOWED}")
    np.savez(out, **arrays)
