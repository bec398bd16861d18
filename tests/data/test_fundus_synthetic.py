from pathlib import Path

import numpy as np
import pytest

from fedpriv import data
from fedpriv.data import fundus_synthetic as fundus
from fedpriv.data.photographs import decode_image
from fedpriv.streams import Streams

FIRST_DAY = [60.48, 59.58, 65.36, 70.19, 66.18]  # mean levels


def pixels(prepared, number):
    return np.asarray(decode_image(Path(prepared.folder) / prepared.images[number].path))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    path = data.prepare_arrays("fundus_synthetic", tmp_path_factory.mktemp("resources"), ["no/such/folder"])
    return data.photographs.load_manifest(path)


def test_it_has_500_whole_images_of_which_the_first_100_are_for_testing(prepared):
    assert (prepared.counts.train, prepared.counts.test) == (400, 100)
    assert not data.photographs.manifest_fault(prepared) and prepared.counts.identical_groups == 0


def test_every_grade_is_in_both_splits_and_equally_often_in_all(prepared):
    for test in (False, True):
        counts = np.bincount([image.label for image in prepared.images if image.test == test], minlength=5)
        assert (counts > 0).all()
    assert np.bincount([image.label for image in prepared.images]).tolist() == [100] * 5


def test_the_images_are_those_of_the_first_day(prepared):
    colours = [pixels(prepared, number).mean() for number in range(5)]
    assert colours == pytest.approx(FIRST_DAY, abs=0.01)


def test_a_folder_that_was_drawn_is_left_alone(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/train.csv").write_text("mine")
    assert fundus.draw_photographs([], tmp_path) == tmp_path / "raw"
    assert (tmp_path / "raw/train.csv").read_text() == "mine"


def lesions(image):
    """Return how many pixels of the retina are dark red or yellow: blood, exudates."""
    red, green, blue = (image[..., channel].astype(int) for channel in range(3))
    return int(((red < 110) & (red > 40) & (green < 40)).sum()), int(((green > 190) & (blue < 140)).sum())


def drawn(grade, number):
    return fundus.draw_fundus(grade, Streams(1, "test").numpy("draw", number))


def test_blood_and_exudates_grow_with_the_grade():
    means = [np.mean([lesions(drawn(grade, n)) for n in range(20)], axis=0) for grade in range(5)]
    blood, exudates = np.transpose(means)
    assert (np.diff(blood) > 0).all()
    assert (np.diff(exudates[1:]) > 0).all()
