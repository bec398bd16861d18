"""EfficientNet-Lite0 is the network whose weights it has."""

import re

import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_images

from fedpriv.data import arrays
from fedpriv.data.features import backbone, extract
from fedpriv.data.photographs import Photos
from fedpriv.data.source import SourceError
from fedpriv.models.nets import WIDTHS

# What the network of the package efficientnet-lite-pytorch 0.1.0 makes of two photographs.
PLACES = [64, 164, 255, 475, 852, 1227]
FEATURES = [
    [0.450441, 1.633873, 1.786064, 1.406627, 2.126927, 1.237333],
    [3.499468, 3.292475, 2.687783, 2.233296, 1.569877, 1.218153],
]
SUMS = [226.6969, 214.4593]
KIND = backbone.BACKBONES["efficientnet_lite0"]


@pytest.fixture(scope="module")
def photographs():
    cut = [image[100:324, 200:424].copy() for image in load_sample_images().images]
    return torch.stack([torch.from_numpy(image).permute(2, 0, 1) for image in cut])


def test_its_features_of_photographs_are_those_of_the_packages_own_network(photographs):
    with torch.no_grad():
        found = backbone.lite_imagenet().eval()(backbone.network_inputs(photographs, KIND.mean, KIND.std))
    assert torch.allclose(found[:, PLACES], torch.tensor(FEATURES), rtol=0, atol=1e-5)
    assert torch.allclose(found.sum(1), torch.tensor(SUMS), rtol=0, atol=1e-3)


def test_an_extractor_gives_the_same_features_in_half_precision(photographs):
    with torch.no_grad():
        expected = backbone.lite_imagenet().eval()(backbone.network_inputs(photographs, KIND.mean, KIND.std))
    made = backbone.Extractor(KIND, KIND.made(), torch.device("cpu"), torch.float32)(photographs)
    assert made.shape == (2, KIND.width) and made.dtype == torch.float16
    assert torch.allclose(made.float(), expected, rtol=1e-3, atol=1e-3)


def test_a_head_is_as_wide_as_the_features_of_its_backbone():
    assert {name: kind.width for name, kind in backbone.BACKBONES.items()} == WIDTHS


def test_its_features_name_it_and_are_the_same_however_many_threads(tiny, tmp_path):
    def made(threads):
        out = tmp_path / f"{threads}.npz"
        return arrays.load(
            extract.extract(tiny, Photos(copies=2), "efficientnet_lite0", out, threads=threads, size=3)
        )

    one, other = made(1), made(2)
    assert np.array_equal(one.x_train, other.x_train) and one.x_train.shape == (16, KIND.width)
    assert np.abs(one.x_train).max() <= np.float16(4 * 3 / KIND.width**0.5)
    assert one.note.startswith("EfficientNet-Lite0 features of 32x32 pixels, backbone efficientnet_lite0, ")
    assert ", standardised and cut at 3 spreads; " in one.note


def test_other_weights_are_refused_by_their_hash(tmp_path, monkeypatch):
    package = tmp_path / backbone.PACKAGE
    (package / backbone.FILE).parent.mkdir(parents=True)
    (package / backbone.FILE).write_bytes(b"other weights")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SourceError, match=re.escape(f"{package / backbone.FILE}: found sha256")):
        backbone.lite_imagenet()
