import re

import pytest
import torch
from torch.nn import functional as F

from fedpriv.data.features import backbone
from fedpriv.data.source import SourceError


def pixels(n=16, side=32, seed=0):
    return torch.randint(0, 256, (n, 3, side, side), generator=torch.Generator().manual_seed(seed)).byte()


@pytest.fixture(scope="module")
def calibrated():
    network = backbone.random()
    backbone.calibrate(network, [backbone.statistics(network, pixels(seed=seed)) for seed in range(2)])
    return network.eval()


def test_a_random_backbone_is_always_the_same_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    first, second = (backbone.random().state_dict() for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_statistics_are_those_of_the_activations():
    network = backbone.random()
    first = F.conv2d(backbone.network_inputs(pixels()), network.conv1.weight, stride=2, padding=3)
    mean, variance = backbone.statistics(network, pixels())[0]
    assert torch.allclose(mean, first.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(variance, first.var((0, 2, 3)), rtol=1e-4)


def test_calibration_makes_features_that_tell_images_apart(calibrated):
    def spread(network):
        with torch.no_grad():
            features = network(backbone.network_inputs(pixels()))
        return features.std(0) / features.mean(0).clamp(min=1e-6)

    assert spread(backbone.random().eval()).median() < 0.2  # nearly the same for every image
    assert spread(calibrated).quantile(0.05) > 0.5


def test_folding_batchnorm_into_the_convolutions_changes_nothing(calibrated):
    x = backbone.network_inputs(pixels(4))
    with torch.no_grad():
        before = calibrated(x)
        folded = backbone.fold_batch_norm(backbone.load_network(calibrated.state_dict()))
        assert not any(isinstance(layer, torch.nn.BatchNorm2d) for layer in folded.modules())
        assert torch.allclose(folded(x), before, rtol=1e-3, atol=1e-3)


def test_an_extractor_gives_the_pooled_features(calibrated):
    with torch.no_grad():
        expected = calibrated(backbone.network_inputs(pixels(4)))
    network = backbone.load_network(calibrated.state_dict())
    made = backbone.Extractor(backbone.BACKBONES["random"], network, torch.device("cpu"), torch.float32)(
        pixels(4)
    )
    assert made.shape == (4, backbone.WIDTH) and made.dtype == torch.float16
    assert torch.allclose(made.float(), expected, rtol=5e-3, atol=5e-3)


def test_pixels_are_normalised_as_the_weights_expect():
    transform = backbone.WEIGHTS.transforms()
    assert (tuple(transform.mean), tuple(transform.std)) == (backbone.MEAN, backbone.STD)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    return tmp_path / "checkpoints" / "resnet50-11ad3fa6.pth"


def test_a_file_with_other_weights_is_refused_by_its_hash(hub):
    hub.parent.mkdir()
    hub.write_bytes(b"other weights")
    with pytest.raises(SourceError, match=re.escape(f"{hub}: found sha256")):
        backbone.imagenet()
