import numpy as np
import pytest
from sklearn.datasets import load_digits

from fedpriv.data import characters


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    return characters.decode_digits(tmp_path_factory.mktemp("no-raw-files"))


def test_every_digit_is_in_exactly_one_split(arrays):
    both = np.concatenate([arrays.x_train, arrays.x_test])
    original = characters.enlarge(load_digits().images)
    assert sorted(image.tobytes() for image in both) == sorted(image.tobytes() for image in original)


def test_four_fifths_of_every_class_are_for_training(arrays):
    train, test = (np.bincount(labels, minlength=10) for labels in (arrays.y_train, arrays.y_test))
    assert np.abs(train - 0.8 * (train + test)).max() <= 0.5


def test_enlarging_keeps_flat_areas_and_the_mean_ink():
    flat = np.array([np.full((8, 8), ink) for ink in (0.0, 8.0, 16.0)])
    assert [set(image.ravel().tolist()) for image in characters.enlarge(flat)] == [{0}, {128}, {255}]
    images = load_digits().images
    large = characters.enlarge(images)
    assert large.shape == (1797, 28, 28) and large.dtype == np.uint8
    assert large.mean() == pytest.approx(images.mean() * 255 / 16, rel=0.02)
