"""Labels of one's own data: every number up to the largest is a class, unless the file says how many."""

import numpy as np
import pytest

from fedpriv.data.own import MOST_CLASSES, own_arrays
from fedpriv.errors import BadInput

X = np.random.default_rng(0).integers(0, 256, (12, 8, 8), dtype=np.uint8)
Y = np.arange(12) % 3


def classes(train, test=None, **more):
    """Return how many classes are found in these labels of a train and a test split."""
    train, test = np.asarray(train), np.asarray(train if test is None else test)
    found = {"x_train": X[: len(train)], "y_train": train, "x_test": 255 - X[: len(test)], "y_test": test}
    return own_arrays("here", found | more).classes


def refused(*labels, **more):
    with pytest.raises(BadInput) as told:
        classes(*labels, **more)
    assert "\n" not in str(told.value) and len(str(told.value)) < 300
    return str(told.value)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", ">i4"])
def test_labels_without_gaps_are_counted_whatever_holds_them(dtype):
    assert classes(Y.astype(dtype)) == 3


HUGE = np.where(Y == 2, np.uint64(2**64 - 1), Y.astype(np.uint64))


@pytest.mark.parametrize(
    ("train", "test", "more", "found", "allowed"),
    [
        (Y + 1, Y + 1, {}, "1 to 3", "0 to 2"),
        (Y * 2, Y * 2, {}, "0 to 4", "0 to 2"),
        (HUGE, HUGE, {}, "0 to 18446744073709551615", "0 to 2"),
        (Y, np.where(Y == 2, 7, Y), {}, "0 to 7", "0 to 3"),
        (Y - 1, Y - 1, {"classes": np.array(3)}, "-1 to 1", "0 to 2"),
        (Y % 2, Y, {"classes": np.array(2)}, "0 to 2", "0 to 1"),
    ],
    ids=str,
)
def test_labels_with_a_gap_or_out_of_range_are_refused_with_what_to_do(train, test, more, found, allowed):
    said = refused(train, test, **more)
    assert said.startswith(f"here: found labels {found}, allowed: {allowed}, every one; number those")


def test_a_file_may_say_how_many_classes_there_are():
    assert all(classes(Y * 2, classes=said) == 9 for said in (np.array(9), np.array([9]), np.uint8(9)))


@pytest.mark.parametrize("said", [0, -1, 2.0, True, MOST_CLASSES + 1, 2**64 - 1, [3, 3], [], "3"], ids=str)
def test_classes_are_one_whole_number(said):
    assert refused(Y, classes=np.array(said)).startswith("here: classes: found ")


def test_labels_of_the_test_split_on_which_nobody_trains_are_told(capsys):
    assert classes(Y % 2, Y) == 3
    assert capsys.readouterr().err == "here: y_test: found labels that y_train lacks (2)\n"
    assert classes(Y, Y) == 3
    assert capsys.readouterr().err == ""
    assert classes([0] * 12, range(12)) == 12
    assert "(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)" in capsys.readouterr().err


def test_a_test_split_of_nothing_that_is_trained_on_is_refused():
    said = "here: y_test: found only labels that y_train lacks (3, 4, 5), allowed: some that are trained on"
    assert refused(Y, Y + 3, classes=np.array(6)) == refused(Y, Y + 3) == said
