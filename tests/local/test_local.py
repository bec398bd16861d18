"""Both ways of working through a stack of clients compute the same function as a plain loop."""

import numpy as np
import pytest
import torch
from support.backends import every_backend, without_kernels
from torch.nn import functional as F

from fedpriv.local.client import Client, Task, batches
from fedpriv.local.work import FedAvg, FedSGD, Speed
from fedpriv.mechanisms.sampling import poisson_batch
from fedpriv.models import MODELS
from fedpriv.models.base import initial_weights, unflatten
from fedpriv.models.module import Module
from fedpriv.models.nets import Cnn, Mlp, Resnet50Head

CLASSES = 10
WORK = {
    "fedsgd": FedSGD(),
    "fedsgd_batch": FedSGD(batch_size=4),
    "fedavg_sgd": FedAvg(epochs=2, batch_size=4, learning_rate=0.05),
    "fedavg_momentum": FedAvg(steps=5, batch_size=4, learning_rate=0.05, momentum=0.9),
    "fedavg_adam": FedAvg(
        steps=3, batch_size=4, learning_rate=0.01, optimizer="adam", adam_betas=(0.5, 0.99)
    ),
    "fedavg_proximal": FedAvg(steps=3, batch_size=4, learning_rate=0.05, proximal=0.5, clip_gradient=0.2),
}
MODEL = {
    "cnn": Cnn(widths=(4, 8, 16)),
    "cnn_tanh": Cnn(widths=(4, 8, 16), activation="tanh"),
    "cnn_3x3": Cnn(widths=(16, 16, 5), kernel=3, activation="tanh"),
    "mlp": Mlp(widths=(6, 5)),
    "resnet50_head": Resnet50Head(backbone="random"),
    "module": Module(module="support.own_nets:Good"),
}
# And those of fedpriv-studies where it is installed.
OF_PACKAGES = {name: {"directions": 17} for name in ("softmax", "photo_softmax")}
OF_PACKAGES |= {name: {} for name in ("scatter_linear", "scatter_cnn")}
MODEL |= {name: MODELS[name](name=name, **keys) for name, keys in OF_PACKAGES.items() if name in MODELS}


def test_every_model_is_covered_here():
    elsewhere = {"bnn", "convnet2"} | ({"binary_softmax"} & {*MODELS})  # tests of their own
    assert {model.name for model in MODEL.values()} | elsewhere == set(MODELS)


def task(model, examples=40):
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, (examples, 28, 28), dtype=np.uint8))
    labels = torch.from_numpy(rng.integers(0, CLASSES, examples))
    inputs = images
    if model.features:
        inputs = torch.from_numpy(0.05 * rng.standard_normal((examples, model.width))).half()
    return Task(model, CLASSES, inputs, labels)


def exactly(inputs):
    """Return inputs as a model reads them, float64."""
    return inputs[:, None].double() / 255 if inputs.dim() == 3 else inputs.double()


def clients(sizes=(6, 11, 1, 0, 9), examples=40):
    order = np.random.default_rng(1).permutation(examples).astype(np.int32)
    ends = np.cumsum(sizes)
    return [
        Client(order[end - size : end], np.random.default_rng(client))
        for client, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]


def by_hand(task, work, flat, client):
    """The oracle: torch's own modules' mathematics in float64, one client, one batch at a time."""

    def gradient(weights, rows):
        leaf = weights.clone().requires_grad_()
        logits = task.model.apply(unflatten(leaf, task.shapes), exactly(task.inputs[rows]))
        return torch.autograd.grad(F.cross_entropy(logits, task.labels[rows]), leaf)[0]

    flat = flat.double()
    rows = torch.from_numpy(client.rows).long()
    if not len(rows):
        return torch.zeros_like(flat)
    if isinstance(work, FedSGD):
        if work.batch_size:
            rows = rows[torch.from_numpy(poisson_batch(len(rows), work.batch_size, client.rng))]
            return (
                -gradient(flat, rows) * len(rows) / work.batch_size if len(rows) else torch.zeros_like(flat)
            )
        return -gradient(flat, rows)
    weights = torch.nn.Parameter(flat.clone())
    kind = {
        "sgd": lambda: torch.optim.SGD([weights], lr=work.learning_rate, momentum=work.momentum),
        "adam": lambda: torch.optim.Adam([weights], lr=work.learning_rate, betas=work.adam_betas),
    }
    optimizer = kind[work.optimizer]()
    for batch in batches(work, len(rows), client.rng):
        weights.grad = gradient(weights.detach(), rows[torch.from_numpy(batch)])
        weights.grad += work.proximal * (weights.detach() - flat)
        if work.clip_gradient:
            torch.nn.utils.clip_grad_norm_(weights, work.clip_gradient)
        optimizer.step()
    return weights.detach() - flat


@every_backend
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("model", MODEL.values(), ids=MODEL)
def test_a_backend_computes_what_a_plain_loop_computes(model, work, backend):
    here = task(model)
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    expected = torch.stack([by_hand(here, work, flat, client) for client in clients()])
    engine = backend(here, Speed(chunk=4, stack=2, threads=2))
    updates, losses, *_ = engine.train_clients(work, flat, clients())
    engine.close()
    assert updates.dtype == torch.float32
    assert (updates - expected).norm(dim=1) == pytest.approx(0, abs=1e-4 * float(expected.norm()))
    assert losses.shape == (5,)


@every_backend
def test_how_the_work_is_cut_changes_nothing_beyond_rounding(backend):
    here = task(MODEL["cnn"])
    flat = initial_weights(here.shapes, np.random.default_rng(0))

    def updates(speed):
        engine = backend(here, speed)
        found = engine.train_clients(FedSGD(), flat, clients()).updates
        engine.close()
        return found

    assert torch.allclose(updates(Speed()), updates(Speed(chunk=3, stack=4)), atol=1e-6)


def test_bfloat16_arithmetic_stays_close_and_returns_float32():
    here = task(MODEL["cnn"])
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    found = {}
    for dtype in ("float32", "bfloat16"):
        engine = without_kernels(here, Speed(dtype=dtype))  # which know float32 alone
        found[dtype] = engine.train_clients(FedSGD(), flat, clients((20,))).updates
        engine.close()
    exact, rough = found["float32"][0], found["bfloat16"][0]
    assert rough.dtype == torch.float32 and not torch.equal(rough, exact)
    assert float((rough - exact).norm() / exact.norm()) < 0.03


@every_backend
def test_nobody_in_the_round_gives_no_rows(backend):
    here = task(MODEL["cnn"])
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    engine = backend(here, Speed())
    updates, losses, *_ = engine.train_clients(FedSGD(), flat, [])
    engine.close()
    assert updates.shape == (0, len(flat))
    assert losses.shape == (0,)


@every_backend
def test_logits_do_not_depend_on_the_chunk(backend):
    here = task(MODEL["cnn"])
    flat = initial_weights(here.shapes, np.random.default_rng(0))
    engine = backend(here, Speed())
    whole = engine.logits(flat, here.inputs)
    parts = torch.cat([engine.logits(flat, part) for part in here.inputs.split(7)])
    engine.close()
    assert whole.shape == (40, CLASSES)
    assert torch.allclose(whole, parts, atol=1e-5)


def test_every_epoch_visits_every_example_once():
    plan = batches(FedAvg(epochs=3, batch_size=4), 10, np.random.default_rng(0))
    assert [len(batch) for batch in plan] == [4, 4, 2] * 3
    assert len(batches(FedAvg(epochs=3, steps=4, batch_size=4), 10, np.random.default_rng(0))) == 4
    for start in (0, 3, 6):
        assert sorted(np.concatenate(plan[start : start + 3])) == list(range(10))
