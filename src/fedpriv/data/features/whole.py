"""Images → all their scattering coefficients: fixed features that no data are needed for.

images → scattering → normalised in groups of paths, or as they are → resources/<arrays_id>.npz

Tramèr and Boneh 2021, Differentially private learning needs better features (or much more data).

DEVIATION: averages are kept around the third of every four pixels. Kymatio, which the authors use, keeps them
around the first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from fedpriv.data import arrays
from fedpriv.data.features import scattering
from fedpriv.data.features.basis import ALONE
from fedpriv.data.features.projected import coefficients, features, grey, workers
from fedpriv.terminal import aside


def extract(images: Path, dataset: str, groups: int | None, out: Path, threads: int = 0) -> Path:
    """Write the features of the arrays in `images` to `out`, float16 `[n, paths · places]`, path by path.

    Paths of no modulus come first, then those of one and of two. With `groups` the numbers of each group of
    neighbouring paths of one image have mean 0 and variance v/(v + 10⁻⁵), where v was theirs (Wu and He 2018,
    Group normalization). Nothing of one image depends on another, so no ε pays for features.
    """
    found = grey(images)
    with workers(threads) as pool:

        def made(some: np.ndarray) -> np.ndarray:
            return normalised(coefficients(some, pool), groups)

        train, test = (features(made, x, dataset) for x in (found.x_train, found.x_test))
    how = f", normalised in {groups} groups of paths, image by image" if groups else ""
    numbers = f"2 scales, 8 angles, {train.shape[1]:,} numbers"
    note = f"Scattering ({numbers}) of {dataset}{how}; {ALONE}"
    aside(f"{out}: {note}")
    return arrays.save(out, found._replace(x_train=train, x_test=test, note=note))


def normalised(coefficients: np.ndarray, groups: int | None) -> np.ndarray:
    """Return the features of coefficients `[n, paths · places]` as `extract` has them."""
    paths = torch.from_numpy(coefficients).unflatten(1, (scattering.PATHS, -1))[..., None]
    found = scattering.moduli_order(paths)
    if groups:
        found = torch.nn.functional.group_norm(found, groups)
    return found.flatten(1).half().numpy()
