"""Images → features that no private data are needed for: scattering, seen from public images.

images → scattering → the first principal directions of public images → resources/<arrays_id>.npz

What is done to an image is fixed before anything private is seen and looks at that image alone, so no ε pays
for it, and one example moves a client's mean gradient by no more than its own share.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fedpriv.data import arrays
from fedpriv.data.digits import enlarge
from fedpriv.data.features import scattering
from fedpriv.errors import BadInput
from fedpriv.machine.environment import cores
from fedpriv.progress import progress
from fedpriv.terminal import aside

LARGEST = 1.5  # norm of any features
ROUNDED = 1 - 2.0**-10  # half precision does not take a norm above LARGEST again
BATCH = 10  # images in one pass: a core's cache holds their waves


class Public(NamedTuple):
    """Public images: grey levels 0..255 `[n, 28, 28]`, their labels, and whose labels mean the same."""

    images: np.ndarray
    labels: np.ndarray
    same: tuple[str, ...]  # datasets
    words: str


class Basis(NamedTuple):
    """What features are seen from."""

    middle: np.ndarray  # [c]
    directions: np.ndarray  # [c, k], scaled


def digits() -> Public:
    """Return scikit-learn's digits, 20 x 20 pixels in the middle of a frame of 28 x 28."""
    from sklearn.datasets import load_digits

    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    images = np.pad(enlarge(pixels.reshape(-1, 8, 8), 20), ((0, 0), (4, 4), (4, 4)))
    return Public(images, labels, ("mnist", "digits"), "the 1,797 public 8x8 digits of scikit-learn")


BASES: dict[str, Callable[[], Public]] = {"digits": digits}


def extract(images: Path, dataset: str, basis: str, count: int, out: Path, threads: int = 0) -> Path:
    """Write the features of the arrays in `images` to `out`: `count` directions of the public images `basis`.

    Features have norms of at most LARGEST. They are the same whatever the number of `threads`, 0: one a core.
    """
    found = arrays.load(images)
    if found.x_train.shape[1:] != (28, 28) or found.x_train.dtype != np.uint8:
        raise BadInput(f"{images}: found images of shape {list(found.x_train.shape[1:])}, allowed: [28, 28]")
    public = BASES[basis]()
    if not 0 < count < len(public.images):
        raise BadInput(f"model.directions: found {count}, allowed: 1 to {len(public.images) - 1}")
    with ThreadPoolExecutor(threads or cores(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        known = coefficients(public.images, pool)
        seen = seen_from(known, count)
        train, test = (features(seen, x, pool, f"{dataset}: features") for x in (found.x_train, found.x_test))
    note = (
        f"Scattering (2 scales, 8 angles, {known.shape[1]:,} numbers) of {dataset}, seen in the first "
        f"{count} principal directions of {public.words}, norms at most {LARGEST}; no private data were used"
    )
    if dataset in public.same:
        alone = alone_accuracy(inside(seen, known), public.labels, test, found.y_test)
        note += f"; on public data alone, ε = 0, a logistic regression reaches {100 * alone:.1f} % in test"
    made = found._replace(x_train=train, x_test=test, note=note)
    aside(f"{out}: {made.note}")
    return arrays.save(out, made)


def coefficients(images: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
    """Return the scattering of images `[n, 28, 28]` in bytes, `[n, c]` float32."""
    return np.concatenate(list(pool.map(of_batch, np.array_split(images, -(-len(images) // BATCH)))))


def of_batch(images: np.ndarray) -> np.ndarray:
    """Return the scattering of a few images, `[n, c]`."""
    return scattering.transform(torch.from_numpy(images).float() / 255).flatten(1).numpy()


def seen_from(known: np.ndarray, count: int) -> Basis:
    """Return the first `count` principal directions of public coefficients `[n, c]`.

    Each is divided by the root of the standard deviation along it, and all by the mean norm that public
    features then have. Which way a direction points is fixed by its largest coefficient.
    """
    middle = known.mean(axis=0, dtype=np.float64)
    centred = known - middle
    # Of n images there are fewer products than coefficients.
    squares, sides = np.linalg.eigh(centred @ centred.T)
    squares, sides = squares[::-1][:count], sides[:, ::-1][:, :count]
    directions = centred.T @ sides / np.sqrt(squares)
    largest = np.abs(directions).argmax(axis=0)
    directions *= np.sign(directions[largest, np.arange(count)])
    directions /= (squares / len(known)) ** 0.25
    directions /= np.linalg.norm(centred @ directions, axis=1).mean()
    return Basis(middle, directions)


def inside(basis: Basis, found: np.ndarray) -> np.ndarray:
    """Return the features `[n, k]`, float16, of coefficients `[n, c]`; none has a norm above LARGEST."""
    rows = (found - basis.middle) @ basis.directions
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows * np.minimum(1, LARGEST * ROUNDED / np.maximum(norms, 1e-30))).astype(np.float16)


def features(basis: Basis, images: np.ndarray, pool: ThreadPoolExecutor, words: str) -> np.ndarray:
    """Return the features of images `[n, 28, 28]`, in their order, showing progress."""
    found, size = [], 100 * BATCH
    with progress(words, 0, len(images), unit="image") as report:
        for start in range(0, len(images), size):
            found.append(inside(basis, coefficients(images[start : start + size], pool)))
            report({"image": min(start + size, len(images))})
    return np.concatenate(found)


def alone_accuracy(known: np.ndarray, labels: np.ndarray, test: np.ndarray, wanted: np.ndarray) -> float:
    """Return the accuracy on test features of a logistic regression on public features alone."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(max_iter=1000).fit(known.astype(np.float64), labels)
    return float(fitted.score(test.astype(np.float64), wanted))
