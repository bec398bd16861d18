"""Models of a whole scattering are those of PyTorch's layers, and start as these do."""

import numpy as np
import pytest
import torch
from fedpriv_studies.heads import PATHS, SIDE, WIDTH, ScatterCnn, ScatterLinear
from torch import nn

from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.models.base import unflatten

LAYERS = {
    "scatter_linear": (ScatterLinear(), lambda: nn.Linear(WIDTH, 10)),
    "scatter_cnn": (
        ScatterCnn(),
        lambda: nn.Sequential(
            nn.Unflatten(1, (PATHS, SIDE, SIDE)),
            nn.Conv2d(PATHS, 16, 3, stride=2, padding=1),
            nn.Tanh(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(512, 32),
            nn.Tanh(),
            nn.Linear(32, 10),
        ),
    ),
}
RUN = {
    "dataset": "mnist",
    "model": {"name": "scatter_linear", "statistics_noise": 8},
    "partition": {"law": "iid", "clients": 1, "examples": 100},
    "cohort": "full",
    "scheme": {"name": "instance", "clip_l2": 0.1, "noise_multiplier": 1.0, "per_example_clip": True},
    "local": {"name": "fedsgd", "batch_size": 10},
}


@pytest.mark.parametrize(("model", "layers"), LAYERS.values(), ids=LAYERS)
def test_logits_are_those_of_torch(model, layers):
    network = layers()
    flat = torch.cat([one.detach().flatten() for one in network.parameters()])
    assert len(flat) == model.size(10)
    x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(0)).half()
    found = model.apply(unflatten(flat, model.shapes(10)), x)
    assert torch.allclose(found, network(x.float()), atol=1e-4)


@pytest.mark.parametrize(("model", "layers"), LAYERS.values(), ids=LAYERS)
def test_first_weights_are_spread_as_those_of_torch(model, layers):
    torch.manual_seed(0)
    found = unflatten(model.initial(10, (WIDTH,), np.random.default_rng(0)), model.shapes(10))
    for one, theirs in zip(found.values(), layers().parameters(), strict=True):
        assert one.shape == theirs.shape
        # The largest of n even draws lies within a few n-ths of the bound.
        assert float(one.abs().max()) == pytest.approx(
            float(theirs.detach().abs().max()), rel=8 / one.numel() ** 0.9
        )


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"partition": {"law": "iid", "clients": 2, "examples": 50}}, "2 clients"),
        ({"scheme": "none"}, "scheme instance and one client"),
        ({"secure_noise": True}, "secure_noise"),
    ],
)
def test_statistics_of_all_examples_are_one_clients_to_release(patch, words):
    assert parse(Run.model_validate, RUN, "run").model.statistics
    with pytest.raises(BadInput, match=f"model.statistics_noise: found .*{words}"):
        parse(Run.model_validate, RUN | patch, "run")
