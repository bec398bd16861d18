"""Data of one's own, as a run names them: arrays in an npz file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from fedpriv.data import arrays
from fedpriv.data.arrays import IGNORED, NOBODY, Arrays
from fedpriv.errors import BadInput, plain
from fedpriv.frozen import Frozen, choice_error
from fedpriv.progress import print_stderr
from fedpriv.store import npz

SPLITS = ("x_train", "y_train", "x_test", "y_test")
LABELS = ("y_train", "y_test")
MORE = ("owner", "owner_test", "classes", "x_public", "y_public")
MOST_CLASSES = 10**6
NAMED = 10  # labels, in a line
ALLOWED = f"an npz file with {', '.join(SPLITS)} and perhaps {', '.join(MORE)}"


class Npz(Frozen):
    """Arrays in a file of one's own. A run is named by the digest of the file, never by its path.

    Where `sha256` is left out it is read off the file, so that a run always says on which content it was
    trained: another content is another run, and a moved file is the same.
    """

    npz: str = Field(min_length=1)
    """A path, from the folder where the program is started."""
    sha256: str = Field(default="", pattern="^([0-9a-f]{64})?$")
    """Of the file; empty: whatever it is now."""

    @model_validator(mode="before")
    @classmethod
    def _read_digest(cls, config: Any) -> Any:
        if isinstance(config, dict) and isinstance(config.get("npz"), str) and config.get("sha256", "") == "":
            try:
                return config | {"sha256": digest(Path(config["npz"]))}
            except (OSError, ValueError):  # a path may hold what no path can
                raise choice_error("npz", [config["npz"]], f"the path of {ALLOWED}") from None
        return config

    @property
    def name(self) -> str:
        """Name of the files made of this content."""
        return f"npz-{self.sha256[:16]}"

    @property
    def label(self) -> str:
        """Name in tables."""
        return f"{Path(self.npz).name} (sha256 {self.sha256[:16]})"

    def arrays(self) -> Arrays:
        """Return the arrays of the file; one that is missing, changed or of another layout is BadInput."""
        path, contents = Path(self.npz), self.read()
        missing = [name for name in SPLITS if name not in contents]
        if missing or set(contents) - {*SPLITS, *MORE}:
            raise BadInput(f"{path}: found {', '.join(contents) or 'nothing'}, allowed: {ALLOWED}")
        return own_arrays(str(path), contents)

    def read(self, *only: str) -> dict[str, np.ndarray]:
        """Return the arrays of the file, or `only` these; one that is missing or changed is BadInput."""
        path = Path(self.npz)
        contents = npz.load_all(path, ALLOWED, ours=False, only=only)
        if (now := digest(path)) != self.sha256:
            raise BadInput(f"{path}: found sha256 {now}, allowed: {self.sha256}, that of the run")
        return contents


def _chosen(value: Any) -> Any:
    """Read `{npz: PATH}` as data of one's own."""
    if isinstance(value, str | Npz):
        return value
    if not (isinstance(value, dict) and "npz" in value):
        raise choice_error("dataset", [value], "the name of a dataset, or {npz: PATH}")
    return Npz.model_validate(value)


Named = Annotated[str | Npz, BeforeValidator(_chosen, json_schema_input_type=str | Npz)]


def digest(path: Path) -> str:
    """Return the sha256 of a plain file; OSError where there is none."""
    if not path.is_file():  # a pipe has no beginning, a device no end
        raise FileNotFoundError(path)
    now = path.stat()
    return _digest(path.resolve(), now.st_size, now.st_mtime_ns, now.st_ino)


@cache
def _digest(path: Path, *_: int) -> str:
    """Return the digest of a file as it is now: a plan of many runs reads it once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def owners(path: Path) -> np.ndarray:
    """Return the owner of each training example of a file, int64 `[n]` from 0; BadInput where it has none."""
    contents = npz.load_all(path, ALLOWED, ours=False, only=("owner",))
    if "owner" not in contents:
        raise BadInput(f"{path}: found no owner, allowed: that of each training example")
    return number_owners(str(path), "owner", contents)


def number_owners(where: str, name: str, contents: Mapping[str, np.ndarray]) -> np.ndarray:
    """Owners, numbers or words, as numbers from 0; none of a file without; BadInput for what is neither."""
    if name not in contents:
        return NOBODY
    owner = contents[name]
    if owner.dtype.kind not in "iuUS" or owner.ndim != 1:
        raise BadInput(f"{where}: {name}: found {owner.dtype}, allowed: whole numbers or words [n], no gaps")
    return np.unique(owner, return_inverse=True)[1].astype(np.int64)


def write_own_arrays(own: Npz, resources: Path) -> Path:
    """Return `resources`/<name>.npz, made of the data if it is not there yet."""
    path = resources / f"{own.name}.npz"
    return path if path.exists() else arrays.save(path, own.arrays())


def own_arrays(where: str, contents: dict[str, np.ndarray]) -> Arrays:
    """Return arrays as they are trained on; what cannot be is BadInput that names the array of `where`.

    Inputs are uint8 or float32, `[n, h, w]`, `[n, c, h, w]` or flat `[n, f]`, or int32 or int64, `[n, t]` or
    `[n, t, f]`, which stay as they are. Labels are whole numbers from 0 without gaps, unless `classes` says
    how many there are; of examples with many, `[n, ...]`, -1 counts for nothing. Floats are numbers to
    predict. Owners may be numbers or words.
    """
    if label_kinds(where, contents) == {"f"}:
        dtype, classes = np.dtype(np.float32), math.prod(contents["y_train"].shape[1:])
    else:
        dtype, classes = np.dtype(np.int64), count_classes(where, contents)
    labels = [contents[name].astype(dtype) for name in LABELS]
    whose = [number_owners(where, name, contents) for name in ("owner", "owner_test")]
    x_train, x_test = (channels_first(contents[name]) for name in ("x_train", "x_test"))
    made = Arrays(x_train, labels[0], x_test, labels[1], classes, None, "", *whose)
    if wrong := arrays.problem(made):
        double = x_train.dtype.kind == "f" and x_train.dtype != np.float32
        raise BadInput(f"{where}: found {wrong}" + '; .astype("float32") makes them so' * double)
    for doubt in arrays.doubts(made):
        print_stderr(f"{where}: {doubt}")
    return made


def label_kinds(where: str, contents: Mapping[str, np.ndarray]) -> set[str]:
    """Return the kinds of the labels of both splits, as dtypes name them; BadInput for what are no labels."""
    kinds = {contents[name].dtype.kind for name in LABELS}
    for name in LABELS:
        y = contents[name]
        mixed = y.dtype.kind == "f" and kinds != {"f"}
        if y.dtype.kind not in "iuf" or mixed or not 1 <= y.ndim <= 3:
            what = f"{y.dtype} {list(y.shape)}"
            raise BadInput(
                f"{where}: {name}: found {what}, allowed: whole numbers [n], from 0, or [n, t], of which "
                f"{IGNORED} counts for nothing; or floats [n] or [n, k], in both splits, to be predicted; "
                "np.unique(..., return_inverse=True)[1] of both splits together makes numbers of anything"
            )
    return kinds


def count_classes(where: str, contents: dict[str, np.ndarray]) -> int:
    """Return the number of classes; BadInput names a label of which nothing can be learnt.

    Where `classes` does not say it they are counted, and no label may be left out.
    """
    trained, tested = (counted_labels(f"{where}: {name}", contents[name]) for name in LABELS)
    there = trained | tested
    if not trained or not tested:  # an empty split, which is refused with all else
        return max(there, default=0) + 1
    classes = declared_classes(where, contents["classes"]) if "classes" in contents else len(there)
    if min(there) < 0 or max(there) >= classes:
        raise BadInput(
            f"{where}: found labels {min(there)} to {max(there)}, allowed: 0 to {classes - 1}, every one; "
            "number those of both splits by one np.unique(..., return_inverse=True), or add classes, how "
            "many there are"
        )
    if unseen := sorted(tested - trained):
        only = len(unseen) == len(tested)
        named = ", ".join([*map(str, unseen[:NAMED]), *(["..."] if len(unseen) > NAMED else [])])
        what = f"{where}: y_test: found {'only ' if only else ''}labels that y_train lacks ({named})"
        if only:
            raise BadInput(f"{what}, allowed: some that are trained on")
        print_stderr(what)
    return classes


def counted_labels(where: str, y: np.ndarray) -> set[int]:
    """Return the labels of a split that count; BadInput where it has labels and none of them does."""
    # Numbers of Python: 64 bits without a sign would wrap around.
    labels = set(map(int, np.unique(y))) - ({IGNORED} if y.ndim > 1 else set())
    if y.size and not labels:
        raise BadInput(f"{where}: found nothing but {IGNORED}, allowed: some labels that count")
    return labels


def declared_classes(where: str, classes: np.ndarray) -> int:
    """Return the number of classes that a file declares."""
    if classes.dtype.kind not in "iu" or classes.size != 1 or not 1 <= classes.item() <= MOST_CLASSES:
        what = classes.item() if classes.size == 1 else f"{classes.dtype} {list(classes.shape)}"
        raise BadInput(
            f"{where}: classes: found {plain(what)}, allowed: a whole number, 1 to {MOST_CLASSES:,}"
        )
    return int(classes.item())


def channels_first(x: np.ndarray) -> np.ndarray:
    """Return inputs as `Arrays` has them: grey bytes without an axis of channels, grey floats with one."""
    if x.dtype == np.uint8 and x.ndim == 4 and x.shape[1] == 1:
        return x[:, 0]
    return x[:, None] if x.dtype == np.float32 and x.ndim == 3 else x
