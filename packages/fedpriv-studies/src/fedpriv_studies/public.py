"""Features of images that no private data are needed for: scattering, whole or seen from public images.

    images -> scattering -> normalised in groups of paths, or as they are -> resources/<arrays_id>.npz
    images -> scattering -> directions of public images                   -> resources/<arrays_id>.npz

The scattering transform is wavelets and moduli, two layers deep: Mallat, Group invariant scattering,
2012; Bruna and Mallat, Invariant scattering convolution networks, 2013. Morlet wavelets as there: σ = 0.8
· 2^j, ξ = 3π/4 · 2^−j, twice as long across as along; 2 scales, 8 angles. Whole, it is what Tramèr and
Boneh 2021 train on, Differentially private learning needs better features (or much more data).

In directions of public images features have bounded norm, each of one image alone. What is done to an
image is fixed before anything private is seen, so no ε pays for it, and one example moves a client's mean
gradient by no more than its own share. Features of one's own need no transform: they are seen from public
features.

DEVIATION: averages are kept around the third of every four pixels. Kymatio, which the authors use, keeps
them around the first.
"""

import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fedpriv.data import arrays
from fedpriv.errors import BadInput
from fedpriv.models.base import Features
from fedpriv.progress import print_stderr, progress
from fedpriv.store.machine import cores
from fedpriv_studies.basis import ALONE, Public, basis_features, known_labels, note_on, seen_from

SCALES, ANGLES = 2, 8
SPREAD = 0.8  # of a wave at scale 0 along itself, in pixels
STEP = 2**SCALES  # pixels between two places at which an average is kept
PATHS = 1 + SCALES * ANGLES + ANGLES**2 * SCALES * (SCALES - 1) // 2
PADDING = 4  # pixels on every side, mirrored, so that nothing comes round from the other side
# How many moduli each path of a transform has had, in their order.
MODULI = [
    0,
    *(moduli for scale in range(SCALES) for moduli in [1] * ANGLES + [2] * ANGLES**2 * (SCALES - 1 - scale)),
]


def transform(images: torch.Tensor) -> torch.Tensor:
    """Return the coefficients `[n, PATHS, h / 4, w / 4]` of images `[n, h, w]` in 0..1.

    Sides are multiples of 4. Nothing of one image depends on another. The first path is the average, then
    come one and two moduli.
    """
    padded = torch.nn.functional.pad(images[:, None], [PADDING] * 4, mode="reflect")
    waves = wavelets(*padded.shape[2:])
    paths, spectrum = [averages(padded)], torch.fft.fft2(padded)
    first = [torch.fft.ifft2(spectrum * at_scale).abs() for at_scale in waves]
    for scale, moduli in enumerate(first):
        paths.append(averages(moduli))
        for larger in range(scale + 1, SCALES):
            for spectrum in torch.fft.fft2(moduli).split(1, dim=1):
                paths.append(averages(torch.fft.ifft2(spectrum * waves[larger]).abs()))
    return torch.cat(paths, dim=1)


def moduli_order(paths: torch.Tensor) -> torch.Tensor:
    """Return coefficients `[n, PATHS, h, w]` with all paths of one modulus before those of two.

    Within each, paths keep their order: by scale, then by angle.
    """
    return paths[:, sorted(range(PATHS), key=MODULI.__getitem__)]


def averages(padded: torch.Tensor) -> torch.Tensor:
    """Return the local averages of `[..., h, w]` at every fourth pixel of the image, from its third on."""
    down, across = map(smoothing, padded.shape[-2:])
    return down @ padded @ across.T


@functools.cache
def smoothing(length: int) -> torch.Tensor:
    """Return the Gaussian means `[kept, length]` of a row of pixels around each that is kept, float32."""
    kernel = torch.fft.ifft(bell(1, length, SPREAD * STEP / 2, 1.0, 0.0, 0.0)[0]).real
    kernel = kernel / kernel.sum()
    places = range(PADDING + STEP // 2, length - PADDING, STEP)
    return torch.stack([kernel.roll(place) for place in places]).float()


@functools.cache
def wavelets(height: int, width: int) -> torch.Tensor:
    """Return the spectra of the wavelets `[SCALES, ANGLES, h, w]`, float32.

    One is a bell around ξ, less as much of a bell around 0 as makes the wavelet's sum zero.
    """
    waves = []
    for scale in range(SCALES):
        sigma, xi = SPREAD * 2**scale, 0.75 * math.pi / 2**scale
        for angle in (math.pi * turn / ANGLES for turn in range(ANGLES)):
            around, middle = (bell(height, width, sigma, 2 * sigma, angle, at) for at in (xi, 0.0))
            waves.append(around - around[0, 0] / middle[0, 0] * middle)
    return torch.stack(waves).float().view(SCALES, ANGLES, height, width)


def bell(height: int, width: int, along: float, across: float, angle: float, at: float) -> torch.Tensor:
    """Return the spectrum of a Gaussian with these standard deviations, in pixels, moved to frequency `at`.

    Frequencies of a grid are those of all its multiples, so that the bell goes round it.
    """
    total = torch.zeros(height, width, dtype=torch.float64)
    turns = 2 * math.pi * torch.arange(-2, 3, dtype=torch.float64)
    for down in turns:
        for right in turns:
            y = 2 * math.pi * torch.fft.fftfreq(height, dtype=torch.float64)[:, None] + down
            x = 2 * math.pi * torch.fft.fftfreq(width, dtype=torch.float64) + right
            ahead = math.cos(angle) * x + math.sin(angle) * y - at
            aside = math.cos(angle) * y - math.sin(angle) * x
            total += torch.exp(-((along * ahead) ** 2 + (across * aside) ** 2) / 2)
    return total


BATCH = 10  # images in one pass: a core's cache holds their waves


def extract_projected(source: Features, transform: str, public: Public, count: int, out: Path) -> Path:
    """Write the features of the arrays in `source` to `out`: so many directions of the `public` ones.

    Both are transformed by `transform`, a name of TRANSFORMS. Features have norms of at most LARGEST. They
    are the same whatever the number of threads. Images unlike the public ones are BadInput. With `alone` the
    public images are the training split.
    """
    images, dataset = source.listed, source.dataset
    data = arrays.load(images)
    if source.alone:
        labels = known_labels(public, dataset)
        data = arrays.Arrays(public.images, labels, data.x_test, data.y_test, data.classes)
    check_alike(images, data.x_train, public, transform)
    with workers(source.threads) as pool:
        known = TRANSFORMS[transform].of(public.images, pool)
        seen = seen_from(known, count)

        def made(some: np.ndarray) -> np.ndarray:
            return basis_features(seen, TRANSFORMS[transform].of(some, pool))

        train, test = (features(made, x, dataset) for x in (data.x_train, data.x_test))
    note = (
        f"{TRANSFORMS[transform].words.format(known.shape[1])} of {dataset}"
        f"{note_on(public, seen, known, dataset, test, data.y_test)}"
    )
    print_stderr(f"{out}: {note}")
    return arrays.save(out, data._replace(x_train=train, x_test=test, note=note))


def check_alike(path: Path, x: np.ndarray, public: Public, transform: str) -> None:
    """Raise BadInput where inputs `[n, ...]` are not shaped as the public ones, or cannot be transformed."""
    shape, expected = list(x.shape[1:]), list(public.images.shape[1:])
    if shape != expected or x.dtype != public.images.dtype:
        what = "" if x.dtype == public.images.dtype else f"{x.dtype} "
        raise BadInput(
            f"{path}: found {what}images of shape {shape}, allowed: {expected}, as {public.words} have"
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
    data = arrays.load(images)
    if data.x_train.shape[1:] != (28, 28) or data.x_train.dtype != np.uint8:
        raise BadInput(f"{images}: found images of shape {list(data.x_train.shape[1:])}, allowed: [28, 28]")
    return data


def workers(threads: int) -> ThreadPoolExecutor:
    """Return so many threads, 0: one a core, each with operators of its own."""
    return ThreadPoolExecutor(threads or cores(), initializer=torch.set_num_threads, initargs=(1,))


def coefficients(images: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
    """Return the scattering of images `[n, h, w]` or `[n, channels, h, w]`, `[n, c]` float32."""

    def of_batch(some: np.ndarray) -> np.ndarray:
        planes = torch.from_numpy(in_parts(some)).flatten(0, -3)  # channel by channel
        return transform(planes).reshape(len(some), -1).numpy()

    return np.concatenate(list(pool.map(of_batch, np.array_split(images, -(-len(images) // BATCH)))))


def in_parts(x: np.ndarray) -> np.ndarray:
    """Return inputs as float32; bytes are parts of 255."""
    return x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x.astype(np.float32)


class Transform(NamedTuple):
    """What is done to inputs before they are seen from public ones."""

    of: Callable[[np.ndarray, ThreadPoolExecutor], np.ndarray]  # inputs `[n, ...]` to coefficients `[n, c]`
    words: str  # what it makes, with the number of coefficients


TRANSFORMS = {
    "scattering": Transform(coefficients, "Scattering (2 scales, 8 angles, {:,} numbers)"),
    "none": Transform(lambda rows, _: in_parts(rows).reshape(len(rows), -1), "The {:,} numbers"),
}


def features(made: Callable[[np.ndarray], np.ndarray], images: np.ndarray, dataset: str) -> np.ndarray:
    """Return the features that `made` gives of images `[n, ...]`, some at a time, in order, with progress."""
    blocks, size = [], 100 * BATCH
    with progress(f"{dataset}: features", 0, len(images), unit="image") as report:
        for start in range(0, len(images), size):
            blocks.append(made(images[start : start + size]))
            report({"image": min(start + size, len(images))})
    return np.concatenate(blocks)


def extract_whole(source: Features, groups: int | None, out: Path) -> Path:
    """Write the features of the arrays in `source` to `out`, float16 `[n, paths · places]`, path by path.

    Paths of no modulus come first, then those of one and of two. With `groups` the numbers of each group of
    neighbouring paths of one image have mean 0 and variance v/(v + 10⁻⁵), where v was theirs (Wu and He 2018,
    Group normalization). Nothing of one image depends on another, so no ε pays for features.
    """
    data, dataset = grey(source.listed), source.dataset
    with workers(source.threads) as pool:

        def made(some: np.ndarray) -> np.ndarray:
            return normalise_paths(coefficients(some, pool), groups)

        train, test = (features(made, x, dataset) for x in (data.x_train, data.x_test))
    how = f", normalised in {groups} groups of paths, image by image" if groups else ""
    numbers = f"2 scales, 8 angles, {train.shape[1]:,} numbers"
    note = f"Scattering ({numbers}) of {dataset}{how}; {ALONE}"
    print_stderr(f"{out}: {note}")
    return arrays.save(out, data._replace(x_train=train, x_test=test, note=note))


def normalise_paths(coefficients: np.ndarray, groups: int | None) -> np.ndarray:
    """Return the features of coefficients `[n, paths · places]` as `extract` has them."""
    paths = torch.from_numpy(coefficients).unflatten(1, (PATHS, -1))[..., None]
    ordered = moduli_order(paths)
    if groups:
        ordered = torch.nn.functional.group_norm(ordered, groups)
    return ordered.flatten(1).half().numpy()
