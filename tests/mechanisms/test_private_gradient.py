"""Private gradients: all backends against a loop in float64, and their definition."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.backends import every_backend
from torch.nn import functional as F

from fedpriv.errors import BadInput
from fedpriv.local.client import Client, Task
from fedpriv.local.work import FedAvg, FedSGD, Speed
from fedpriv.mechanisms.gaussian import leave_one_out
from fedpriv.mechanisms.private_gradient import PrivateGradient, privatise
from fedpriv.mechanisms.sampling import poisson_batch
from fedpriv.models.base import initial_weights, unflatten
from fedpriv.models.nets import Cnn
from fedpriv.streams import Noise

B, C, SIZES = 6, 0.8, (12, 20, 9)
MODEL = Cnn(widths=(3, 4, 5), activation="tanh")
FLAT = initial_weights(MODEL.shapes(10), np.random.default_rng(0))


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, (sum(SIZES), 28, 28), dtype=np.uint8))
    return Task(MODEL, 10, images, torch.from_numpy(rng.integers(0, 10, sum(SIZES))))


def clients():
    ends = np.cumsum(SIZES)
    return [
        Client(
            np.arange(end - size, end),
            np.random.default_rng(end),
            Noise(np.random.default_rng(int(end))),
        )
        for size, end in zip(SIZES, ends, strict=True)
    ]


def examples_gradients(task, rows):
    """Return the gradient of every example alone, float64 `[n, d]`."""
    found = []
    for row in rows:
        leaf = FLAT.double().requires_grad_()
        logits = MODEL.apply(unflatten(leaf, task.shapes), task.inputs[row][None, None].double() / 255)
        found.append(torch.autograd.grad(F.cross_entropy(logits, task.labels[row][None]), leaf)[0])
    return torch.stack(found)


def projected(vector, l2):
    return vector * min(1.0, l2 / float(vector.norm()))


@every_backend
@pytest.mark.parametrize("example", [None, C, 100.0])
@pytest.mark.parametrize("clip_l2", [0.3, C, 100.0])
def test_a_backend_computes_the_private_gradient_of_a_plain_loop(task, backend, example, clip_l2):
    how = PrivateGradient(B, clip_l2, example, noise_multiplier=0.5, samples=4)
    engine = backend(task, Speed(chunk=5, stack=2, threads=2))
    done = engine.train_clients(FedSGD(batch_size=B), FLAT, clients(), how)
    engine.close()
    for place, client in enumerate(clients()):
        rows = client.rows[poisson_batch(len(client.rows), B, client.rng)]
        each = examples_gradients(task, rows)
        if example:
            share = float((each.norm(dim=1) > example).double().mean()) if len(each) else 0.0
            assert float(done.share_clipped[place, 0]) == pytest.approx(share)
            each = torch.stack([projected(one, example) for one in each])
        mean = each.sum(0) / B
        noise = torch.from_numpy(client.noise.generator.standard_normal(len(FLAT), dtype=np.float32))
        clean = projected(mean, clip_l2)
        assert torch.allclose(-done.clean[place].double(), clean, atol=1e-5)
        expected = done.clean[place] - how.noise_std * noise
        assert torch.allclose(done.updates[place], expected, atol=1e-6)
        away = [projected(mean - one / B, clip_l2) for one in each[:4]]
        removed = [float((clean - there).norm()) for there in away]
        measured = done.distances["remove_sum"][0, place]
        assert measured[: len(removed)] == pytest.approx(removed, abs=2e-5)
        assert np.isnan(measured[len(removed) :]).all()


@every_backend
def test_fedavg_takes_as_many_private_steps_as_it_is_told(task, backend):
    how = PrivateGradient(B, C, None, noise_multiplier=0.5, samples=3)
    work = FedAvg(steps=4, batch_size=B, learning_rate=0.1)
    engine = backend(task, Speed())
    done = engine.train_clients(work, FLAT, clients(), how)
    engine.close()
    assert {name: array.shape for name, array in done.distances.items()} == {
        "remove_sum": (4, 3, 3),
        "remove_mean": (4, 3, 3),
    }
    # Four steps of noise of std 0.5 C at rate 0.1, and gradients of norm at most C.
    noise = 0.1 * how.noise_std * math.sqrt(4 * len(FLAT))
    assert done.updates.norm(dim=1).tolist() == pytest.approx([noise] * 3, rel=0.1)


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3), l2=st.floats(1e-2, 1e2))
def test_no_neighbour_of_a_clipped_mean_is_further_away_than_the_ball_is_wide(seed, scale, l2):
    rows = scale * torch.randn(6, 9, generator=torch.Generator().manual_seed(seed))
    found = leave_one_out(rows.sum(0), rows, 6 / 5, l2)
    free = leave_one_out(rows.sum(0), rows, 6 / 5, math.inf)
    for name, values in found.items():
        assert (values <= 2 * l2 * (1 + 1e-5)).all()
        assert (values <= free[name] * (1 + 1e-4) + 1e-6).all()


def test_the_leave_one_out_distances_are_their_definitions():
    rows = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    found = leave_one_out(rows.sum(0), rows, 5 / 4, math.inf)
    assert found["remove_sum"].tolist() == pytest.approx(rows.norm(dim=1).tolist())
    means = [rows[torch.arange(5) != i].mean(0) for i in range(5)]
    moved = [5 * float((rows.mean(0) - mean).norm()) for mean in means]
    assert found["remove_mean"].tolist() == pytest.approx(moved)


def test_the_noise_has_the_stated_std_on_every_coordinate():
    how = PrivateGradient(10, 5.0, 2.0, noise_multiplier=3.0, samples=0)
    assert how.noise_std == pytest.approx(0.6)
    zero = torch.zeros(200_000)
    found = privatise(how, zero, zero[None, :0], 0, 0.0, Noise(np.random.default_rng(0)))
    assert float(found.noisy.std()) == pytest.approx(0.6, rel=0.01)  # standard error 0.16 %
    assert not found.clean.any()


def test_an_example_joins_a_batch_with_the_stated_rate_whatever_the_others_do():
    rng = np.random.default_rng(0)
    joined = np.zeros(20)
    for _ in range(4000):
        batch = poisson_batch(20, 5, rng)
        assert len(set(batch)) == len(batch)
        joined[batch] += 1
    assert joined / 4000 == pytest.approx(0.25, abs=0.03)  # standard error 0.7 %


def test_a_batch_larger_than_a_client_is_one_line_that_names_it():
    how = PrivateGradient(10, 1.0, None, 1.0, 0)
    with pytest.raises(
        BadInput, match=r"local\.batch_size: found 10, allowed: at most 9, the examples of client 2"
    ):
        how.facts(FedSGD(batch_size=10).noisy_steps, np.array([12, 20, 9]))
