import re
import sqlite3
import zlib
from contextlib import closing

import msgpack
import numpy as np
import pytest

from fedpriv import data
from fedpriv.data import arrays, characters
from fedpriv.errors import BadInput

SIZES = {"train": [3, 1, 4], "test": [1, 2, 1]}
COLUMNS = "client_id BLOB NOT NULL PRIMARY KEY, data BLOB NOT NULL, num_examples INTEGER NOT NULL"


def packed(array):
    parts = (array.shape, array.dtype.name, array.tobytes())
    return msgpack.ExtType(1, msgpack.packb(parts, use_bin_type=True))


def blob(pixels, label, **others):
    return zlib.compress(msgpack.packb({"pixels": packed(pixels), "label": packed(label)} | others))


def written(count, seed):
    """What a writer wrote, of the published types."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 28, 28)) / np.float32(255)
    return pixels.astype(np.float32), rng.integers(0, 62, count).astype(np.int32)


def client(number):
    return f"{number:016x}:f{number:04}_00".encode()


def write(path, rows, columns=COLUMNS):
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE federated_data ({columns})")
        database.executemany("INSERT INTO federated_data VALUES (?, ?, ?)", rows)
    return path


def lay(folder):
    """Both files of the real format, of three writers, who are not in order."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, sizes in SIZES.items():
        rows = [(client(number), blob(*written(count, number)), count) for number, count in enumerate(sizes)]
        write(folder / characters.SPLITS[split], rows[::-1])
    return folder


def test_both_files_become_arrays_with_the_writer_of_every_training_example(tmp_path):
    lay(tmp_path)
    found = characters.decode_femnist(tmp_path)
    expected = [written(count, number) for number, count in enumerate(SIZES["train"])]
    assert arrays.problem(found) == "" and found.classes == 62
    assert np.array_equal(found.x_train, np.rint(255 * np.concatenate([x for x, _ in expected])))
    assert found.y_train.tolist() == np.concatenate([y for _, y in expected]).tolist()
    assert found.owner.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert len(found.y_test) == 4 and found.note.startswith("3 writers; ")


def test_a_mirror_of_both_files_is_fetched_recorded_and_decoded(tmp_path, capsys):
    lay(tmp_path / "mirror/femnist")
    path = data.prepare_arrays("femnist", tmp_path / "resources", [str(tmp_path / "mirror")])
    assert len(arrays.load(path).owner) == 8
    assert capsys.readouterr().err.count("could not be compared with a published one\n") == 2


def cut(path):
    path.write_bytes(path.read_bytes()[:-4096])


DAMAGES = {
    "page": (lambda path: path.write_text("<html>no such object</html>" * 99), "file is not a database"),
    "cut": (cut, "malformed"),
    "empty": (lambda path: path.write_bytes(b""), "no such table: federated_data"),
    "columns": (lambda path: write(path, [], "a, b, c"), "no such column"),
    "nobody": (lambda path: write(path, []), "no writer"),
}


@pytest.mark.parametrize(("damage", "found"), DAMAGES.values(), ids=DAMAGES)
def test_a_glance_shows_what_is_not_the_file_and_decoding_names_it(damage, found, tmp_path):
    path = lay(tmp_path) / characters.SPLITS["train"]
    damage(path)
    assert re.search(
        f"found {'.*' if found == 'malformed' else ''}{found}.*, allowed: ", characters.problem(path)
    )
    with pytest.raises(BadInput, match=rf"train\.sqlite: found .*{found}.*; delete it and its \.sha256"):
        characters.decode_femnist(tmp_path)


X, Y = written(2, 0)
NOT = np.float32(np.nan)
BLOBS = {
    "cut zlib": (blob(X, Y)[:-9], "error: Error -5"),
    "another extension": (blob(X, Y, other=msgpack.ExtType(4, b"")), "extension type 4"),
    "other sizes": (blob(X[:, 1:], Y), "cannot reshape"),
    "white of 255": (blob(255 * X, Y), "others than 0 to 1 and 0 to 61"),
    "a 63rd class": (blob(X, Y + np.int32(62)), "others than 0 to 1 and 0 to 61"),
}


@pytest.mark.parametrize(("data", "found"), BLOBS.values(), ids=BLOBS)
def test_a_damaged_blob_is_bad_input_naming_the_file_and_the_client(data, found, tmp_path):
    path = write(tmp_path / characters.SPLITS["train"], [(client(7), data, 2)])
    words = rf"train\.sqlite: found .*{found}.* for client 0{{15}}7:f0007_00, allowed: zlib of a msgpack map"
    with pytest.raises(BadInput, match=words):
        characters.read(path)
