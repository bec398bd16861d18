"""Images → features that no private data are needed for: scattering, seen from public images.

images → scattering → directions of public images (`basis`) → resources/<arrays_id>.npz
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from fedpriv.data import arrays
from fedpriv.data.features import scattering
from fedpriv.data.features.basis import BASES, Basis, inside, noted, seen_from
from fedpriv.errors import BadInput
from fedpriv.machine.environment import cores
from fedpriv.progress import progress
from fedpriv.terminal import aside

BATCH = 10  # images in one pass: a core's cache holds their waves


def extract(images: Path, dataset: str, basis: str, count: int, out: Path, threads: int = 0) -> Path:
    """Write the features of the arrays in `images` to `out`: `count` directions of the public images `basis`.

    Features have norms of at most LARGEST. They are the same whatever the number of `threads`, 0: one a core.
    """
    found = arrays.load(images)
    if found.x_train.shape[1:] != (28, 28) or found.x_train.dtype != np.uint8:
        raise BadInput(f"{images}: found images of shape {list(found.x_train.shape[1:])}, allowed: [28, 28]")
    public = BASES[basis]()
    with ThreadPoolExecutor(threads or cores(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        known = coefficients(public.images, pool)
        seen = seen_from(known, count)
        train, test = (features(seen, x, pool, f"{dataset}: features") for x in (found.x_train, found.x_test))
    note = (
        f"Scattering (2 scales, 8 angles, {known.shape[1]:,} numbers) of {dataset}"
        f"{noted(public, seen, known, dataset, test, found.y_test)}"
    )
    made = found._replace(x_train=train, x_test=test, note=note)
    aside(f"{out}: {made.note}")
    return arrays.save(out, made)


def coefficients(images: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
    """Return the scattering of images `[n, 28, 28]` in bytes, `[n, c]` float32."""
    return np.concatenate(list(pool.map(of_batch, np.array_split(images, -(-len(images) // BATCH)))))


def of_batch(images: np.ndarray) -> np.ndarray:
    """Return the scattering of a few images, `[n, c]`."""
    return scattering.transform(torch.from_numpy(images).float() / 255).flatten(1).numpy()


def features(basis: Basis, images: np.ndarray, pool: ThreadPoolExecutor, words: str) -> np.ndarray:
    """Return the features of images `[n, 28, 28]`, in their order, showing progress."""
    found, size = [], 100 * BATCH
    with progress(words, 0, len(images), unit="image") as report:
        for start in range(0, len(images), size):
            found.append(inside(basis, coefficients(images[start : start + size], pool)))
            report({"image": min(start + size, len(images))})
    return np.concatenate(found)
