"""All of a scattering as features: ordered, normalised image by image, the same whoever asks."""

import numpy as np
import pytest
import torch
from fedpriv_studies import basis, public
from fedpriv_studies.heads import PATHS, SIDE, WIDTH, ScatterLinear

from fedpriv.data import arrays
from fedpriv.data.photographs import Photos
from fedpriv.models.base import Features

EXAMPLES = 12


@pytest.fixture
def images(tmp_path):
    """Return a file of drawn images, one of them empty."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 256, (EXAMPLES, 28, 28), dtype=np.uint8)
    drawn[0] = 0
    half = EXAMPLES // 2
    labels = np.arange(EXAMPLES) % 3
    held = arrays.Arrays(drawn[:half], labels[:half], drawn[half:], labels[half:], classes=3)
    return arrays.save(tmp_path / "images.npz", held)


def made(images, groups=27, out="features.npz", threads=1) -> arrays.Arrays:
    source = Features(images, "mnist", Photos(), threads=threads)
    return arrays.load(public.extract_whole(source, groups, images.with_name(out)))


def test_paths_of_one_modulus_come_before_those_of_two_and_keep_their_order():
    paths = torch.arange(81.0)[None, :, None, None]
    found = public.moduli_order(paths)[0, :, 0, 0].tolist()
    assert found == [0, *range(1, 9), *range(73, 81), *range(9, 73)]


def test_each_group_of_paths_of_an_image_is_moved_to_mean_0_and_scaled_to_variance_1(images):
    found, plain = made(images), made(images, None, "plain.npz")
    assert found.x_train.shape == (EXAMPLES // 2, WIDTH) and found.x_train.dtype == np.float16
    groups = plain.x_test.astype(np.float64).reshape(EXAMPLES // 2, 27, -1)
    mean, variance = groups.mean(2, keepdims=True), groups.var(2, keepdims=True)
    expected = ((groups - mean) / np.sqrt(variance + 1e-5)).reshape(EXAMPLES // 2, -1)
    assert np.allclose(found.x_test, expected, atol=1e-2)
    assert not found.x_train[0].any()  # of an empty image


def test_the_bounds_of_statistics_are_the_median_norms_of_public_digits():
    with public.workers(1) as pool:
        found = public.coefficients(basis.digits().images[::9], pool).reshape(-1, PATHS, SIDE**2)
    model = ScatterLinear()
    for power, bound in ((1, model.mean_l2), (2, model.square_l2)):
        norms = np.linalg.norm((found**power).mean(2), axis=1)
        assert bound == pytest.approx(np.median(norms), rel=0.05)
