"""Photographs to features: every copy of every image through a frozen backbone, batch by batch, resumable.

Each worker thread runs whole batches on one core: no barriers inside an operator, and the result does not
depend on the number of threads. A killed extraction goes on from the parts beside its output. What a copy
looks like depends on its image and number alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torchvision
from safetensors.torch import load_file, save_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

from fedpriv.data import arrays, photograph_datasets, photographs
from fedpriv.data.features import FEATURES_VERSION, backbone
from fedpriv.data.photographs import Manifest, Photograph, Photos, decode_image, fingerprint
from fedpriv.errors import BadInput
from fedpriv.progress import print_stderr, progress
from fedpriv.store import gpus
from fedpriv.store.files import writing
from fedpriv.store.machine import cores
from fedpriv.streams import Streams


def open_folder(folder: Path, identity: str) -> None:
    """Make `folder` one of this identity; the parts of any other are removed."""
    label = folder / "identity"
    if label.exists() and label.read_text() == identity:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with writing(label) as partial:
        partial.write_text(identity)


def save(folder: Path, number: int, rows: np.ndarray) -> None:
    """Keep the features of batch `number`, atomically."""
    with writing(folder / f"{number:06d}.npy") as partial, partial.open("wb") as file:
        np.save(file, rows)


def load_part(folder: Path, number: int, count: int) -> np.ndarray | None:
    """Return the features of batch `number`, or None if they are not there or not `count` whole rows."""
    try:
        rows = np.load(folder / f"{number:06d}.npy")
    except (OSError, ValueError, EOFError, MemoryError):
        return None
    return rows if rows.dtype == np.float16 and rows.ndim == 2 and len(rows) == count else None


class Copy(NamedTuple):
    """What one row of the features is computed from."""

    image: Photograph
    number: int  # 0: plain


def choose_photographs(
    seen: Manifest, photos: Photos, path: Path
) -> tuple[list[Photograph], list[Photograph]]:
    """Return the training and the test images that take part, in the order of train.csv.

    BadInput if any cannot be used, or if too few are left.
    """
    photographs.refuse(seen, path)
    images: Iterable[Photograph] = seen.images
    if photos.dedup == "drop":  # of the same pixels the first stays: test images come first
        first: dict[str, Photograph] = {}
        for image in images:
            first.setdefault(image.sha256, image)
        images = first.values()
    train, test = ([image for image in images if image.test == tested] for tested in (False, True))
    # BatchNorm has no variance of a single image.
    if len(train) < 2 or not test:
        counts = f"{len(train)} training and {len(test)} test images"
        raise BadInput(f"{path}: found {counts} that can be used, allowed: at least 2 and 1")
    return train, test


def pixels(folder: Path, side: int, streams: Streams, batch: Sequence[Copy]) -> torch.Tensor:
    """Return the pixels of a batch, uint8 [n, 3, side, side]; an image is read once for all its copies in it.

    BadInput names an image that is not the one that was looked at.
    """
    rows = []
    for image, same in groupby(batch, key=lambda copy: copy.image):
        path = folder / image.path
        try:
            picture = decode_image(path)
        except ValueError as error:
            raise BadInput(f"{path}: found {error}, allowed: the image that the manifest lists") from None
        if fingerprint(picture) != image.sha256:
            raise BadInput(f"{path}: found other pixels than the manifest lists, allowed: those; fetch again")
        whole = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
        rows += [augmented_copy(whole, image.id, copy.number, side, streams) for copy in same]
    return torch.stack(rows)


# The paper augments by cropping, flipping, rotation and brightness and says no more; mild ranges, under which
# a lesion stays a lesion.
AREA = (0.7, 1.0)  # of the crop, as a share of the image
ASPECT = (3 / 4, 4 / 3)  # of the crop, times that of the image
DEGREES = 20.0
BRIGHTNESS = (0.8, 1.2)


def squared(image: torch.Tensor, side: int) -> torch.Tensor:
    """Return the whole image uint8 [3, h, w] as a square [3, side, side]; its aspect is not kept."""
    return F.resize(image, [side, side], antialias=True)


def augment_image(image: torch.Tensor, side: int, rng: np.random.Generator) -> torch.Tensor:
    """Return a random resized crop of the image, flipped, rotated (corners black), brighter or darker."""
    height, width = image.shape[-2:]
    area, stretch = rng.uniform(*AREA), math.exp(rng.uniform(*np.log(ASPECT)))
    h = min(max(round(height * math.sqrt(area / stretch)), 1), height)
    w = min(max(round(width * math.sqrt(area * stretch)), 1), width)
    top, left = int(rng.integers(height - h + 1)), int(rng.integers(width - w + 1))
    across, down = rng.random(2) < 0.5
    degrees, brightness = float(rng.uniform(-DEGREES, DEGREES)), float(rng.uniform(*BRIGHTNESS))

    image = F.resized_crop(image, top, left, h, w, [side, side], antialias=True)
    image = F.horizontal_flip(image) if across else image
    image = F.vertical_flip(image) if down else image
    image = F.rotate(image, degrees, interpolation=InterpolationMode.BILINEAR)
    return F.adjust_brightness(image, brightness)


def augmented_copy(image: torch.Tensor, name: str, number: int, side: int, streams: Streams) -> torch.Tensor:
    """Return copy `number` of the image `name`, uint8 [3, side, side]; copy 0 is the plain image."""
    if number == 0:
        return squared(image, side)
    return augment_image(image, side, streams.numpy(f"augment {name}", number))


BATCH = 16  # copies in one forward pass; measured: larger ones are no faster on a CPU, and need more memory
CALIBRATION, TOGETHER = 512, 32  # plain training images that give a random backbone its statistics


# Of the median spread, or of the largest where most features never vary: what hardly varies is not blown up.
LEAST_SPREAD = 1e-3


def standardise(
    features: np.ndarray, plain: np.ndarray, length: float = 1.0, reach: float = np.inf
) -> np.ndarray:
    """Return `features` `[n, f]` with the mean and spread of `plain` `[m, f]` taken out, float16.

    Afterwards the root mean square of the norms of the rows of `plain` is `length`, a power of two, or less
    where values are cut: none is more than `reach` spreads from its mean. The statistics are those of
    training images and are used without noise, as those of a calibrated backbone are: no ε pays for them.
    """
    known = plain.astype(np.float32)
    mean, spread = known.mean(axis=0), known.std(axis=0)
    least = LEAST_SPREAD * (np.median(spread) or spread.max() or 1.0)
    scale = 1 / (np.maximum(spread, least) * np.sqrt(known.shape[1]))
    most = reach / known.shape[1] ** 0.5
    standardised = np.empty(features.shape, np.float16)
    for start in range(0, len(features), 1024):  # so that float32 copies stay small
        moved = (features[start : start + 1024].astype(np.float32) - mean) * scale
        standardised[start : start + 1024] = moved.clip(-most, most)
    standardised *= np.float16(length)  # nothing is rounded again
    return standardised


class Pooled(NamedTuple):
    """The features of all images of a manifest as a backbone has them, and what they are of."""

    x: np.ndarray  # [n, f], float16: all copies of the training images, then the test images
    y: np.ndarray  # of the training copies
    wanted: np.ndarray  # labels of the test images
    group: np.ndarray  # which training image each copy is of
    known: np.ndarray  # [m, f], of the public photographs that were asked for, too
    dataset: str
    classes: int
    note: Callable[[str], str]  # what every result on these features carries, by how they are scaled

    def saved(self, out: Path, x: np.ndarray, y: np.ndarray, group: np.ndarray, how: str) -> Path:
        """Write arrays of features `x`, those of the test images last, to `out`."""
        classes, note = self.classes, self.note(how)
        made = arrays.Arrays(
            x[: len(y)], y, x[len(y) :], self.wanted, classes=classes, group=group, note=note
        )
        print_stderr(f"{out}: {note}")
        arrays.save(out, made)
        shutil.rmtree(parts(out), ignore_errors=True)  # another process that makes the same may have done so
        return out


def parts(out: Path) -> Path:
    """Folder of the batches that are finished, beside the features that they become."""
    return out.with_suffix(".parts")


def extract(
    listed: Path,
    photos: Photos,
    name: str,
    out: Path,
    device: str = "cpu",
    threads: int = 0,
    size: int = BATCH,
) -> Path:
    """Write the features of the images in manifest `listed` by backbone `name` to `out`: see `pooled`.

    They are standardised by those of the plain training images.
    """
    features, kind = pooled(listed, photos, name, out, device, threads, size), backbone.BACKBONES[name]
    x = standardise(features.x, features.x[: len(features.y) : photos.copies], kind.length, kind.reach)
    cut = f" and cut at {kind.reach:g} spreads" if kind.reach < float("inf") else ""
    return features.saved(out, x, features.y, features.group, f", standardised{cut}")


def pooled(
    listed: Path,
    photos: Photos,
    name: str,
    out: Path,
    device: str = "cpu",
    threads: int = 0,
    size: int = BATCH,
    public: np.ndarray | None = None,
    alone: bool = False,
) -> Pooled:
    """Compute the features of the images in manifest `listed` by a backbone; `saved` writes them to `out`.

    Those of `public` photographs, levels 0..255 `[m, h, w, 3]`, are computed as well; with `alone` no private
    one is read but those of the test split. Nothing of one image depends on another.

    Images keep their order, and the copies of one stand side by side; test images are never augmented.
    Finished batches are kept beside `out`, in `.parts`: a kill loses one batch a worker. On a CPU the result
    is the same to the bit, however often it was killed and whatever the number of `threads` (0: one a core).
    Memory holds one batch of pixels a worker, and the features.

    Raises BadInput for images that are missing, unreadable or not those that the manifest saw.
    """
    seen = photographs.load_manifest(listed)
    train, test = choose_photographs(seen, photos, listed)
    train = [] if alone else train
    side, kind = photograph_datasets()[seen.dataset].side, backbone.BACKBONES[name]
    where = gpus.select_device(device)
    dtype = backbone.fast_dtype(where)
    copies = [Copy(image, number) for image in train for number in range(photos.copies)]
    whole = [*copies, *(Copy(image, 0) for image in test)]
    work = [whole[start : start + size] for start in range(0, len(whole), size)]
    # Made at once: what is kept of each batch by itself would leave the freed activations in pieces.
    x = np.empty((len(copies) + len(test), kind.width), dtype=np.float16)

    folder = parts(out)
    how = [photos.model_dump(), name, side, str(where), str(dtype), size]
    open_folder(folder, identity([*train, *test], how))
    load = partial(pixels, Path(seen.folder), side, Streams(photos.seed, seen.dataset))
    with ThreadPoolExecutor(threads or cores(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            state = prepare_weights(name, folder / "backbone.safetensors", train, seen.dataset, pool, load)
            run = backbone.Extractor(kind, backbone.load_network(state, kind.empty), where, dtype)

            def extract_batch(number: int) -> int:
                first, last = number * size, number * size + len(work[number])
                rows = load_part(folder, number, last - first)
                if rows is None:
                    rows = run(load(work[number])).numpy()
                    save(folder, number, rows)
                x[first:last] = rows
                return last

            batches = [] if public is None else plain(public, side, size)
            known = np.concatenate([np.empty((0, kind.width), np.float16), *pool.map(run, batches)])

            with progress(f"{seen.dataset}: features", 0, len(x), unit="image") as report:
                for done in pool.map(extract_batch, range(len(work))):
                    report({"image": done})
        finally:
            pool.shutdown(cancel_futures=True)

    # Plain copies of the same pixels have the same features, whatever the last bits of a network depend on.
    first: dict[str, int] = {}
    for row in range(0, len(copies), photos.copies):
        x[row] = x[first.setdefault(copies[row].image.sha256, row)]
    labels, labels_test = (np.array([image.label for image in images]) for images in (train, test))
    y, group = (np.repeat(part, photos.copies) for part in (labels, np.arange(len(train))))
    note_scaled = partial(note, seen, len(train), len(train) + len(test), photos, name, dtype)
    return Pooled(x, y, labels_test, group, known, seen.dataset, seen.classes, note_scaled)


def plain(public: np.ndarray, side: int, size: int) -> list[torch.Tensor]:
    """Return the pixels of public photographs, in batches of `size`."""
    images = torch.from_numpy(public).permute(0, 3, 1, 2)
    return [squared(batch, side) for batch in images.split(size)]


def identity(images: Sequence[Photograph], how: list[object]) -> str:
    """Return the hash of all that a finished batch depends on."""
    versions = [FEATURES_VERSION, torch.__version__, torchvision.__version__]
    what = [image.model_dump() for image in images]
    return hashlib.sha256(json.dumps([versions, how, what], sort_keys=True).encode()).hexdigest()


def prepare_weights(
    name: str,
    kept: Path,
    train: Sequence[Photograph],
    dataset: str,
    pool: ThreadPoolExecutor,
    load: Callable[[list[Copy]], torch.Tensor],
) -> dict[str, torch.Tensor]:
    """Return the backbone's weights from file `kept`, made first if it is not there.

    A random backbone gets the statistics of plain training images, the same whoever asks.
    """
    if not kept.exists():
        network = backbone.BACKBONES[name].made()
        if name == "random":
            drawn = np.sort(Streams(0, dataset).numpy("calibration").permutation(len(train))[:CALIBRATION])
            print_stderr(f"{dataset}: calibrating a random backbone on {len(drawn)} images")
            # None much smaller than others: statistics count each part alike.
            batches = np.array_split(drawn, max(round(len(drawn) / TOGETHER), 1))
            plain = [[Copy(train[row], 0) for row in batch] for batch in batches]
            statistics = pool.map(lambda part: backbone.statistics(network, load(part)), plain)
            backbone.calibrate(network, list(statistics))
        with writing(kept) as partial_file:
            save_file(network.state_dict(), partial_file)
    return load_file(kept)


def note(
    seen: Manifest, train: int, kept: int, photos: Photos, name: str, dtype: torch.dtype, scaled: str
) -> str:
    """Return the sentence that every result on these features carries."""
    kind = backbone.BACKBONES[name]
    counts, side = seen.counts, photograph_datasets()[seen.dataset].side
    tuned = (
        f" (BatchNorm calibrated on {min(CALIBRATION, train)} training images)" if name == "random" else ""
    )
    dropped = len(seen.images) - kept
    duplicates = f"{dropped} duplicates dropped" if photos.dedup == "drop" else "duplicates kept"
    groups = (
        f"{counts.identical_groups} pixel-identical groups, {counts.identical_images} images, "
        f"{counts.conflicting_groups} groups with conflicting labels"
    )
    return (
        f"{kind.title} features of {side}x{side} pixels, backbone {name}{tuned}, "
        f"computed in {str(dtype).removeprefix('torch.')}{scaled}; {photos.copies} copies "
        f"(seed {photos.seed}) of each of {train:,} training images, copy 0 plain; {duplicates} ({groups}); "
        f"{counts.missing} images missing, {counts.unreadable} unreadable"
    )
