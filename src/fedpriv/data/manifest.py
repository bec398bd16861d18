"""What was found in a folder of photographs: one entry an image, and the name of everything that is wrong."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fedpriv.data.photographs import SUFFIXES, Photographs, Row, blank, decoded, fingerprint, located, rows
from fedpriv.errors import BadInput
from fedpriv.files.atomic import writing
from fedpriv.frozen import Frozen, parse, unless
from fedpriv.machine.environment import cores
from fedpriv.progress import progress
from fedpriv.terminal import aside

NAMED = 10  # of what is wrong, in a line of a log; the manifest names all


class Photograph(Frozen):
    """A whole image: where it is below the folder, and which pixels it has."""

    id: str
    path: str
    label: int
    test: bool
    sha256: str  # of the decoded pixels
    blank: bool = unless(False)  # all of one colour


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
    blank: int = unless(0)  # images of one single colour

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows: {self.test:,} test and {self.train:,} training images; "
            f"{self.missing:,} missing, {self.unreadable:,} unreadable; {self.identical_groups:,} "
            f"pixel-identical groups ({self.identical_images:,} images), {self.conflicting_groups:,} with "
            "conflicting labels" + (f"; {self.blank:,} of one single colour" if self.blank else "")
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


def identical(images: Iterable[Photograph]) -> list[list[Photograph]]:
    """Return the groups of at least two images with the same pixels, each in the order of `images`."""
    groups = defaultdict(list)
    for image in images:
        groups[image.sha256].append(image)
    return [group for group in groups.values() if len(group) > 1]


def first_of_each(images: Sequence[Photograph]) -> list[Photograph]:
    """Return the images without those whose pixels came before: test images come first, so they stay."""
    seen: dict[str, Photograph] = {}
    for image in images:
        seen.setdefault(image.sha256, image)
    return list(seen.values())


def count(total: int, images: Sequence[Photograph], missing: int, unreadable: int) -> Counts:
    """Return the counts of a manifest: of the `images` that are there, and of `total` rows without one."""
    groups = identical(images)
    return Counts(
        rows=total,
        train=sum(not image.test for image in images),
        test=sum(image.test for image in images),
        missing=missing,
        unreadable=unreadable,
        identical_groups=len(groups),
        identical_images=sum(map(len, groups)),
        conflicting_groups=sum(len({image.label for image in group}) > 1 for group in groups),
        blank=sum(image.blank for image in images),
    )


def look(dataset: Photographs, folder: Path, threads: int = 0) -> Manifest:
    """Read every image of `folder` and return what is there; a wrong train.csv is BadInput.

    So many `threads` read; 0 means one a core.
    """
    listed = rows(folder / "train.csv", dataset.classes, dataset.test_rows)
    places = located(folder)

    def one(number: int, row: Row) -> Photograph | str | None:
        if row.id not in places:
            return None
        try:
            image = decoded(folder / places[row.id])
        except ValueError as error:
            return str(error)
        return Photograph(
            id=row.id,
            path=places[row.id],
            label=row.label,
            test=number < dataset.test_rows,
            sha256=fingerprint(image),
            blank=blank(image),
        )

    seen = []
    with (
        ThreadPoolExecutor(threads or cores()) as pool,
        progress(f"{dataset.name} in {folder}", 0, len(listed), unit="image") as report,
    ):
        for found in pool.map(one, range(len(listed)), listed):
            seen.append(found)
            report({"image": len(seen)})
    images = tuple(found for found in seen if isinstance(found, Photograph))
    missing = tuple(row.id for row, found in zip(listed, seen, strict=True) if found is None)
    unreadable = {row.id: found for row, found in zip(listed, seen, strict=True) if isinstance(found, str)}
    if not images:
        first, why = listed[0].id, seen[0] or "is not there"
        raise BadInput(
            f"{folder / 'train.csv'}: found no readable image of its {len(listed)} rows (the first, {first}: "
            f"{why}), allowed: images {folder / 'train_images' / first}{', '.join(SUFFIXES)}"
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


def listing(what: str, names: Sequence[str]) -> str:
    """Return how many there are of something, and the names of the first."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{len(names):,} {what}: {', '.join(names[:NAMED])}{more}"


def wrong(manifest: Manifest) -> str:
    """Return the names of what cannot be used and why the first of it is unreadable, or the empty string."""
    kinds = (("missing", manifest.missing), ("unreadable", tuple(manifest.unreadable)))
    named = "; ".join(listing(what, names) for what, names in kinds if names)
    return named + "".join(f", {why}" for why in [*manifest.unreadable.values()][:1])


def write(dataset: Photographs, mirrors: Sequence[str], path: Path) -> Manifest:
    """Find the photographs and write the manifest of them to `path`, as `write_of` does."""
    return write_of(dataset, dataset.find(mirrors, path.parent).resolve(), path)


def write_of(dataset: Photographs, folder: Path, path: Path, threads: int = 0) -> Manifest:
    """Look at every photograph of `folder` and write the manifest to `path`, saying what was found.

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
    aside(f"{dataset.name}: {manifest.counts}")
    if names := wrong(manifest):
        aside(f"{dataset.name}: {names}")
    if plain := [image.id for image in manifest.images if image.blank]:
        aside(f"{dataset.name}: {listing('of one single colour', plain)}")
    return manifest


def load(path: Path) -> Manifest:
    """Return the manifest in `path`, its folder as a whole path; BadInput names a file that is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: found no manifest ({error}), allowed: what `fedpriv fetch` writes") from None
    manifest = parse(Manifest.model_validate, content, str(path))
    return manifest.model_copy(update={"folder": str(path.parent / manifest.folder)})


def refuse(manifest: Manifest, path: Path) -> None:
    """Raise BadInput if an image is missing or unreadable."""
    if names := wrong(manifest):
        raise BadInput(
            f"{manifest.folder}: found {names} (of {manifest.counts.rows:,}; {path} names all), allowed: "
            f"whole images; repair them, delete {path} and rerun, or leave them out with "
            "photos: {unreadable: skip}"
        )
