"""FEMNIST: handwritten digits and letters, by writer, as fedjax publishes the federated EMNIST.

DEVIATION: FederatedScope takes LEAF's FEMNIST (3,550 writers), which has to be built from NIST's scans, and
cuts every writer's examples into 60 % for training, 20 % for validation and 20 % for testing. We take the
same scans as TensorFlow Federated prepared them (3,400 writers), with its own split of every writer's.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from fedpriv.data.arrays import Arrays
from fedpriv.data.dataset import Dataset, RawFile
from fedpriv.errors import BadInput

CLASSES = 62  # 0-9, A-Z, a-z
SPLITS = ("train", "test")
DTYPES = {name.encode(): np.dtype(name) for name in ("float32", "float64", "int32", "int64")}
# Bytes of one writer's examples, packed or not: far more than the 200 or so of a writer (0.7 MB) take.
LIMIT = 2**26
WAY_OUT = "delete it and its .sha256 and fetch again"


def named(split: str) -> str:
    """Return the name of the file that holds `split`."""
    return f"federated_emnist_{split}.sqlite"


def opened(path: Path) -> sqlite3.Connection:
    """Return the database, which is never written to; a row of more than LIMIT bytes is an error of it."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LIMIT)
    return connection


def problem(path: Path) -> str:
    """Return what a glance shows to be wrong: no database, a cut one, or one without writers."""
    try:
        with closing(opened(path)) as database:
            # A view may go on for ever.
            kind = database.execute("SELECT type FROM sqlite_schema WHERE name = 'federated_data'").fetchone()
            if kind not in (None, ("table",)):
                return f"found the {kind[0]} federated_data, allowed: a table of writers"
            first = database.execute("SELECT client_id, data, num_examples FROM federated_data LIMIT 1")
            return "" if first.fetchone() else "found no writer, allowed: a table of writers"
    except sqlite3.Error as error:
        return f"found {error}, allowed: an SQLite file with the table federated_data"


def array(code: int, data: bytes) -> np.ndarray:
    """Return the array in msgpack's extension type 1: packed (shape, name of the dtype, bytes)."""
    if code != 1:
        raise ValueError(f"extension type {code}")
    shape, name, values = msgpack.unpackb(data, raw=True, max_array_len=8, max_map_len=0)
    if name not in DTYPES:
        raise ValueError(f"an array of {name!r}")
    return np.frombuffer(values, DTYPES[name]).reshape(shape)


def examples(data: bytes, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the images uint8 [count, 28, 28] and labels int64 [count] in a writer's blob.

    Ink is 0 and paper 255, as published. Anything else than zlib of a msgpack map with exactly so many
    `pixels` in [0, 1] and `label` in 0..61 is a ValueError.
    """
    inflate = zlib.decompressobj()
    try:
        unpacked = inflate.decompress(data, LIMIT)
        if not inflate.eof:
            raise ValueError(f"a blob that is cut or has more than {LIMIT} bytes")
        fields = msgpack.unpackb(unpacked, ext_hook=array, max_array_len=8, max_map_len=8)
        pixels, labels = fields["pixels"], fields["label"]
        shapes = pixels.shape, labels.shape
    except (KeyError, TypeError, AttributeError, OverflowError, zlib.error) as error:
        raise ValueError(f"a damaged blob ({type(error).__name__}: {error})") from error
    if not count or shapes != ((count, 28, 28), (count,)):
        raise ValueError(f"pixels {list(shapes[0])} and label {list(shapes[1])} of {count} examples")
    if pixels.dtype.kind != "f" or not ((pixels >= 0) & (pixels <= 1)).all():
        raise ValueError(f"pixels of {pixels.dtype}, or outside of 0 to 1")
    if labels.dtype.kind != "i" or not ((labels >= 0) & (labels < CLASSES)).all():
        raise ValueError(f"label of {labels.dtype}, or outside of 0 to {CLASSES - 1}")
    return np.rint(255 * pixels).astype(np.uint8), labels.astype(np.int64)


def rows(path: Path) -> Iterator[tuple[Any, Any, Any]]:
    """Yield client_id, data and num_examples by ascending client_id; a damaged file is BadInput naming it."""
    if not path.exists():
        raise BadInput(f"{path}: found no such file, allowed: a file that was fetched")
    if wrong := problem(path):
        raise BadInput(f"{path}: {wrong}; {WAY_OUT}")
    try:
        with closing(opened(path)) as database:
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
        except ValueError as error:
            name = client.decode(errors="replace") if isinstance(client, bytes) else client
            raise BadInput(
                f"{path}: found {error} for client {name}, allowed: zlib of a msgpack map of pixels and "
                f"label; {WAY_OUT}"
            ) from error
        images.append(x)
        labels.append(y)
    owners = np.repeat(np.arange(len(labels)), [len(of_one) for of_one in labels])
    return np.concatenate(images), np.concatenate(labels), owners


def decode(raw: Path) -> Arrays:
    """Read both files in folder `raw`; a damaged one is BadInput naming it."""
    (x_train, y_train, owner), (x_test, y_test, _) = (read(raw / named(split)) for split in SPLITS)
    note = f"{owner[-1] + 1:,} writers; the files' hashes could not be compared with published ones"
    return Arrays(x_train, y_train, x_test, y_test, CLASSES, note=note, owner=owner)


FEMNIST = Dataset(
    name="femnist",
    # Nobody publishes their hashes: two places could not be told apart, so there is one.
    files=tuple(RawFile(named(split), None, problem) for split in SPLITS),
    public=("https://storage.googleapis.com/gresearch/fedjax/emnist/",),
    decode=decode,
    licence="public domain (NIST Special Database 19)",
    citation="Cohen, Afshar, Tapson, van Schaik: EMNIST: extending MNIST to handwritten letters, IJCNN 2017",
    writers=3400,
)
