"""Data of one's own, as a run names them: arrays in an npz file, or a dataset of torchvision."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from fedpriv.data import arrays
from fedpriv.data.arrays import NOBODY, Arrays
from fedpriv.errors import BadInput
from fedpriv.files import npz
from fedpriv.frozen import Frozen, choice_error

SPLITS = ("x_train", "y_train", "x_test", "y_test")
ALLOWED = f"an npz file with {', '.join(SPLITS)} and perhaps owner"


class Npz(Frozen):
    """Arrays in a file of one's own. A run is named by the digest of the file, never by its path.

    Where `sha256` is left out it is read off the file, so that a run always says on which content it was
    trained: another content is another run, and a moved file is the same.
    """

    npz: str = Field(min_length=1)  # a path, from the folder where the program is started
    sha256: str = Field(default="", pattern="^([0-9a-f]{64})?$")  # of the file; empty: whatever it is now

    @model_validator(mode="before")
    @classmethod
    def _read_digest(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("npz"), str) and given.get("sha256", "") == "":
            try:
                return given | {"sha256": digest(Path(given["npz"]))}
            except (OSError, ValueError):  # a path may hold what no path can
                raise choice_error("npz", [given["npz"]], f"the path of {ALLOWED}") from None
        return given

    @property
    def name(self) -> str:
        """Return what files made of this content are called."""
        return f"npz-{self.sha256[:16]}"

    @property
    def label(self) -> str:
        """Return what tables call it."""
        return f"{Path(self.npz).name} (sha256 {self.sha256[:16]})"

    def arrays(self, resources: Path) -> Arrays:
        """Return what is in the file; one that is missing, changed or of another layout is BadInput."""
        path = Path(self.npz)
        found = npz.everything(path, ALLOWED, ours=False)
        if (now := digest(path)) != self.sha256:
            raise BadInput(f"{path}: found sha256 {now}, allowed: {self.sha256}, that of the run")
        missing = [name for name in SPLITS if name not in found]
        if missing or set(found) - {*SPLITS, "owner"}:
            raise BadInput(f"{path}: found {', '.join(found) or 'nothing'}, allowed: {ALLOWED}")
        return own_arrays(str(path), found)


class Torchvision(Frozen):
    """A dataset that torchvision fetches and checks itself, of images of one size with one label each."""

    # the name of its class
    torchvision: Literal["CIFAR10", "CIFAR100", "FashionMNIST", "KMNIST", "MNIST", "STL10", "SVHN", "USPS"]

    @property
    def name(self) -> str:
        """Return what files made of it are called."""
        return f"torchvision-{self.torchvision}"

    @property
    def label(self) -> str:
        """Return what tables call it."""
        return self.torchvision

    def arrays(self, resources: Path) -> Arrays:
        """Return its images; what torchvision fetches is kept in `resources`/torchvision."""
        from fedpriv.data.from_torchvision import splits

        found = splits(self.torchvision, resources / "torchvision")
        return own_arrays(self.label, found, "As torchvision brings it.")


OWN: dict[str, Callable[[Any], Npz | Torchvision]] = {
    "npz": Npz.model_validate,
    "torchvision": Torchvision.model_validate,
}


def _chosen(value: Any) -> Any:
    """Read `{npz: PATH}` and `{torchvision: NAME}` as the class of that key."""
    if isinstance(value, str | Npz | Torchvision):
        return value
    kinds = [key for key in OWN if isinstance(value, dict) and key in value]
    if len(kinds) != 1:
        allowed = "the name of a dataset, {npz: PATH} or {torchvision: NAME}"
        raise choice_error("dataset", [value], allowed)
    return OWN[kinds[0]](value)


Named = Annotated[
    str | Npz | Torchvision, BeforeValidator(_chosen, json_schema_input_type=str | Npz | Torchvision)
]


def digest(path: Path) -> str:
    """Return the sha256 of a plain file; OSError where there is none."""
    if not path.is_file():  # a pipe has no beginning, a device no end
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def prepare(own: Npz | Torchvision, resources: Path) -> Path:
    """Return `resources`/<name>.npz, made of the data if it is not there yet."""
    path = resources / f"{own.name}.npz"
    return path if path.exists() else arrays.save(path, own.arrays(resources))


def own_arrays(where: str, found: dict[str, np.ndarray], note: str = "") -> Arrays:
    """Return arrays as they are trained on; what cannot be is BadInput that names the array of `where`.

    Inputs are uint8 or float32, `[n, h, w]`, `[n, c, h, w]` or flat `[n, f]`; labels are whole numbers from
    0, and the largest says how many classes there are. Owners may be numbers or words.
    """
    for name in ("y_train", "y_test"):
        if found[name].dtype.kind not in "iu" or found[name].ndim != 1:
            what = f"{found[name].dtype} {list(found[name].shape)}"
            raise BadInput(f"{where}: {name}: found {what}, allowed: whole numbers [n], from 0")
    labels = [found[name].astype(np.int64) for name in ("y_train", "y_test")]
    owner = NOBODY
    if "owner" in found:
        if found["owner"].dtype.kind not in "iuUS" or found["owner"].ndim != 1:
            raise BadInput(f"{where}: owner: found {found['owner'].dtype}, allowed: numbers or words [n]")
        owner = np.unique(found["owner"], return_inverse=True)[1].astype(np.int64)
    classes = max((int(one.max()) + 1 for one in labels if len(one)), default=1)
    x_train, x_test = (in_layout(found[name]) for name in ("x_train", "x_test"))
    made = Arrays(x_train, labels[0], x_test, labels[1], classes, None, note, owner)
    if wrong := arrays.problem(made):
        raise BadInput(f"{where}: found {wrong}")
    return made


def in_layout(x: np.ndarray) -> np.ndarray:
    """Return inputs as `Arrays` has them: grey bytes without an axis of channels, grey floats with one."""
    if x.dtype == np.uint8 and x.ndim == 4 and x.shape[1] == 1:
        return x[:, 0]
    return x[:, None] if x.dtype == np.float32 and x.ndim == 3 else x
