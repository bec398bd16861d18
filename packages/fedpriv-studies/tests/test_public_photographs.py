"""Features of photographs seen from synthetic ones: bounded, each of one photograph alone."""

import numpy as np
import pytest
from fedpriv_studies import basis
from fedpriv_studies.photos import extract_seen
from support.photos import TINY, image, lay
from torch import nn

from fedpriv.data import arrays, photographs
from fedpriv.data.features import backbone
from fedpriv.data.photographs import Photos
from fedpriv.models.base import Features


class Means(nn.Module):
    """Mean levels of 64 tiles: a backbone that is quick."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Unflatten(1, (192, 1, 1)))

    def forward(self, x):
        return self.layers(x)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let the backbone be a quick one, and the synthetic photographs few."""

    def made() -> nn.Module:
        return nn.Sequential(Means(), nn.Identity(), nn.Identity())

    kind = backbone.BACKBONES["efficientnet_lite0"]._replace(width=192, made=made, empty=made)
    monkeypatch.setitem(backbone.BACKBONES, "efficientnet_lite0", kind)
    few = basis.fundus()
    monkeypatch.setitem(
        basis.BASES,
        "fundus_even",
        lambda: few._replace(images=few.images[:40], labels=few.labels[:40], same=("tiny",)),
    )


def made(listed, out, count=6) -> arrays.Arrays:
    source = Features(listed, "tiny", Photos(copies=3), threads=1)
    return arrays.load(extract_seen(source, "efficientnet_lite0", "fundus_even", count, out))


def test_features_are_bounded_of_one_photograph_alone_and_the_note_says_what_is_public(tiny, tmp_path):
    before = made(tiny, tmp_path / "before.npz")
    assert before.x_train.shape == (24, 6) and before.x_test.shape == (4, 6)
    norms = np.linalg.norm(before.x_train.astype(np.float64), axis=1)
    assert 0.99 * basis.LARGEST < norms.max() <= basis.LARGEST
    assert "first 6 principal directions of 500 synthetic fundus photographs, equally many" in before.note
    assert "on public data alone, ε = 0," in before.note and "standardised" not in before.note
    folder = lay(tiny.parent / "raw")
    for number in range(6, 12):
        image(100 + number).save(folder / f"train_images/p{number}.png")
    photographs.write_manifest(TINY, [], tiny)
    after = made(tiny, tmp_path / "after.npz")
    same = [np.array_equal(*rows) for rows in zip(before.x_train, after.x_train, strict=True)]
    assert same == [True] * 6 + [False] * 18  # p4 and p5, with three copies each


def test_alone_the_public_photographs_are_what_is_trained_on_and_no_private_one_is_read(tiny, tmp_path):
    source = Features(tiny, "tiny", Photos(copies=3), alone=True, threads=1)
    how = "efficientnet_lite0", "fundus_even", 6, tmp_path / "alone.npz"
    alone = arrays.load(extract_seen(source, *how))
    assert len(alone.x_train) == 40 and np.array_equal(alone.y_train, basis.BASES["fundus_even"]().labels)
    assert np.array_equal(alone.x_test, made(tiny, tmp_path / "made.npz").x_test)
