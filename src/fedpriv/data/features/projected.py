"""Images → features that no private data are needed for: scattering, seen from public images.

images → scattering → directions of public images (`basis`) → resources/<arrays_id>.npz
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

from fedpriv.data import arrays
from fedpriv.data.features import scattering
from fedpriv.data.features.basis import BASES, inside, noted, seen_from
from fedpriv.errors import BadInput
from fedpriv.machine.environment import cores
from fedpriv.progress import progress
from fedpriv.terminal import aside

BATCH = 10  # images in one pass: a core's cache holds their waves


def extract(images: Path, dataset: str, basis: str, count: int, out: Path, threads: int = 0) -> Path:
    """Write the features of the arrays in `images` to `out`: `count` directions of the public images `basis`.

    Features have norms of at most LARGEST. They are the same whatever the number of `threads`, 0: one a core.
    """
    found, public = grey(images), BASES[basis]()
    with workers(threads) as pool:
        known = coefficients(public.images, pool)
        seen = seen_from(known, count)
        made = partial(inside, seen)
        train, test = (features(made, x, pool, dataset) for x in (found.x_train, found.x_test))
    note = (
        f"Scattering (2 scales, 8 angles, {known.shape[1]:,} numbers) of {dataset}"
        f"{noted(public, seen, known, dataset, test, found.y_test)}"
    )
    aside(f"{out}: {note}")
    return arrays.save(out, found._replace(x_train=train, x_test=test, note=note))


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
    """Return the scattering of images `[n, 28, 28]` in bytes, `[n, c]` float32."""
    return np.concatenate(list(pool.map(batch_features, np.array_split(images, -(-len(images) // BATCH)))))


def batch_features(images: np.ndarray) -> np.ndarray:
    """Return the scattering of a few images, `[n, c]`."""
    return scattering.transform(torch.from_numpy(images).float() / 255).flatten(1).numpy()


def features(
    made: Callable[[np.ndarray], np.ndarray], images: np.ndarray, pool: ThreadPoolExecutor, dataset: str
) -> np.ndarray:
    """Return what is `made` of the coefficients `[n, c]` of images `[n, 28, 28]`, in order, with progress."""
    found, size = [], 100 * BATCH
    with progress(f"{dataset}: features", 0, len(images), unit="image") as report:
        for start in range(0, len(images), size):
            found.append(made(coefficients(images[start : start + size], pool)))
            report({"image": min(start + size, len(images))})
    return np.concatenate(found)
