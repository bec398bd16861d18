"""MNIST and Fashion-MNIST: four gzipped idx files each, with the official split."""

from pathlib import Path

import numpy as np

from fedpriv.data.arrays import Arrays
from fedpriv.data.dataset import Dataset, RawFile
from fedpriv.data.source import decompressed
from fedpriv.errors import BadInput

NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def idx(path: Path) -> np.ndarray:
    """Return the uint8 array of a (gzipped) idx file: 0, 0, type, rank, big-endian sizes, then the values.

    A missing, cut or foreign file is BadInput naming it.
    """
    try:
        data = decompressed(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: found no such file, allowed: a file that was fetched") from None
    except ValueError as error:
        raise BadInput(
            f"{path}: found {error}, allowed: a whole idx file; delete it and fetch again"
        ) from error
    rank = data[3] if len(data) > 3 else 0
    start = 4 + 4 * rank
    if data[:3] != b"\0\0\x08" or rank == 0 or len(data) < start:
        raise BadInput(
            f"{path}: found header {data[:4].hex(' ')}, allowed: 00 00 08 and a rank (idx of uint8)"
        )
    shape = tuple(int(size) for size in np.frombuffer(data, ">u4", rank, offset=4))
    expected = int(np.prod(shape, dtype=object))
    if len(data) - start != expected:
        raise BadInput(
            f"{path}: found {len(data) - start} values, allowed: {expected}, as its header {shape} says"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def decode(raw: Path) -> Arrays:
    """Read the four idx files in folder `raw`; a damaged one is BadInput naming it."""
    x_train, y_train, x_test, y_test = (idx(raw / f"{name}.gz") for name in NAMES)
    return Arrays(x_train, y_train.astype(np.int64), x_test, y_test.astype(np.int64), classes=10)


def _files(folder: str, theirs: str, *sha256: str) -> tuple[RawFile, ...]:
    """Return the four files; mirrors may also keep them unpacked, as torchvision does, or as Kaggle does."""
    found = []
    for name, digest in zip(NAMES, sha256, strict=True):
        kaggle = name.replace("-idx", ".idx")
        ours = [f"{folder}/{other}" for other in (name, kaggle, f"{name}/{kaggle}", f"{name}/{name}")]
        also = [*ours, f"{theirs}/raw/{name}", f"{theirs}/raw/{name}.gz"]
        found.append(RawFile(f"{name}.gz", digest, also=tuple(also)))
    return tuple(found)


MNIST = Dataset(
    name="mnist",
    files=_files(
        "mnist",
        "MNIST",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    public=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    decode=decode,
    licence="CC BY-SA 3.0 (as its distributors state)",
    citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition, 1998",
)

FASHION_MNIST = Dataset(
    name="fashion_mnist",
    files=_files(
        "fashion_mnist",
        "FashionMNIST",
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    public=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    decode=decode,
    licence="MIT",
    citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, a novel image dataset, arXiv:1708.07747, 2017",
)
