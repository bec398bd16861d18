"""Datasets of handwritten characters: MNIST, Fashion-MNIST, the digits of scikit-learn, FEMNIST."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from fedpriv.data.arrays import Arrays, Dataset, RawFile
from fedpriv.data.source import decompress
from fedpriv.errors import BadInput
from fedpriv.streams import Streams

TRAIN_SHARE = 0.8


def enlarge(images: np.ndarray, side: int = 28) -> np.ndarray:
    """Return images [n, 8, 8] with ink 0..16 as uint8 [n, side, side], ink 0..255, interpolated linearly."""
    from scipy.ndimage import zoom

    large = np.asarray(zoom(images, (1, side / 8, side / 8), order=1, mode="nearest", grid_mode=True))
    # 8 of 16 is exactly 127.5 of 255: the small push rounds it up whatever the platform's last bit.
    return np.floor(large * (255 / 16) + 0.5 + 1e-6).astype(np.uint8)


def decode_digits(raw: Path) -> Arrays:
    """Return the digits, a fixed 80 % of each class for training; `raw` is not read."""
    from sklearn.datasets import load_digits

    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    x, y = enlarge(pixels.reshape(-1, 8, 8)), labels.astype(np.int64)
    rng = Streams(0, "digits").numpy("split")
    train = np.zeros(len(y), dtype=bool)
    for label in range(10):
        members = rng.permutation(np.flatnonzero(y == label))
        train[members[: round(TRAIN_SHARE * len(members))]] = True
    return Arrays(x[train], y[train], x[~train], y[~train], classes=10)


DIGITS = Dataset(
    name="digits",
    files=(),
    public=(),
    decode=decode_digits,
    licence="CC BY 4.0 (UCI Machine Learning Repository)",
    citation="Alpaydin, Kaynak: Optical Recognition of Handwritten Digits, UCI, 1998; in scikit-learn",
)


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
        data = decompress(path)
        if data[:3] != b"\0\0\x08" or not (rank := data[3]):
            raise ValueError(f"the header {data[:4].hex(' ')}")
        shape = np.frombuffer(data, ">u4", rank, offset=4).astype(np.int64)
        return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)
    except (OSError, ValueError, IndexError) as error:
        raise BadInput(
            f"{path}: found {error}, allowed: a whole idx file of uint8; delete it and fetch again"
        ) from error


def decode_mnist(raw: Path) -> Arrays:
    """Read the four idx files in folder `raw`; a damaged one is BadInput naming it."""
    x_train, y_train, x_test, y_test = (idx(raw / f"{name}.gz") for name in NAMES)
    return Arrays(x_train, y_train.astype(np.int64), x_test, y_test.astype(np.int64), classes=10)


def _files(folder: str, theirs: str, *sha256: str) -> tuple[RawFile, ...]:
    """Return the four files; mirrors may also keep them unpacked, as torchvision does, or as Kaggle does."""
    files = []
    for name, digest in zip(NAMES, sha256, strict=True):
        kaggle = name.replace("-idx", ".idx")
        ours = [f"{folder}/{other}" for other in (name, kaggle, f"{name}/{kaggle}", f"{name}/{name}")]
        also = [*ours, f"{theirs}/raw/{name}", f"{theirs}/raw/{name}.gz"]
        files.append(RawFile(f"{name}.gz", digest, also=tuple(also)))
    return tuple(files)


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
    decode=decode_mnist,
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
    decode=decode_mnist,
    licence="MIT",
    citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, a novel image dataset, arXiv:1708.07747, 2017",
)


CLASSES = 62  # 0-9, A-Z, a-z
SPLITS = {split: f"federated_emnist_{split}.sqlite" for split in ("train", "test")}  # its file
DTYPES = {name.encode(): np.dtype(name) for name in ("float32", "float64", "int32", "int64")}
WAY_OUT = "delete it and its .sha256 and fetch again"


def open_database(path: Path) -> sqlite3.Connection:
    """Return the database, which is never written to."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def problem(path: Path) -> str:
    """Name a fault that a glance shows: no database, a cut one, or one without writers; empty: none."""
    try:
        with closing(open_database(path)) as database:
            first = database.execute("SELECT client_id, data, num_examples FROM federated_data LIMIT 1")
            return "" if first.fetchone() else "found no writer, allowed: a table of writers"
    except sqlite3.Error as error:
        return f"found {error}, allowed: an SQLite file with the table federated_data"


def array(code: int, data: bytes) -> np.ndarray:
    """Return the array in msgpack's extension type 1: packed (shape, name of the dtype, bytes)."""
    if code != 1:
        raise ValueError(f"extension type {code}")
    shape, name, values = msgpack.unpackb(data, raw=True)
    if name not in DTYPES:
        raise ValueError(f"an array of {name!r}")
    return np.frombuffer(values, DTYPES[name]).reshape(shape)


def examples(data: bytes, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the images uint8 [count, 28, 28] and labels int64 [count] in a writer's blob.

    Ink is 0 and paper 255, as published. It is zlib of a msgpack map with so many `pixels` in [0, 1] and
    `label` in 0..61; of anything else the error is whatever goes wrong first.
    """
    fields = msgpack.unpackb(zlib.decompress(data), ext_hook=array)
    pixels, labels = fields["pixels"].reshape(count, 28, 28), fields["label"].reshape(count)
    if not (((pixels >= 0) & (pixels <= 1)).all() and ((labels >= 0) & (labels < CLASSES)).all()):
        raise ValueError(f"others than 0 to 1 and 0 to {CLASSES - 1}")
    return np.rint(255 * pixels).astype(np.uint8), labels.astype(np.int64)


def rows(path: Path) -> Iterator[tuple[Any, Any, Any]]:
    """Yield client_id, data and num_examples by ascending client_id; a damaged file is BadInput naming it."""
    if wrong := problem(path):
        raise BadInput(f"{path}: {wrong}; {WAY_OUT}")
    try:
        with closing(open_database(path)) as database:
            yield from database.execute(
                "SELECT client_id, data, num_examples FROM federated_data ORDER BY client_id"
            )
    except sqlite3.Error as error:
        raise BadInput(f"{path}: found {error}, allowed: a whole SQLite file; {WAY_OUT}") from error


def read(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all images, labels and owners; writers are numbered by ascending client_id.

    Only one writer's pixels are floats at a time. Damage is BadInput naming the file and the writer.
    """
    images, labels = [], []
    for client, data, count in rows(path):
        try:
            x, y = examples(data, count)
        except Exception as error:  # whatever a damaged blob makes zlib, msgpack or numpy raise
            name = client.decode(errors="replace") if isinstance(client, bytes) else client
            raise BadInput(
                f"{path}: found a damaged blob ({type(error).__name__}: {error}) for client {name}, allowed: "
                f"zlib of a msgpack map of pixels and label; {WAY_OUT}"
            ) from error
        images.append(x)
        labels.append(y)
    owners = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
    return np.concatenate(images), np.concatenate(labels), owners


def decode_femnist(raw: Path) -> Arrays:
    """Read both files in folder `raw`; a damaged one is BadInput naming it."""
    (x_train, y_train, owner), (x_test, y_test, _) = (read(raw / file) for file in SPLITS.values())
    note = f"{owner[-1] + 1:,} writers; the files' hashes could not be compared with published ones"
    return Arrays(x_train, y_train, x_test, y_test, CLASSES, note=note, owner=owner)


FEMNIST = Dataset(
    name="femnist",
    # Nobody publishes their hashes: two sources could not be distinguished, so there is one.
    files=tuple(RawFile(file, None, problem) for file in SPLITS.values()),
    public=("https://storage.googleapis.com/gresearch/fedjax/emnist/",),
    decode=decode_femnist,
    licence="public domain (NIST Special Database 19)",
    citation="Cohen, Afshar, Tapson, van Schaik: EMNIST: extending MNIST to handwritten letters, IJCNN 2017",
    writers=3400,
)
