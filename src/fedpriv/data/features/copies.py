"""Which copies of which photographs become rows of the features, and their pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fedpriv.data import manifest
from fedpriv.data.features import augment
from fedpriv.data.manifest import Manifest, Photograph
from fedpriv.data.photographs import Photos, decoded, fingerprint
from fedpriv.errors import BadInput
from fedpriv.streams import Streams


class Copy(NamedTuple):
    """What one row of the features is computed from."""

    image: Photograph
    number: int  # 0: plain


def chosen(seen: Manifest, photos: Photos, path: Path) -> tuple[list[Photograph], list[Photograph]]:
    """Return the training and the test images that take part, in the order of train.csv.

    BadInput if some cannot be used and `photos` does not say to skip them, or if too few are left.
    """
    if photos.unreadable == "refuse":
        manifest.refuse(seen, path)
    images = manifest.first_of_each(seen.images) if photos.dedup == "drop" else seen.images
    train, test = ([image for image in images if image.test == tested] for tested in (False, True))
    # BatchNorm has no variance of a single image.
    if len(train) < 2 or not test:
        found = f"{len(train)} training and {len(test)} test images"
        raise BadInput(f"{path}: found {found} that can be used, allowed: at least 2 and 1")
    return train, test


def first_alike(copies: Sequence[Copy]) -> np.ndarray:
    """Return of every copy the first of the same pixels: two plain ones may be of images that are alike."""
    first: dict[tuple[str, int], int] = {}
    keys = ((one.image.id if one.number else one.image.sha256, one.number) for one in copies)
    return np.array([first.setdefault(key, place) for place, key in enumerate(keys)], dtype=np.int64)


def batches(copies: Sequence[Copy], size: int) -> list[Sequence[Copy]]:
    """Cut `copies` into batches of `size`, the last one smaller."""
    return [copies[start : start + size] for start in range(0, len(copies), size)]


def pixels(folder: Path, side: int, streams: Streams, batch: Sequence[Copy]) -> torch.Tensor:
    """Return the pixels of a batch, uint8 [n, 3, side, side]; an image is read once for all its copies in it.

    BadInput names an image that is not the one that was looked at.
    """
    rows = []
    for image, same in groupby(batch, key=lambda one: one.image):
        path = folder / image.path
        try:
            found = decoded(path)
        except ValueError as error:
            raise BadInput(f"{path}: found {error}, allowed: the image that the manifest lists") from None
        if fingerprint(found) != image.sha256:
            raise BadInput(f"{path}: found other pixels than the manifest lists, allowed: those; fetch again")
        whole = torch.from_numpy(np.array(found)).permute(2, 0, 1)
        rows += [augment.copy(whole, image.id, copy.number, side, streams) for copy in same]
    return torch.stack(rows)
