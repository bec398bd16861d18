"""scikit-learn's bundled 8x8 handwritten digits, scaled to 28x28: the data that need no network."""

from pathlib import Path

import numpy as np

from fedpriv.data.arrays import Arrays
from fedpriv.data.dataset import Dataset
from fedpriv.streams import Streams

TRAIN_SHARE = 0.8


def enlarge(images: np.ndarray, side: int = 28) -> np.ndarray:
    """Return images [n, 8, 8] with ink 0..16 as uint8 [n, side, side], ink 0..255, interpolated linearly."""
    from scipy.ndimage import zoom

    large = np.asarray(zoom(images, (1, side / 8, side / 8), order=1, mode="nearest", grid_mode=True))
    # 8 of 16 is exactly 127.5 of 255: the small push rounds it up whatever the platform's last bit.
    return np.floor(large * (255 / 16) + 0.5 + 1e-6).astype(np.uint8)


def decode(raw: Path) -> Arrays:
    """Return the digits, a fixed 80 % of each class for training; `raw` is not read."""
    from sklearn.datasets import load_digits

    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    x, y = enlarge(pixels.reshape(-1, 8, 8)), labels.astype(np.int64)
    rng = Streams(0, "digits").numpy("split")
    train = np.zeros(len(y), dtype=bool)
    for label in range(10):
        members = rng.permutation(np.flatnonzero(y == label))
        train[members[: round(TRAIN_SHARE * len(members))]] = True
    return Arrays(x[train], y[train], x[~train], y[~train], classes=10)


DIGITS = Dataset(
    name="digits",
    files=(),
    public=(),
    decode=decode,
    licence="CC BY 4.0 (UCI Machine Learning Repository)",
    citation="Alpaydin, Kaynak: Optical Recognition of Handwritten Digits, UCI, 1998; in scikit-learn",
)
