"""APTOS 2019: photographs of the fundus, graded 0 to 4 for diabetic retinopathy; from Kaggle, or a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedpriv.data.photographs import Photographs
from fedpriv.data.source import folder_of, is_url
from fedpriv.errors import BadInput
from fedpriv.terminal import aside

COMPETITION = "aptos2019-blindness-detection"


def mirrored_folder(name: str, mirrors: Sequence[str]) -> Path | None:
    """Return the first folder `<mirror>/<name>` (or a mirror of that name), or None.

    A mirror that is no folder is BadInput, and so is a found folder without train.csv.
    """
    for mirror in mirrors:
        if is_url(mirror):
            aside(f"{name}: {mirror} is passed over: photographs are read from folders")
            continue
        place = folder_of(mirror)
        for folder in (place / name, *([place] if place.resolve().name == name else [])):
            if (folder / "train.csv").is_file():
                return folder
            if folder.is_dir() and folder != place:
                raise BadInput(f"{folder}: found no train.csv, allowed: train.csv and train_images/")
    return None


def find(mirrors: Sequence[str], own: Path) -> Path:
    """Return the folder of the photographs: a mirror's, or what kagglehub has downloaded or downloads now."""
    if folder := mirrored_folder("aptos", mirrors):
        return folder
    from fedpriv.data import kaggle

    return kaggle.competition("aptos", COMPETITION)


APTOS = Photographs(
    name="aptos",
    classes=5,
    test_rows=500,
    side=224,
    find=find,
    network=True,
    licence="rules of the competition: no redistribution",
    citation="Asia Pacific Tele-Ophthalmology Society: APTOS 2019 Blindness Detection, Kaggle, 2019",
)
