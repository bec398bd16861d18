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
    found = pooled(
        features.listed, features.photos, backbone, out, *how, public=public.images, alone=features.alone
    )
    directions = seen_from(found.known, count)
    x = basis_features(directions, found.x)
    note = note_on(public, directions, found.known, found.dataset, x[len(found.y) :], found.wanted)
    if not features.alone:
        return found.saved(out, x, found.y, found.group, note)
    y = known_labels(public, found.dataset)
    x = np.concatenate([basis_features(directions, found.known), x])
    return found.saved(out, x, y, np.arange(len(y)), note)
