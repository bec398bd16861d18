"""A dataset: files with known contents and where to find them, and what they become, arrays in one npz file.

Arrays hold images, features or sequences, and their labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from fedpriv.errors import BadInput
from fedpriv.store import npz

NOBODY = np.empty(0, dtype=np.int64)
OF = "of"  # the key under which a file of arrays says which it is: the name that it is made under
IGNORED = -1  # a label that counts for nothing, where examples have many
# Dtype of inputs -> how many axes they may have. Bytes are parts of 255, and may be grey without saying so.
DIMENSIONS = {
    np.dtype(np.uint8): (2, 3, 4),
    np.dtype(np.float16): (2, 4),
    np.dtype(np.float32): (2, 4),
    np.dtype(np.int32): (2, 3),
    np.dtype(np.int64): (2, 3),
}
LABELS = (np.dtype(np.int64), np.dtype(np.float32))


class _Fields(NamedTuple):
    # uint8 [n, h, w], [n, c, h, w] or [n, f], or as float16 or float32 but for [n, h, w]; int32 or int64 of
    # sequences [n, t] or [n, t, f]
    x_train: np.ndarray
    # int64 [n], in 0..classes-1, or [n, ...], many an example, of which -1 are ignored; or float32 [n, ...]
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: int  # of float32: how many numbers an example has
    group: np.ndarray  # int64 [n]: 0, 1, ...: which original image a training example is a copy of
    note: str  # one sentence about how the data were made
    owner: np.ndarray  # int64 [n], from 0: which writer a training example is of; empty where nobody knows
    owner_test: np.ndarray  # the same of a test example, numbered by itself


class Arrays(_Fields):
    """Inputs and labels, split into train and test; without `group` every training example is its own."""

    __slots__ = ()

    def __new__(
        cls,
        x_train: np.ndarray,
        y_train: np.ndarray,
        x_test: np.ndarray,
        y_test: np.ndarray,
        classes: int,
        group: np.ndarray | None = None,
        note: str = "",
        owner: np.ndarray = NOBODY,
        owner_test: np.ndarray = NOBODY,
    ):
        group = np.arange(len(y_train)) if group is None else group
        splits = x_train, y_train, x_test, y_test
        return super().__new__(cls, *splits, classes, group, note, owner, owner_test)

    @property
    def counted(self) -> np.ndarray:
        """Return the classes that the test split has, one for every label that counts; of numbers, none."""
        flat = self.y_test.ravel()
        return flat[flat != IGNORED] if flat.dtype == np.int64 else NOBODY

    @property
    def content(self) -> np.ndarray:
        """Return of each training example the first with equal inputs, int64 `[n]`, whatever their labels."""
        first: dict[bytes, int] = {}
        digests = enumerate(_digests(self.x_train))
        return np.array([first.setdefault(digest, number) for number, digest in digests])

    @property
    def copies(self) -> int:
        """Number of training examples side by side for each original image."""
        return len(self.group) // (int(self.group[-1]) + 1)


def problem(arrays: Arrays) -> str:
    """Name a fault of `arrays` in a few words; empty: there is none."""
    return (
        _problem_of_inputs(arrays.x_train, arrays.x_train, "train")
        or _problem_of_inputs(arrays.x_test, arrays.x_train, "test")
        or _problem_of_labels(arrays, "train")
        or _problem_of_labels(arrays, "test")
        or _problem_of_groups(arrays.group, arrays.y_train)
        or _problem_of_owners(arrays)
    )


def _problem_of_inputs(x: np.ndarray, trained: np.ndarray, split: str) -> str:
    """Name a fault of the inputs of a split, which are like those that are `trained` on."""
    layout = f"x_{split} of {x.dtype} {list(x.shape)}"
    if x.dtype not in DIMENSIONS or x.ndim not in DIMENSIONS[x.dtype] or 0 in x.shape[1:]:
        return (
            f"{layout}, neither uint8 nor float32 of images [n, c, h, w] or features [n, f], nor int32 "
            "nor int64 of sequences [n, t]"
        )
    if channels_last(x):
        return f"{layout}, allowed: images [n, c, h, w]; these look channels-last: transpose to (0, 3, 1, 2)"
    if x.shape[1:] != trained.shape[1:] or x.dtype != trained.dtype:
        return f"{layout} beside x_train of {trained.dtype} {list(trained.shape)}"
    return _problem_of_numbers(x, f"x_{split}")


def _problem_of_labels(arrays: Arrays, split: str) -> str:
    """Name a fault of the labels of a split: one for each of its inputs, as those that are trained on."""
    x, y = getattr(arrays, f"x_{split}"), getattr(arrays, f"y_{split}")
    if y.dtype not in LABELS or y.shape[:1] != (len(x),) or 0 in y.shape[1:]:
        return f"y_{split} of {y.dtype} {list(y.shape)}, not int64 [{len(x)}]"
    if len(y) == 0:
        return f"an empty {split} split"
    if y.shape[1:] != arrays.y_train.shape[1:] or y.dtype != arrays.y_train.dtype:
        return f"y_{split} of {y.dtype} {list(y.shape)} beside y_train of {list(arrays.y_train.shape)}"
    if y.dtype != np.int64:
        return _problem_of_numbers(y, f"y_{split}")
    lowest = IGNORED if y.ndim > 1 else 0
    within = lowest <= y.min() <= y.max() < arrays.classes
    return "" if within else f"labels {y.min()}..{y.max()} in y_{split}, not {lowest}..{arrays.classes - 1}"


def _problem_of_numbers(array: np.ndarray, name: str) -> str:
    finite = array.dtype.kind != "f" or np.isfinite(array).all()
    return "" if finite else f"numbers in {name} that are not finite"


def channels_last(x: np.ndarray) -> bool:
    """Say if images `[n, ...]` look as [h, w, c]: few in the last axis alone."""
    return x.ndim == 4 and x.shape[3] <= 4 < x.shape[1] and x.shape[3] < x.shape[2]


def _problem_of_groups(group: np.ndarray, labels: np.ndarray) -> str:
    if group.dtype != np.int64 or group.shape != (len(labels),):
        return f"group of {group.dtype} {list(group.shape)}, not int64 {[len(labels)]}"
    images = max(int(group[-1]) + 1, 1)
    copies = len(group) // images
    if len(group) != images * copies or (group != np.repeat(np.arange(images), copies)).any():
        return "groups that are not 0, 1, ... with equally many copies side by side"
    if (labels != labels[::copies][group]).any():
        return "copies of one image with different labels"
    return ""


def _problem_of_owners(arrays: Arrays) -> str:
    owner, copies = arrays.owner, arrays.copies
    for name, owners, count in (
        ("owner", owner, len(arrays.y_train)),
        ("owner_test", arrays.owner_test, len(arrays.y_test)),
    ):
        if owners.dtype != np.int64 or owners.shape not in ((count,), (0,)):
            return f"{name} of {owners.dtype} {list(owners.shape)}, not int64 {[count]}, or [0]"
        if len(owners) and owners.min() < 0:
            return f"{name} {owners.min()}, not 0, 1, ..."
    if len(owner) and (owner != owner[::copies][arrays.group]).any():
        return "copies of one image with different owners"
    return ""


# Networks begin with inputs of about this size: float images of more are not divided yet.
LARGE = 10.0
# How far apart the spreads of two splits may be, and of splits with fewer rows than these; of more rows than
# the last every so many are looked at.
APART, FEW, FAR_APART, MANY = 2.0, 20, 5.0, 1000
# Floats that are as few whole numbers are labels more often than counts.
MOST_LABELS = 20


def doubts(arrays: Arrays) -> Iterator[str]:
    """Yield what is no fault of arrays that have none, and yet a mistake nearly always, with a remedy.

    Whoever does not see it finds a run at chance, or one that is too good.
    """
    if arrays.x_train.dtype.kind == "f":
        yield from _large_inputs(arrays.x_train)
    if arrays.x_train.dtype.kind == "f" or arrays.x_train.dtype == np.uint8:
        yield from _other_scale(arrays.x_train, arrays.x_test)
    seen = {*_digests(arrays.x_train)}
    if again := sum(row in seen for row in _digests(arrays.x_test)):
        yield f"x_test: found {again} of {len(arrays.x_test)} rows that are rows of x_train, too"
    yield from _labels_of_another_task(arrays.y_train)


def _digests(x: np.ndarray) -> Iterator[bytes]:
    return (blake2b(row.tobytes()).digest() for row in x)


def _large_inputs(x: np.ndarray) -> Iterator[str]:
    """Yield that these are pictures, or features, in bytes that nobody divides."""
    low, high = float(x.min()), float(x.max())
    bytes_fit = low >= 0 and LARGE < high <= 255 and not (x % 1).any()
    if bytes_fit or (x.ndim == 4 and max(-low, high) > LARGE):
        remedy = 'as .astype("uint8") they are divided by 255' if bytes_fit else "divide them"
        yield f"x_train: found {x.dtype} from {low:g} to {high:g}; networks expect about 0 to 1: {remedy}"


def _other_scale(trained: np.ndarray, tested: np.ndarray) -> Iterator[str]:
    """Yield that the splits were not scaled alike."""
    spreads = [float(x[:: max(1, len(x) // MANY)].std(dtype=np.float64)) for x in (trained, tested)]
    most = APART if min(len(trained), len(tested)) >= FEW else FAR_APART
    if min(spreads) * most < max(spreads):
        spread = " and ".join(f"{x:.3g}" for x in spreads)
        yield f"x_train, x_test: found spreads of {spread}; scale both alike, by the training split"


def _labels_of_another_task(y: np.ndarray) -> Iterator[str]:
    """Yield that labels are written so that they are numbers, or many labels an example."""
    zeros_and_ones = y.ndim == 2 and y.shape[1] > 1 and ((y == 0) | (y == 1)).all()
    if zeros_and_ones and (y.sum(axis=1) == 1).all():
        what = "numbers to be predicted" if y.dtype.kind == "f" else f"{y.shape[1]} labels an example"
        yield f"y_train: found one-hot labels, read as {what}; np.argmax(y, axis=1) makes classes of them"
    elif y.dtype.kind == "f" and y.size and not (y % 1).any() and len(np.unique(y)) <= MOST_LABELS:
        yield (
            "y_train: found floats that are whole numbers, read as numbers to be predicted; "
            ".astype(int) makes classes of them"
        )


def save(path: Path, arrays: Arrays) -> Path:
    """Write the arrays to an npz file, atomically; arrays that break the schema are a ValueError."""
    if wrong := problem(arrays):
        raise ValueError(f"{path}: {wrong}")
    return npz.save_npz(path, arrays._asdict() | {OF: np.array(path.stem)})


def load(path: Path) -> Arrays:
    """Read what `save` wrote; anything else, among it arrays of another name, is BadInput naming the file."""
    older = {"owner_test": NOBODY}  # what files of older versions lack
    names = (*Arrays._fields, OF)
    contents: dict[str, Any] = dict(zip(names, npz.load_npz(path, names, older), strict=True))
    if (of := str(contents.pop(OF))) != path.stem:
        raise BadInput(f"{path}: found the arrays of {of}, allowed: of {path.stem}; delete it and rerun")
    return Arrays(**contents | {"classes": int(contents["classes"]), "note": str(contents["note"])})


def hold_out(arrays: Arrays, count: int, rng: np.random.Generator) -> Arrays:
    """Move `count` random training images into the test split; the official test split is left out.

    An image leaves with all its copies, and only the first of them, the plain one, is tested on. Both parts
    keep the order of the training data.
    """
    copies, n = arrays.copies, len(arrays.y_train)
    images = n // copies
    if not 0 < count < images:
        what = f"{images} training {'examples' if copies == 1 else 'images'}"
        raise BadInput(f"validation: found {count}, allowed: 1 to {images - 1} of the {what}")
    kept = np.ones(images, dtype=bool)
    kept[rng.choice(images, count, replace=False)] = False
    first, kept = np.arange(n) % copies == 0, kept[arrays.group]
    x, y = arrays.x_train, arrays.y_train
    group = np.repeat(np.arange(images - count), copies)
    tested = first & ~kept
    owners = (arrays.owner[kept], arrays.owner[tested]) if len(arrays.owner) else (NOBODY, NOBODY)
    return Arrays(x[kept], y[kept], x[tested], y[tested], arrays.classes, group, arrays.note, *owners)


class RawFile(NamedTuple):
    """A file to download, known by its hash; one whose hash nobody publishes is recorded when it arrives."""

    name: str
    sha256: str | None  # of the decompressed bytes, so that any gzip of them serves
    problem: Callable[[Path], str] = lambda path: ""  # what a glance at a file shows to be wrong, or nothing
    also: tuple[str, ...] = ()  # paths below a mirror's folder where others keep the same contents


@dataclass(frozen=True)
class Dataset:
    """A dataset by name; one without files needs no network."""

    name: str
    files: tuple[RawFile, ...]
    public: tuple[str, ...]  # base URLs, each followed by the name of a file
    decode: Callable[[Path], Arrays]  # the folder of the raw files -> arrays
    licence: str
    citation: str
    contents: str = "images"  # what its examples are, as a list of datasets says it
    writers: int = 0  # so many own the training examples; 0: nobody knows who owns what
    gives: ClassVar[Literal["images", "features"]] = "images"

    @property
    def network(self) -> bool:
        """Say whether the public source needs one."""
        return bool(self.files)
