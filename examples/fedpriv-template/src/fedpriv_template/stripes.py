"""Striped images, drawn: which way the stripes run is the class."""

from pathlib import Path

import numpy as np

from fedpriv.data.arrays import Arrays, Dataset
from fedpriv.streams import Streams

SIDE, TRAIN, TEST = 28, 1600, 400
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


def decode(raw: Path) -> Arrays:
    """Return noisy stripes of random phase, the same everywhere; `raw` is not read."""
    rng = Streams(0, "stripes").numpy("draw")
    n = TRAIN + TEST
    labels = np.arange(n) % len(DIRECTIONS)
    across = np.array(DIRECTIONS)[labels]
    rows, columns = np.mgrid[:SIDE, :SIDE]
    place = across[:, 0, None, None] * rows + across[:, 1, None, None] * columns
    phase = rng.uniform(-0.15, 0.15, (n, 1, 1))
    ink = 127.5 + 80 * np.sin(2 * np.pi * (place / 7 + phase)) + rng.normal(0, 20, place.shape)
    images = ink.clip(0, 255).astype(np.uint8)
    return Arrays(images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:], classes=len(DIRECTIONS))


STRIPES = Dataset(
    name="stripes",
    files=(),
    public=(),
    decode=decode,
    licence="CC0",
    citation="drawn by fedpriv-template",
)
