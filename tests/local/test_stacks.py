"""A GPU whose memory is too small for a stack of clients works on fewer at once, to the same result."""

import numpy as np
import pytest
import torch
from test_local import MODEL, clients, task

from fedpriv.local.stacks import GpuBackend
from fedpriv.local.work import FedAvg, FedSGD, Speed
from fedpriv.mechanisms.private_gradient import PrivateGradient
from fedpriv.models.base import initial_weights
from fedpriv.streams import Noise

WORK = {"fedsgd": FedSGD(batch_size=4), "fedavg": FedAvg(steps=3, batch_size=4, learning_rate=0.05)}
PRIVATE = PrivateGradient(batch_size=4, clip_l2=0.5, example_clip_l2=None, noise_multiplier=1.0, samples=2)


class Small(GpuBackend):
    """GpuBackend on a device whose memory holds two clients; fails after drawing their batches."""

    holds = 2

    def _gather(self, rows, denominator=None):
        found = super()._gather(rows, denominator)
        if len(rows) > self.holds:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return found


def members():
    return [
        client._replace(noise=Noise(np.random.default_rng(number)))
        for number, client in enumerate(clients(sizes=(6, 11, 5, 7, 9)))
    ]


@pytest.mark.parametrize("how", [None, PRIVATE], ids=["plain", "private"])
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_a_stack_that_does_not_fit_is_halved_and_draws_the_same(work, how):
    here = task(MODEL["cnn"])
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    large, small = GpuBackend(here, Speed(stack=5)), Small(here, Speed(stack=5))
    wanted, found = (engine.train_clients(work, flat, members(), how) for engine in (large, small))
    assert small.stack == 2
    assert torch.allclose(wanted.updates, found.updates, atol=1e-6)
    for name, values in wanted.distances.items():
        assert np.allclose(values, found.distances[name], atol=1e-6, equal_nan=True)


def test_a_client_that_does_not_fit_alone_is_an_error():
    here = task(MODEL["cnn"])
    engine = Small(here, Speed(stack=4))
    engine.holds = 0
    with pytest.raises(torch.OutOfMemoryError):
        engine.train_clients(FedSGD(), initial_weights(here.shapes, np.random.default_rng(0)), clients())


def test_an_evaluation_that_does_not_fit_is_cut_up(monkeypatch):
    here = task(MODEL["cnn"])
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    engine = GpuBackend(here, Speed())
    wanted, forward = engine.logits(flat, here.inputs), engine._forward

    def too_large(flat, x):
        if len(x) > 7:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(flat, x)

    monkeypatch.setattr(engine, "_forward", too_large)
    assert torch.allclose(engine.logits(flat, here.inputs), wanted, atol=1e-6)
    assert engine.chunk <= 7


def test_what_is_called_float32_is_no_tf32():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    assert "float32 without TF32" in GpuBackend(task(MODEL["cnn"]), Speed()).name
    assert not torch.backends.cuda.matmul.allow_tf32 and not torch.backends.cudnn.allow_tf32
