import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.data import arrays
from fedpriv.data.arrays import Arrays
from fedpriv.errors import BadInput
from fedpriv.store import npz


def make(train: int = 20, test: int = 5) -> Arrays:
    """Images whose every pixel is their number, so that they can be told apart."""
    x = np.arange(train + test, dtype=np.uint8)[:, None, None] + np.zeros((28, 28), dtype=np.uint8)
    y = np.arange(train + test) % 3
    return Arrays(x[:train], y[:train], x[train:], y[train:], classes=3)


def copied(images: int = 6, copies: int = 3) -> Arrays:
    """Features whose every value is the number of their image, with a copy's number in the first."""
    group = np.repeat(np.arange(images), copies)
    x = np.repeat(group[:, None], 5, axis=1).astype(np.float16)
    x[:, 0] = np.tile(np.arange(copies), images)
    return Arrays(x, group % 2, x[:2], group[:2] % 2, classes=2, group=group, note="made by a test")


def test_saved_arrays_are_loaded_as_they_were(tmp_path):
    for saved in (copied(), make()._replace(owner=np.arange(20) // 7), make()):
        loaded = arrays.load(arrays.save(tmp_path / "deep" / "toys.npz", saved))
        for was, is_ in zip(saved, loaded, strict=True):
            assert np.array_equal(was, is_) and np.asarray(was).dtype == np.asarray(is_).dtype
    assert loaded.classes == 3 and isinstance(loaded.classes, int)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["toys.npz"]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"x_train": make().x_train.astype(float)}, "x_train of float64"),
        ({"y_train": make().y_train[:-1]}, r"y_train of int64 \[19\], not int64 \[20\]"),
        ({"classes": 2}, "labels 0..2 in y_train, not 0..1"),
        ({"x_test": make().x_test[:0], "y_test": make().y_test[:0]}, "an empty test split"),
        ({"x_test": copied().x_test}, r"x_test of float16 \[2, 5\] beside x_train of uint8 \[20, 28, 28\]"),
        ({"group": make().group[:-1]}, r"group of int64 \[19\], not int64 \[20\]"),
        ({"group": make().group // 3}, "groups that are not 0, 1, ... with equally many"),
        ({"group": make().group // 2}, "copies of one image with different labels"),
        ({"owner": make().group[:-1]}, r"owner of int64 \[19\], not int64 \[20\], or \[0\]"),
        ({"owner": make().group - 1}, "owner -1, not 0, 1"),
        (copied()._replace(owner=np.arange(18))._asdict(), "copies of one image with different owners"),
        (copied()._replace(x_train=np.full((18, 5), np.inf, np.float16))._asdict(), "not finite"),
    ],
)
def test_arrays_that_break_the_schema_are_not_written(change, wrong, tmp_path):
    with pytest.raises(ValueError, match=wrong):
        arrays.save(tmp_path / "toys.npz", make()._replace(**change))
    assert list(tmp_path.iterdir()) == []


def foreign(path):
    npz.save_npz(path, dict(something=np.zeros(3)))


@pytest.mark.parametrize("damage", [foreign, lambda path: path.unlink()])
def test_a_foreign_or_missing_file_is_bad_input_naming_it(damage, tmp_path):
    path = arrays.save(tmp_path / "toys.npz", make())
    damage(path)
    with pytest.raises(BadInput, match=re.escape(f"{path}: found ")):
        arrays.load(path)


@given(count=st.integers(1, 19), seed=st.integers(0, 2**32 - 1))
def test_held_out_examples_are_training_examples_and_leave_the_training_split(count, seed):
    held = arrays.hold_out(make()._replace(owner=np.arange(20) // 4), count, np.random.default_rng(seed))
    assert held.owner.tolist() == [number // 4 for number in held.x_train[:, 0, 0].tolist()]
    train, test = held.x_train[:, 0, 0].tolist(), held.x_test[:, 0, 0].tolist()
    assert len(test) == count and sorted(train + test) == list(range(20))
    assert held.y_test.tolist() == [number % 3 for number in test] and arrays.problem(held) == ""


@given(count=st.integers(1, 5), copies=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_an_image_is_held_out_with_all_its_copies_and_only_the_plain_one_is_tested_on(count, copies, seed):
    held = arrays.hold_out(copied(6, copies), count, np.random.default_rng(seed))
    train, test = held.x_train[:, 1].astype(int), held.x_test[:, 1].astype(int)
    assert len(set(test)) == len(test) == count and not set(test) & set(train)
    assert (held.x_test[:, 0] == 0).all()
    assert (np.unique(train, return_counts=True)[1] == copies).all() and len(set(train)) == 6 - count
    assert arrays.problem(held) == "" and held.note == "made by a test"


@pytest.mark.parametrize("count", [0, 20])
def test_holding_out_nothing_or_everything_is_bad_input(count):
    with pytest.raises(BadInput, match=f"validation: found {count}, allowed: 1 to 19"):
        arrays.hold_out(make(), count, np.random.default_rng(0))


def test_examples_are_the_same_that_have_equal_inputs_whatever_their_row_and_label():
    found = make()
    x = found.x_train.copy()
    x[7], x[12] = x[3], x[3]
    same = found._replace(x_train=x).content
    assert same.tolist() == [3 if row in (7, 12) else row for row in range(20)]
