"""The datasets by name, and the files that they become; to add one, write its file and its line here.

Images become arrays at once. Photographs are looked at and listed in a manifest; `fedpriv.data.features`
makes arrays of them, once for each backbone and augmentation.
"""

from collections.abc import Sequence
from pathlib import Path

from fedpriv.data import arrays, own, photographs, source
from fedpriv.data.arrays import Dataset
from fedpriv.data.characters import DIGITS, FASHION_MNIST, FEMNIST, MNIST
from fedpriv.data.fundus_synthetic import FUNDUS_SYNTHETIC
from fedpriv.data.photographs import APTOS, Photographs
from fedpriv.errors import no_such
from fedpriv.registry import Registry
from fedpriv.store.files import writing

OWN = (MNIST, FASHION_MNIST, FEMNIST, DIGITS, APTOS, FUNDUS_SYNTHETIC)
DATASETS: Registry[Dataset | Photographs] = Registry(
    "datasets", (Dataset, Photographs), {dataset.name: dataset for dataset in OWN}
)


def image_datasets() -> dict[str, Dataset]:
    """Return the datasets whose images become arrays at once."""
    return {name: dataset for name, dataset in DATASETS.items() if isinstance(dataset, Dataset)}


def photograph_datasets() -> dict[str, Photographs]:
    """Return the datasets of which features are made."""
    return {name: dataset for name, dataset in DATASETS.items() if isinstance(dataset, Photographs)}


def dataset_named(name: str) -> Dataset | Photographs:
    """Return the dataset of that name, or BadInput with the names there are."""
    if name not in DATASETS:
        raise no_such("dataset", name, sorted(DATASETS))
    return DATASETS[name]


def fetch_dataset(name: str, resources: Path, mirrors: Sequence[str]) -> list[Path]:
    """Bring what a dataset is made from: raw files into resources/<name>/raw, or a manifest of photographs.

    `mirrors` (folders or base URLs, holding <name>/<file>) come before the public sources; files there with
    the right contents are left alone, and photographs stay where they are. Raises BadInput for a mirror
    folder that does not exist and for missing or damaged photographs (the manifest that names them is
    written), and SourceError when no source gives a file with the right hash.
    """
    dataset = dataset_named(name)
    if isinstance(dataset, Dataset):
        return [source.fetch_file(dataset, file, resources / name / "raw", mirrors) for file in dataset.files]
    path = resources / name / "images.json"
    photographs.refuse(photographs.write_manifest(dataset, mirrors, path), path)
    return [path]


def find_photographs(name: str, resources: Path, mirrors: Sequence[str]) -> Path:
    """Find photographs, downloading what is in no mirror, and return the file that says in which folder."""
    path, folder = resources / name / "folder.txt", photograph_folder(name, resources, mirrors)
    with writing(path) as partial:
        partial.write_text(f"{folder}\n", encoding="utf-8")
    return path


def photograph_folder(name: str, resources: Path, mirrors: Sequence[str]) -> Path:
    """Return the folder of photographs on this machine, after downloading or drawing them if need be."""
    return photograph_datasets()[name].find(mirrors, resources / name).resolve()


def list_photographs(name: str, resources: Path, threads: int, mirrors: Sequence[str] = ()) -> Path:
    """Return the manifest of the photographs of `find_photographs`, written after a look at every one.

    Where the folder is not on this machine, they are looked for once more.
    """
    written, path = resources / name / "folder.txt", resources / name / "images.json"
    folder = Path(written.read_text(encoding="utf-8").removesuffix("\n"))
    folder = folder if folder.is_dir() else photograph_folder(name, resources, mirrors)
    photographs.write_manifest_of(photograph_datasets()[name], folder, path, threads)
    return path


def describe_files(name: str, fetched: Sequence[str]) -> str:
    """Describe the files that `fetch_dataset` has brought, in words."""
    if name in photograph_datasets():
        listed = photographs.load_manifest(Path(fetched[0]))
        return f"{listed.folder}: {listed.counts} (all listed in {fetched[0]})"
    return ", ".join(fetched) or "bundled, nothing to download"


def decode(name: str, resources: Path) -> Path:
    """Write resources/<name>.npz from the raw files; a missing or damaged one is BadInput naming it."""
    return arrays.save(resources / f"{name}.npz", image_datasets()[name].decode(resources / name / "raw"))


def prepare_arrays(dataset: own.Named, resources: Path, mirrors: Sequence[str]) -> Path:
    """Return the path of the arrays of a dataset, which are made if they are not there yet.

    That is resources/<name>.npz of images and of data of one's own, and the manifest of photographs, which
    are looked for once more where its folder is not on this machine.
    """
    if not isinstance(dataset, str):
        return own.write_own_arrays(dataset, resources)
    known, path = dataset_named(dataset), arrays_path(dataset, resources)
    if isinstance(known, Dataset):
        if not path.exists():
            fetch_dataset(dataset, resources, mirrors)
            decode(dataset, resources)
    elif not path.exists():
        photographs.write_manifest(known, mirrors, path)
    elif not Path(photographs.load_manifest(path).folder).is_dir():
        photograph_folder(dataset, resources, mirrors)
    return path


def arrays_path(name: str, resources: Path) -> Path:
    """Return where `prepare_arrays` puts what it makes of the dataset of that name."""
    return resources / (f"{name}.npz" if isinstance(dataset_named(name), Dataset) else f"{name}/images.json")
