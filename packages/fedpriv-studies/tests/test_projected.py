"""Features seen from public images: bounded, each of one image alone, the same whoever asks."""

from typing import get_args

import numpy as np
import pytest
from fedpriv_studies import basis
from fedpriv_studies import public as projected
from fedpriv_studies.heads import PhotoSoftmax, Softmax

from fedpriv.config.plan import arrays_id
from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.data.photographs import Photos
from fedpriv.errors import BadInput
from fedpriv.models.base import Features

EXAMPLES = 40


@pytest.fixture
def images(monkeypatch, tmp_path):
    """Return a file of drawn images; of the public digits there are only a few."""
    few = basis.digits()
    monkeypatch.setitem(
        basis.BASES, "digits", lambda: few._replace(images=few.images[:60], labels=few.labels[:60])
    )
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 256, (EXAMPLES, 28, 28), dtype=np.uint8)
    drawn[0] = 0
    labels = rng.integers(0, 10, EXAMPLES)
    split = EXAMPLES // 2
    held = arrays.Arrays(drawn[:split], labels[:split], drawn[split:], labels[split:], classes=10)
    return arrays.save(tmp_path / "images.npz", held)


def made(images, out="features.npz", dataset="mnist", count=20, threads=1) -> arrays.Arrays:
    return arrays.load(
        projected.extract_projected(
            Features(images, dataset, Photos(), threads=threads),
            *("scattering", basis.BASES["digits"](), count, images.with_name(out)),
        )
    )


def test_no_features_have_a_norm_above_the_bound(images):
    found = made(images)
    for x in (found.x_train, found.x_test):
        assert x.shape == (EXAMPLES // 2, 20) and x.dtype == np.float16
        norms = np.linalg.norm(x.astype(np.float64), axis=1)
        assert norms.max() <= basis.LARGEST
    assert norms.max() > 0.99 * basis.LARGEST  # these are clipped: a drawn image is no digit


def test_features_of_an_image_do_not_depend_on_the_others(images):
    before, held = made(images), arrays.load(images)
    changed = held.x_train.copy()
    changed[1:] = 255 - changed[1:]
    arrays.save(images, held._replace(x_train=changed))
    after = made(images, "again.npz")
    assert np.array_equal(before.x_train[0], after.x_train[0])
    assert not np.array_equal(before.x_train[1], after.x_train[1])
    assert np.array_equal(before.x_test, after.x_test)


@pytest.mark.parametrize(("count", "numbers"), [(50, 9), (9, 50)])
def test_the_directions_are_the_principal_ones_of_the_public_images(count, numbers):
    known = np.random.default_rng(1).standard_normal((count, numbers)) * np.arange(numbers, 0, -1)
    found = basis.seen_from(known, 4)
    _, values, directions = np.linalg.svd(known - known.mean(0), full_matrices=False)
    shares = directions[:4] @ found.directions
    assert np.allclose(shares, np.diag(np.diag(shares)), atol=1e-9)
    scale = np.abs(np.diag(shares)) * (values[:4] / count**0.5) ** 0.5
    assert np.allclose(scale, scale[0])
    seen = (known - found.middle) @ found.directions
    assert np.linalg.norm(seen, axis=1).mean() == pytest.approx(1)


def test_varied_digits_are_the_digits_and_variants_that_look_like_their_own(monkeypatch):
    plain, few = basis.digits(), 40
    monkeypatch.setattr(
        basis, "digits", lambda: plain._replace(images=plain.images[:few], labels=plain.labels[:few])
    )
    varied, again = basis.varied_digits(), basis.varied_digits()
    assert np.array_equal(varied.images, again.images)
    assert np.array_equal(varied.images[:few], plain.images[:few])
    similar = np.corrcoef(varied.images.reshape(len(varied.images), -1))[few:, :few]
    assert len(similar) == few * basis.VARIANTS and similar.max() < 1  # each is another image
    own = similar[np.arange(len(similar)), np.arange(len(similar)) // basis.VARIANTS]
    assert own.mean() > similar.mean() + 0.1
    assert np.array_equal(varied.labels[few:], plain.labels[:few].repeat(basis.VARIANTS))


def test_features_say_what_is_public_and_what_it_reaches_alone(images):
    assert "ε = 0" in made(images).note and "public 8x8 digits" in made(images).note
    assert "ε = 0" not in made(images, dataset="fashion_mnist").note  # whose labels mean something else


@pytest.mark.parametrize("count", [60, 1000])
def test_more_directions_than_public_images_have_are_bad_input(images, count):
    with pytest.raises(BadInput, match=r"^model.directions: found .*, allowed: 1 to 59"):
        made(images, count=count)


def test_every_basis_that_a_model_may_ask_for_is_there():
    asked = [get_args(model.model_fields["basis"].annotation) for model in (Softmax, PhotoSoftmax)]
    assert sorted(name for names in asked for name in names) == sorted([*basis.BASES, "own"])


def test_alone_the_public_images_are_what_is_trained_on_and_nobodys_private_ones(images):
    public = basis.BASES["digits"]()
    how = Features(images, "mnist", Photos(), alone=True, threads=1), "scattering", public, 20
    alone = arrays.load(projected.extract_projected(*how, images.with_name("alone.npz")))
    both = made(images)
    assert np.array_equal(alone.y_train, public.labels) and np.array_equal(alone.x_test, both.x_test)
    held = arrays.load(images)
    arrays.save(images, held._replace(x_train=255 - held.x_train))
    again = arrays.load(projected.extract_projected(*how, images.with_name("again.npz")))
    assert np.array_equal(alone.x_train, again.x_train)


def test_public_images_of_other_classes_cannot_be_learnt_from(images):
    source = Features(images, "fashion_mnist", Photos(), alone=True)
    how = "scattering", basis.BASES["digits"](), 20, images.with_name("alone.npz")
    with pytest.raises(BadInput, match="learn_from: found public with dataset fashion_mnist"):
        projected.extract_projected(source, *how)


def test_files_of_features_are_named_by_all_that_they_depend_on():
    def named(**changes):
        told = {"dataset": "mnist", "partition": {"law": "iid", "clients": 9}, "scheme": "none"}
        return arrays_id(Run.model_validate(told | {"cohort": "full"} | changes))

    photos = {"copies": 11, "seed": 2, "dedup": "drop"}
    seen = {"name": "softmax", "directions": 20}
    assert named(model=seen, photos=photos) == "mnist-scattering-digits-k20"
    assert named(model=seen, learn_from="public") == "mnist-scattering-digits-k20-public"
    on_photos = named(dataset="aptos", model={"name": "photo_softmax", "directions": 20}, photos=photos)
    assert on_photos == "aptos-efficientnet_lite0-fundus_even-k20-c11-s2-drop"
