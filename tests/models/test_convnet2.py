"""FederatedScope's network: both backends against torch's own layers."""

import numpy as np
import torch
from support.backends import every_backend
from torch import nn
from torch.nn import functional as F

from fedpriv.local.client import Client, Task, batches
from fedpriv.local.threads import CpuBackend
from fedpriv.local.work import FedAvg, Speed
from fedpriv.models.base import initial_weights, layout, unflatten
from fedpriv.models.nets import ConvNet2

MODEL = ConvNet2(widths=(3, 4, 6), mean=0.3, std=0.4)
WORK = FedAvg(epochs=2, batch_size=5, learning_rate=0.05, proximal=0.3, clip_gradient=0.5)
SIZES = (10, 13)
LAYERS = {"conv1": 0, "norm1": 1, "conv2": 4, "norm2": 5, "dense1": 9, "dense2": 11}


def task():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (sum(SIZES), 28, 28), dtype=np.uint8)
    return Task(MODEL, 7, torch.from_numpy(images), torch.from_numpy(rng.integers(0, 7, len(images))))


def clients():
    ends = np.cumsum(SIZES)
    return [
        Client(np.arange(end - size, end), np.random.default_rng(size))
        for size, end in zip(SIZES, ends, strict=True)
    ]


def module(here, flat):
    """Return torch's network in float64 with the weights of `flat`, and its parameters by our names."""
    found = nn.Sequential(
        *(nn.Conv2d(1, 3, 5, padding=2), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(3, 4, 5, padding=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(4 * 49, 6), nn.ReLU(), nn.Linear(6, 7)),
    ).double()
    parts = {"mean": "running_mean", "variance": "running_var"}
    named = {}
    for name, value in unflatten(flat, here.shapes).items():
        layer, part = name.split(".")
        place = getattr(found[LAYERS[layer]], parts.get(part, part))
        place.data.copy_(value.view(place.shape))
        named[name] = place
    return found, named


def by_hand(here, flat, client):
    """The oracle: the change of the weights of one client."""
    net, named = module(here, flat)
    start = {name: place.detach().clone() for name, place in named.items()}
    learned = list(net.parameters())
    sent = [parameter.detach().clone() for parameter in learned]
    optimizer = torch.optim.SGD(learned, lr=WORK.learning_rate)
    for batch in batches(WORK, len(client.rows), client.rng):
        rows = client.rows[batch]
        x = (here.inputs[rows][:, None].double() / 255 - MODEL.mean) / MODEL.std
        loss = F.cross_entropy(net(x), here.labels[rows])
        pull = sum((one - old).square().sum() for one, old in zip(learned, sent, strict=True))
        optimizer.zero_grad()
        (loss + WORK.proximal / 2 * pull).backward()
        nn.utils.clip_grad_norm_(learned, WORK.clip_gradient)
        optimizer.step()
    return torch.cat([(named[name].detach() - start[name]).flatten() for name in here.shapes])


@every_backend
def test_a_backend_trains_it_as_torchs_layers_do(backend):
    here = task()
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    expected = torch.stack([by_hand(here, flat, client) for client in clients()])
    engine = backend(here, Speed(threads=2))
    found = engine.train_clients(WORK, flat, clients()).updates
    engine.close()
    assert float((found - expected).norm() / expected.norm()) < 1e-3


def test_it_is_evaluated_with_its_running_statistics():
    here = task()
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    flat += 0.1 * torch.rand(len(flat), generator=torch.Generator().manual_seed(1))
    net, _ = module(here, flat)
    x = (here.inputs[:, None].double() / 255 - MODEL.mean) / MODEL.std
    engine = CpuBackend(here, Speed(threads=1))
    assert torch.allclose(engine.logits(flat, here.inputs).double(), net.eval()(x), atol=1e-4)
    engine.close()


def test_only_the_running_statistics_are_in_the_clear():
    assert layout(MODEL, 7).clear == 2 * (3 + 4)
    bare = MODEL.model_copy(update={"bn": "none"})
    assert layout(bare, 7).clear == 0 and bare.size(7) == MODEL.size(7) - 4 * (3 + 4)
    assert ConvNet2().size(62) == layout(ConvNet2(), 62).protected + 2 * (32 + 64)
