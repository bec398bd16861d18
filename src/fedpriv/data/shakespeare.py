"""Shakespeare: the next character of what a role says, after the 80 before it, by role, as LEAF makes it.

LEAF (Caldas et al., 2018) takes the Complete Works as Project Gutenberg had them in January 1994, number
100. A role of a play that speaks in three lines or more is a writer; its lines, in their order, are one text,
with one space for an end of a line and for several spaces. Every place of the text with 80 characters before
it is an example: those, and the character there. The first nine of ten of a role's are trained on; of the
others those are tested on that share no character with them, and roles without any are left out.

DEVIATION: LEAF numbers a character that is none of its 80 as -1, which is its last one; ours is the first
one, the end of a line, which is in no example.
"""

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np

from fedpriv.data.arrays import Arrays, Dataset, RawFile
from fedpriv.errors import BadInput

FILE, MEMBER = "1994-01-100.zip", "100.txt"
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
WAY_OUT = "delete it and its .sha256 and fetch again"


def text_in(path: Path) -> str:
    """Return the text in the zip file; anything else is a ValueError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MEMBER).file_size > LARGEST:
                raise ValueError(f"more than {LARGEST:,} bytes in {MEMBER}")
            return archive.read(MEMBER).decode("latin-1")
    except KeyError:
        raise ValueError(f"no {MEMBER}") from None
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise ValueError(f"no whole zip file ({error})") from None


def problem(path: Path) -> str:
    """Return what a glance shows to be wrong: no zip of the works, or one in which no two plays begin."""
    try:
        plays = text_in(path).count(AUTHOR) - 1
    except ValueError as error:
        return f"found {error}, allowed: {ALLOWED}"
    return "" if plays > 0 else f"found no play in {MEMBER}, allowed: {ALLOWED}"


def spoken(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the lines of every role, by play and its name in capitals, in the order of the text."""
    lines = text.splitlines()[:END]
    begins = [number for number, line in enumerate(lines) if AUTHOR in line][1:]  # the first: the contents
    found: dict[tuple[str, str], list[str]] = {}
    for first, last in zip(begins, [*begins[1:], len(lines)], strict=True):
        above = (lines[first - back].strip() for back in TITLES if first >= back)
        title = next(filter(None, above), "")
        roles = spoken_in(lines[first + 1 : last], indented=title != ERRORS)
        if len(roles) > 1:  # or it is no play
            found |= {(title, role): said for role, said in roles.items()}
    return found


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
    for said in lines.values():
        codes = coded(said)
        if len(said) < LEAST or len(codes) <= LENGTH:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(codes, LENGTH + 1)
        trained = max(1, int(TRAINED * len(windows)))
        if trained + LENGTH - 1 < len(windows):
            yield windows, trained


def decode(raw: Path) -> Arrays:
    """Read the file in folder `raw`; one that is damaged or has no play is BadInput naming it."""
    path = raw / FILE
    try:
        roles = list(examples(spoken(text_in(path))))
    except ValueError as error:
        raise BadInput(f"{path}: found {error}, allowed: {ALLOWED}; {WAY_OUT}") from error
    if not roles:
        raise BadInput(f"{path}: found no role that says enough, allowed: {ALLOWED}; {WAY_OUT}")
    train = [windows[:trained] for windows, trained in roles]
    test = [windows[trained + LENGTH - 1 :] for windows, trained in roles]
    whole, tested = np.concatenate(train), np.concatenate(test)
    sizes = [len(part) for part in train]
    return Arrays(
        np.ascontiguousarray(whole[:, :LENGTH]),
        whole[:, LENGTH].astype(np.int64),
        np.ascontiguousarray(tested[:, :LENGTH]),
        tested[:, LENGTH].astype(np.int64),
        len(ALPHABET),
        note=f"{len(sizes):,} roles; the file's hash could not be compared with a published one",
        owner=np.repeat(np.arange(len(sizes)), sizes),
    )


SHAKESPEARE = Dataset(
    name="shakespeare",
    files=(RawFile(FILE, None, problem, LARGEST),),  # nobody publishes its hash
    public=("https://www.gutenberg.org/files/100/old/",),
    decode=decode,
    licence="World Library, 1990-1993: copies for personal, not for commercial use",
    citation="Caldas et al.: LEAF: A benchmark for federated settings, 2018 (arXiv:1812.01097)",
    contents="text",
    writers=1129,  # as LEAF counts them
)
