"""Images → features that no private data are needed for: scattering, seen from public images.

images → scattering → directions of public images (`basis`) → resources/<arrays_id>.npz

Features of one's own need no transform: they are seen from public features.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fedpriv.data import arrays
from fedpriv.data.features import scattering
from fedpriv.data.features.basis import Public, inside, known_labels, noted, seen_from
from fedpriv.errors import BadInput
from fedpriv.machine.environment import cores
from fedpriv.progress import progress
from fedpriv.terminal import aside

BATCH = 10  # images in one pass: a core's cache holds their waves


def extract(
    images: Path,
    dataset: str,
    transform: str,
    public: Public,
    count: int,
    out: Path,
    threads: int = 0,
    alone: bool = False,
) -> Path:
    """Write the features of the arrays in `images` to `out`: so many directions of the `public` ones.

    Both are transformed by `transform`, a name of TRANSFORMS. Features have norms of at most LARGEST. They
    are the same whatever the number of `threads`, 0: one a core. Images unlike the public ones are BadInput.
    With `alone` the public images are the training split.
    """
    found = arrays.load(images)
    if alone:
        labels = known_labels(public, dataset)
        found = arrays.Arrays(public.images, labels, found.x_test, found.y_test, found.classes)
    alike(images, found.x_train, public, transform)
    with workers(threads) as pool:
        known = TRANSFORMS[transform].of(public.images, pool)
        seen = seen_from(known, count)

        def made(some: np.ndarray) -> np.ndarray:
            return inside(seen, TRANSFORMS[transform].of(some, pool))

        train, test = (features(made, x, dataset) for x in (found.x_train, found.x_test))
    note = (
        f"{TRANSFORMS[transform].words.format(known.shape[1])} of {dataset}"
        f"{noted(public, seen, known, dataset, test, found.y_test)}"
    )
    aside(f"{out}: {note}")
    return arrays.save(out, found._replace(x_train=train, x_test=test, note=note))


def alike(path: Path, x: np.ndarray, public: Public, transform: str) -> None:
    """Raise BadInput where inputs `[n, ...]` are not shaped as the public ones, or cannot be transformed."""
    shape, wanted = list(x.shape[1:]), list(public.images.shape[1:])
    if shape != wanted or x.dtype != public.images.dtype:
        what = "" if x.dtype == public.images.dtype else f"{x.dtype} "
        raise BadInput(
            f"{path}: found {what}images of shape {shape}, allowed: {wanted}, as {public.words} have"
        )
    if x.dtype.kind == "i":
        raise BadInput(f"{path}: found whole numbers ({x.dtype}), allowed: images or features")
    if transform == "scattering" and (len(shape) < 2 or any(side % 4 or side < 8 for side in shape[-2:])):
        raise BadInput(
            f"{path}: found examples of shape {shape}, allowed: images whose sides are multiples of 4 "
            "from 8 on, or model.transform: none"
        )


def grey(images: Path) -> arrays.Arrays:
    """Return the arrays in a file; BadInput where they are no images of 28 x 28 grey bytes."""
    found = arrays.load(images)
    if found.x_train.shape[1:] != (28, 28) or found.x_train.dtype != np.uint8:
        raise BadInput(f"{images}: found images of shape {list(found.x_train.shape[1:])}, allowed: [28, 28]")
    return found


def workers(threads: int) -> ThreadPoolExecutor:
    """Return so many threads, 0: one a core, each with operators of its own."""
    return ThreadPoolExecutor(threads or cores(), initializer=torch.set_num_threads, initargs=(1,))


def coefficients(images: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
    """Return the scattering of images `[n, h, w]` or `[n, channels, h, w]`, `[n, c]` float32."""
    return np.concatenate(list(pool.map(batch_features, np.array_split(images, -(-len(images) // BATCH)))))


def batch_features(images: np.ndarray) -> np.ndarray:
    """Return the scattering of a few images, `[n, c]`, channel by channel."""
    planes = torch.from_numpy(in_parts(images))
    return scattering.transform(planes.flatten(0, -3)).reshape(len(images), -1).numpy()


def as_they_are(rows: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
    """Return inputs `[n, ...]` as coefficients `[n, c]`."""
    return in_parts(rows).reshape(len(rows), -1)


def in_parts(x: np.ndarray) -> np.ndarray:
    """Return inputs as float32; bytes are parts of 255."""
    return x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x.astype(np.float32)


class Transform(NamedTuple):
    """What is done to inputs before they are seen from public ones."""

    of: Callable[[np.ndarray, ThreadPoolExecutor], np.ndarray]  # inputs `[n, ...]` to coefficients `[n, c]`
    words: str  # what it makes, with the number of coefficients


TRANSFORMS = {
    "scattering": Transform(coefficients, "Scattering (2 scales, 8 angles, {:,} numbers)"),
    "none": Transform(as_they_are, "The {:,} numbers"),
}


def features(made: Callable[[np.ndarray], np.ndarray], images: np.ndarray, dataset: str) -> np.ndarray:
    """Return what is `made` of images `[n, ...]`, some at a time, in order, with progress."""
    found, size = [], 100 * BATCH
    with progress(f"{dataset}: features", 0, len(images), unit="image") as report:
        for start in range(0, len(images), size):
            found.append(made(images[start : start + size]))
            report({"image": min(start + size, len(images))})
    return np.concatenate(found)
