"""Photographs, seen in the directions of public ones: the features of a frozen network, of bounded norm."""

from pathlib import Path

import numpy as np

from fedpriv.data.features.extract import pooled
from fedpriv.models.base import Features
from fedpriv_studies.basis import BASES, basis_features, known_labels, note_on, seen_from


def extract_seen(features: Features, backbone: str, basis: str, count: int, out: Path) -> Path:
    """Write the features of photographs by `backbone` in so many directions of a public basis to `out`.

    Nothing of one image depends on another, and norms are bounded. With `alone` the public images are the
    training split, and no private one is read but those of the test split.
    """
    public, how = BASES[basis](), (features.device, features.threads)
    photos = pooled(
        features.listed, features.photos, backbone, out, *how, public=public.images, alone=features.alone
    )
    directions = seen_from(photos.known, count)
    x = basis_features(directions, photos.x)
    note = note_on(public, directions, photos.known, photos.dataset, x[len(photos.y) :], photos.wanted)
    if not features.alone:
        return photos.saved(out, x, photos.y, photos.group, note)
    y = known_labels(public, photos.dataset)
    x = np.concatenate([basis_features(directions, photos.known), x])
    return photos.saved(out, x, y, np.arange(len(y)), note)
