"""A dataset of photographs: a folder with `train.csv` and images of any size, which are read in place."""

from __future__ import annotations

import csv
import hashlib
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from fedpriv.errors import BadInput
from fedpriv.frozen import CountOrZero, Frozen, Thousands

if TYPE_CHECKING:
    from PIL.Image import Image

COLUMNS = ("id_code", "diagnosis")
# All that Pillow raises on damaged bytes, but for a bomb.
DAMAGED = (OSError, SyntaxError, ValueError, EOFError, struct.error)
# The brightest of 16 bits that a camera of 14 bits or fewer may have written as it was, without scaling it.
DARK = 2**14
SUFFIXES = (".png", ".jpg", ".jpeg")  # the first that is there, if one id has several


@dataclass(frozen=True)
class Photographs:
    """A dataset by name; the first `test_rows` rows of its train.csv are the test split."""

    name: str
    classes: int
    test_rows: int
    side: int  # pixels: a network reads them as squares of this size
    find: Callable[[Sequence[str], Path], Path]  # mirrors, resources/<name> -> folder of the photographs
    network: bool  # whether the public source needs one
    licence: str
    citation: str
    writers: ClassVar[int] = 0
    gives: ClassVar[Literal["images", "features"]] = "features"
    contents: ClassVar[str] = "features"


class Photos(Frozen):
    """How photographs become training examples; plain images do not ask."""

    copies: Thousands = 1
    """Of each training image: the first is plain, the others are augmented."""
    seed: CountOrZero = 0
    """Of the augmentation."""
    dedup: Literal["keep", "drop"] = "keep"
    """drop: only the first of pixel-identical images stays."""
    unreadable: Literal["refuse", "skip"] = "refuse"
    """What a missing or damaged image means."""


class Row(NamedTuple):
    """A row of train.csv: an image by id, and its grade."""

    id: str
    label: int


def rows(table: Path, classes: int, more_than: int) -> list[Row]:
    """Return the rows of a train.csv; BadInput names the file and the row that is wrong.

    Ids must be unique, labels in 0..classes-1, and the rows more than `more_than`, the test split. Spaces
    around them count for nothing, nor does an image's suffix after an id.
    """
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            if missing := set(COLUMNS) - set(columns):
                raise BadInput(
                    f"{table}: found columns {', '.join(columns) or 'none'}, allowed: {', '.join(COLUMNS)} "
                    f"({', '.join(sorted(missing))} missing)"
                )
            found = [(reader.line_num, *((line[one] or "").strip() for one in COLUMNS)) for line in reader]
    except FileNotFoundError:
        raise BadInput(f"{table}: found no such file, allowed: a table of {', '.join(COLUMNS)}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{table}: found no readable table ({error}), allowed: CSV in UTF-8") from None
    read: list[Row] = []
    first: dict[str, int] = {}
    allowed = {str(label): label for label in range(classes)}
    for line, written, label in found:
        where, id_ = f"{table}, line {line}", bare(written)
        if not id_:
            raise BadInput(f"{where}: found no id_code, allowed: the name of an image")
        if label not in allowed:
            found_ = f"diagnosis {label or 'nothing'} of {id_}"
            raise BadInput(f"{where}: found {found_}, allowed: 0 to {classes - 1}")
        if id_ in first:
            raise BadInput(f"{where}: found id_code {id_} again (line {first[id_]}), allowed: every id once")
        first[id_] = line
        read.append(Row(id_, allowed[label]))
    if len(read) <= more_than:
        raise BadInput(
            f"{table}: found {len(read)} rows, allowed: more than {more_than}, the rows of the test split"
        )
    return read


def bare(name: str) -> str:
    """Return the id that a name stands for, in a table or of a file: without spaces around it or a suffix."""
    name = name.strip()
    return name[: name.rindex(".")].strip() if name.lower().endswith(SUFFIXES) else name


def located(folder: Path) -> dict[str, str]:
    """Return the images by id, as paths below `folder`: in its `train_images`, or beside train.csv."""
    found: dict[str, str] = {}
    for place in (folder / "train_images", folder):
        files = sorted(place.iterdir()) if place.is_dir() else []
        for suffix in SUFFIXES:
            for file in files:
                if file.suffix.lower() == suffix:
                    found.setdefault(bare(file.name), file.relative_to(folder).as_posix())
    return found


def decoded(path: Path) -> Image:
    """Return an image as RGB, turned as its EXIF says that it is to be seen.

    One that is damaged or cut, or would not be the same picture in RGB, is a ValueError in a few words.
    """
    from PIL import Image

    try:
        with Image.open(path) as image:
            image.load()
            turn(image)
            return rgb(image)
    except (*DAMAGED, Image.DecompressionBombError) as error:
        raise ValueError(str(error).replace(str(path), path.name) or type(error).__name__) from error


def turn(image: Image) -> None:
    """Turn a loaded image as its EXIF says; EXIF that cannot be read says nothing."""
    from PIL import ImageOps

    with suppress(*DAMAGED, TypeError, KeyError, ZeroDivisionError, OverflowError):
        ImageOps.exif_transpose(image, in_place=True)


def rgb(image: Image) -> Image:
    """Return a loaded image as RGB: 16 bits of grey become the upper 8, and nothing shows through.

    Pillow's own conversion makes white of 16 bits, of more and of floats, and shows what is transparent.
    """
    import numpy as np
    from PIL import Image

    if image.mode.startswith("I;16"):
        grey = np.asarray(image)
        if (most := int(grey.max())) < DARK:
            raise ValueError(f"16 bits a pixel of which none is above {most:,}: scale them to 8")
        return Image.fromarray((grey >> 8).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise ValueError(f"32 bits a pixel (mode {image.mode}), of any range: scale them to 8")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema() != (255, 255):
            raise ValueError("transparent pixels, and nobody says what is behind: paste it on a background")
    return image.convert("RGB")


def blank(image: Image) -> bool:
    """Return whether an RGB image has one single colour, as a failed conversion leaves it."""
    return len(image.getcolors(1) or ()) == 1


def fingerprint(image: Image) -> str:
    """Return the sha256 of an image's size and pixels: equal for the same pixels in whatever file."""
    width, height = image.size
    return hashlib.sha256(f"{width}x{height}\n".encode() + image.tobytes()).hexdigest()
