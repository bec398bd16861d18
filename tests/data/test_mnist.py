import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.data import characters, source
from fedpriv.errors import BadInput


def packed(values: np.ndarray, type_: int = 8) -> bytes:
    header = struct.pack(f">BBBB{values.ndim}I", 0, 0, type_, values.ndim, *values.shape)
    return gzip.compress(header + values.astype(np.uint8).tobytes(), mtime=0)


@given(shape=st.lists(st.integers(0, 6), min_size=1, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_an_idx_file_is_read_as_it_was_written(shape, seed, tmp_path_factory):
    values = np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)
    path = tmp_path_factory.mktemp("idx") / "values.gz"
    path.write_bytes(packed(values))
    read = characters.idx(path)
    assert read.dtype == np.uint8 and read.shape == values.shape and np.array_equal(read, values)


def test_the_four_files_become_the_official_split(tmp_path):
    rng = np.random.default_rng(0)
    images = {"train": rng.integers(256, size=(5, 28, 28)), "t10k": rng.integers(256, size=(3, 28, 28))}
    for split, values in images.items():
        (tmp_path / f"{split}-images-idx3-ubyte.gz").write_bytes(packed(values))
        (tmp_path / f"{split}-labels-idx1-ubyte.gz").write_bytes(packed(np.arange(len(values))))
    arrays = characters.decode_mnist(tmp_path)
    assert np.array_equal(arrays.x_train, images["train"]) and np.array_equal(arrays.x_test, images["t10k"])
    assert arrays.y_train.tolist() == [0, 1, 2, 3, 4] and arrays.y_test.tolist() == [0, 1, 2]
    assert arrays.y_train.dtype == np.int64 and arrays.classes == 10


WHOLE = packed(np.arange(24).reshape(2, 3, 4))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (WHOLE[:-9], "found a damaged gzip file"),
        (gzip.compress(gzip.decompress(WHOLE)[:-1], mtime=0), "found cannot reshape array of size 23"),
        (gzip.compress(gzip.decompress(WHOLE) + b"!", mtime=0), "found cannot reshape array of size 25"),
        (gzip.compress(gzip.decompress(WHOLE)[:10], mtime=0), "found buffer is smaller"),
        (packed(np.arange(4), type_=13), "found the header 00 00 0d 01"),
        (b"", "found the header "),
    ],
)
def test_a_damaged_idx_file_is_bad_input_naming_it(content, found, tmp_path):
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=f"train-images-idx3-ubyte.gz: {found}.*, allowed: a whole idx file"):
        characters.idx(path)


@pytest.mark.parametrize(
    ("dataset", "theirs"), [(characters.MNIST, "MNIST"), (characters.FASHION_MNIST, "FashionMNIST")]
)
@pytest.mark.parametrize(
    "layout",
    [
        "{ours}/{name}.gz",
        "{ours}/{name}",
        "{ours}/{kaggle}",
        "{ours}/{name}/{name}",
        "{ours}/{name}/{kaggle}",
        "{theirs}/raw/{name}",
        "{theirs}/raw/{name}.gz",
    ],
)
def test_a_mirror_may_be_laid_out_as_torchvision_or_kaggle_do(dataset, theirs, layout, tmp_path):
    for file in dataset.files:
        name = file.name.removesuffix(".gz")
        kaggle = name.replace("-idx", ".idx")
        path = tmp_path / layout.format(ours=dataset.name, theirs=theirs, name=name, kaggle=kaggle)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        assert source.sources(dataset, file, [str(tmp_path)])[0] == str(path)
