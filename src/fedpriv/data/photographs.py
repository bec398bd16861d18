"""Datasets of photographs: a folder with `train.csv` and images of any size, which are read where they are.

The manifest says what is in such a folder: one entry an image, and the name of everything that is wrong.
APTOS 2019 has photographs of the fundus, graded 0 to 4 for diabetic retinopathy; from Kaggle, or a
folder.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from fedpriv.data import source
from fedpriv.data.source import folder_of, is_url
from fedpriv.errors import BadInput
from fedpriv.frozen import CountOrZero, Frozen, Thousands, parse
from fedpriv.progress import print_stderr, progress
from fedpriv.store.files import writing
from fedpriv.store.machine import cores

if TYPE_CHECKING:
    from PIL.Image import Image


NAMED = 10  # of what is wrong, in a line of a log; the manifest names all


class Photograph(Frozen):
    """A whole image: where it is below the folder, and which pixels it has."""

    id: str
    path: str
    label: int
    test: bool
    sha256: str  # of the decoded pixels


class Counts(Frozen):
    """The manifest in numbers; groups are sets of images with the same pixels."""

    rows: int
    train: int
    test: int
    missing: int
    unreadable: int
    identical_groups: int
    identical_images: int
    conflicting_groups: int  # of which the labels differ

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows: {self.test:,} test and {self.train:,} training images; "
            f"{self.missing:,} missing, {self.unreadable:,} unreadable; {self.identical_groups:,} "
            f"pixel-identical groups ({self.identical_images:,} images), {self.conflicting_groups:,} with "
            "conflicting labels"
        )


class Manifest(Frozen):
    """The images of a dataset in the order of train.csv, without those that cannot be used."""

    dataset: str
    classes: int
    folder: str  # absolute, or relative to the manifest if below its folder
    counts: Counts
    missing: tuple[str, ...]  # ids
    unreadable: dict[str, str]  # id -> why
    images: tuple[Photograph, ...]


def count(total: int, images: Sequence[Photograph], missing: int, unreadable: int) -> Counts:
    """Return the counts of a manifest: of the `images` that are there, and of `total` rows without one."""
    same = defaultdict(list)
    for image in images:
        same[image.sha256].append(image)
    groups = [group for group in same.values() if len(group) > 1]
    return Counts(
        rows=total,
        train=sum(not image.test for image in images),
        test=sum(image.test for image in images),
        missing=missing,
        unreadable=unreadable,
        identical_groups=len(groups),
        identical_images=sum(map(len, groups)),
        conflicting_groups=sum(len({image.label for image in group}) > 1 for group in groups),
    )


def look(dataset: Photographs, folder: Path, threads: int = 0) -> Manifest:
    """Read every image of `folder` and return what is there; a wrong train.csv is BadInput.

    So many `threads` read; 0 means one a core.
    """
    listed = rows(folder / "train.csv", dataset.classes, dataset.test_rows)
    paths = locate_images(folder)

    def examine(number: int, row: LabelledImage) -> Photograph | str | None:
        if row.id not in paths:
            return None
        try:
            image = decode_image(folder / paths[row.id])
        except ValueError as error:
            return str(error)
        return Photograph(
            id=row.id,
            path=paths[row.id],
            label=row.label,
            test=number < dataset.test_rows,
            sha256=fingerprint(image),
        )

    seen = []
    with (
        ThreadPoolExecutor(threads or cores()) as pool,
        progress(f"{dataset.name} in {folder}", 0, len(listed), unit="image") as report,
    ):
        for photograph in pool.map(examine, range(len(listed)), listed):
            seen.append(photograph)
            report({"image": len(seen)})
    images = tuple(photograph for photograph in seen if isinstance(photograph, Photograph))
    missing = tuple(row.id for row, photograph in zip(listed, seen, strict=True) if photograph is None)
    unreadable = {row.id: fault for row, fault in zip(listed, seen, strict=True) if isinstance(fault, str)}
    if not images:
        raise BadInput(
            f"{folder / 'train.csv'}: found no readable image of its {len(listed)} rows, allowed: images "
            f"{folder / 'train_images' / listed[0].id}{', '.join(SUFFIXES)}, ..."
        )
    return Manifest(
        dataset=dataset.name,
        classes=dataset.classes,
        folder=str(folder),
        counts=count(len(listed), images, len(missing), len(unreadable)),
        missing=missing,
        unreadable=unreadable,
        images=images,
    )


def manifest_fault(manifest: Manifest) -> str:
    """Return the first names of what cannot be used and why the first is unreadable, or the empty string."""
    kinds = []
    for what, names in (("missing", manifest.missing), ("unreadable", tuple(manifest.unreadable))):
        if names:
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            kinds.append(f"{len(names):,} {what}: {', '.join(names[:NAMED])}{more}")
    return "; ".join(kinds) + "".join(f", {why}" for why in [*manifest.unreadable.values()][:1])


def write_manifest(dataset: Photographs, mirrors: Sequence[str], path: Path) -> Manifest:
    """Find the photographs and write the manifest of them to `path`, as `write_manifest_of` does."""
    return write_manifest_of(dataset, dataset.find(mirrors, path.parent).resolve(), path)


def write_manifest_of(dataset: Photographs, folder: Path, path: Path, threads: int = 0) -> Manifest:
    """Look at every photograph of `folder` and write the manifest to `path`; its counts go to stderr.

    A manifest that says the same already is left alone, with its time, so nothing is made again for it.
    """
    manifest = look(dataset, folder, threads)
    if folder.is_relative_to(path.parent.resolve()):
        inside = folder.relative_to(path.parent.resolve())
        manifest = manifest.model_copy(update={"folder": inside.as_posix()})
    text = manifest.model_dump_json(indent=1)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        with writing(path) as partial:
            partial.write_text(text, encoding="utf-8")
    print_stderr(f"{dataset.name}: {manifest.counts}")
    if names := manifest_fault(manifest):
        print_stderr(f"{dataset.name}: {names}")
    return manifest


def load_manifest(path: Path) -> Manifest:
    """Return the manifest in `path`, its folder as a whole path; BadInput names a file that is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no manifest ({error}), allowed: what `fedpriv fetch` writes") from None
    manifest = parse(Manifest.model_validate, content, str(path))
    return manifest.model_copy(update={"folder": str(path.parent / manifest.folder)})


def refuse(manifest: Manifest, path: Path) -> None:
    """Raise BadInput if an image is missing or unreadable."""
    if names := manifest_fault(manifest):
        raise BadInput(
            f"{manifest.folder}: found {names} (of {manifest.counts.rows:,}; {path} names all), allowed: "
            f"whole images; repair them, delete {path} and rerun"
        )


COLUMNS = ("id_code", "diagnosis")
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
    unreadable: Literal["refuse"] = "refuse"
    """A missing or damaged image ends with one line."""


class LabelledImage(NamedTuple):
    """A row of train.csv: an image by id, and its grade."""

    id: str
    label: int


def rows(table: Path, classes: int, more_than: int) -> list[LabelledImage]:
    """Return the rows of a train.csv; BadInput names the file and the row that is wrong.

    Ids must be unique, labels in 0..classes-1, and the rows more than `more_than`, the test split. Spaces
    around them count for nothing, nor does an image's suffix after an id.
    """
    read: dict[str, LabelledImage] = {}
    allowed = {str(label): label for label in range(classes)}
    for line, written, label in numbered_lines(table):
        id_ = bare(written)
        if label not in allowed or not id_ or id_ in read:
            raise BadInput(
                f"{table}, line {line}: found diagnosis {label or 'nothing'} of {id_ or 'nobody'}, "
                f"allowed: 0 to {classes - 1}, every image once"
            )
        read[id_] = LabelledImage(id_, allowed[label])
    if len(read) <= more_than:
        raise BadInput(
            f"{table}: found {len(read)} rows, allowed: more than {more_than}, the rows of the test split"
        )
    return list(read.values())


def numbered_lines(table: Path) -> list[tuple[Any, ...]]:
    """Return the number of each line of a train.csv, and its columns without spaces around them."""
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            return [(reader.line_num, *((row[key] or "").strip() for key in COLUMNS)) for row in reader]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise BadInput(
            f"{table}: found no table ({error!r}), allowed: CSV in UTF-8 with columns {', '.join(COLUMNS)}"
        ) from None


def bare(name: str) -> str:
    """Return the id that a name stands for, in a table or of a file: without spaces around it or a suffix."""
    name = name.strip()
    return name[: name.rindex(".")].strip() if name.lower().endswith(SUFFIXES) else name


def locate_images(folder: Path) -> dict[str, str]:
    """Return the images by id, as paths below `folder`: in its `train_images`, or beside train.csv."""
    paths: dict[str, str] = {}
    for parent in (folder / "train_images", folder):
        files = sorted(parent.iterdir()) if parent.is_dir() else []
        for suffix in SUFFIXES:
            for file in files:
                if file.suffix.lower() == suffix:
                    paths.setdefault(bare(file.name), file.relative_to(folder).as_posix())
    return paths


def decode_image(path: Path) -> Image:
    """Return an image as RGB, turned as its EXIF says that it is to be seen.

    One that is damaged or cut is a ValueError in a few words. So is one of more than 8 bits, of which Pillow
    makes white, or with transparent pixels, which it shows: neither would be the same picture in RGB.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            ImageOps.exif_transpose(image, in_place=True)
            seen = image.convert("RGBA").getchannel("A") if image.has_transparency_data else None
            if image.mode[0] in "IF" or (seen and seen.getextrema() != (255, 255)):
                raise ValueError(f"pixels of mode {image.mode}: give them 8 bits and a background")
            return image.convert("RGB")
    except Exception as error:  # whatever a file makes Pillow raise
        raise ValueError(str(error).replace(str(path), path.name) or type(error).__name__) from error


def fingerprint(image: Image) -> str:
    """Return the sha256 of an image's size and pixels: equal for the same pixels in whatever file."""
    width, height = image.size
    return hashlib.sha256(f"{width}x{height}\n".encode() + image.tobytes()).hexdigest()


COMPETITION = "aptos2019-blindness-detection"


def find_aptos(mirrors: Sequence[str], own: Path) -> Path:
    """Return the folder of the photographs: a mirror's, or what kagglehub has downloaded or downloads now.

    That is the first folder `<mirror>/aptos`, or a mirror of that name. A mirror that is no folder is
    BadInput, and so is such a folder without train.csv.
    """
    for mirror in mirrors:
        if is_url(mirror):
            print_stderr(f"aptos: {mirror} is passed over: photographs are read from folders")
            continue
        whole = folder_of(mirror)
        for folder in (whole / "aptos", *([whole] if whole.resolve().name == "aptos" else [])):
            if (folder / "train.csv").is_file():
                return folder
            if folder.is_dir() and folder != whole:
                raise BadInput(f"{folder}: found no train.csv, allowed: train.csv and train_images/")
    return source.competition("aptos", COMPETITION)


APTOS = Photographs(
    name="aptos",
    classes=5,
    test_rows=500,
    side=224,
    find=find_aptos,
    network=True,
    licence="rules of the competition: no redistribution",
    citation="Asia Pacific Tele-Ophthalmology Society: APTOS 2019 Blindness Detection, Kaggle, 2019",
)
