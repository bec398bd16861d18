"""The datasets by name, and the way from a name to arrays; to add one, write its file and its line here."""

from collections.abc import Sequence
from pathlib import Path

from fedpriv.data import arrays, source
from fedpriv.data.dataset import Dataset
from fedpriv.data.digits import DIGITS
from fedpriv.data.mnist import FASHION_MNIST, MNIST
from fedpriv.errors import BadInput

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in (MNIST, FASHION_MNIST, DIGITS)}


def named(name: str) -> Dataset:
    """Return the dataset of that name, or BadInput with the names there are."""
    if name not in DATASETS:
        raise BadInput(f"dataset: found {name}, allowed: {', '.join(sorted(DATASETS))}")
    return DATASETS[name]


def fetch(name: str, resources: Path, mirrors: Sequence[str]) -> list[Path]:
    """Bring the raw files into resources/<name>/raw; files there with the right contents are left alone.

    `mirrors` (folders or base URLs, holding <name>/<file>) come before the public sources. Raises BadInput
    for a mirror folder that does not exist, and SourceError when no source gives a file with the right hash.
    """
    wanted = named(name)
    return [source.fetch(wanted, file, resources / name / "raw", mirrors) for file in wanted.files]


def decode(name: str, resources: Path) -> Path:
    """Write resources/<name>.npz from the raw files; a missing or damaged one is BadInput naming it."""
    return arrays.save(resources / f"{name}.npz", named(name).decode(resources / name / "raw"))


def prepare(name: str, resources: Path, mirrors: Sequence[str]) -> Path:
    """Return resources/<name>.npz, fetching and decoding what is not there yet."""
    path = resources / f"{named(name).name}.npz"
    if not path.exists():
        fetch(name, resources, mirrors)
        decode(name, resources)
    return path
