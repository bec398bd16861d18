"""Gradients clipped layer by layer are those that are made one by one and then clipped."""

import numpy as np
import pytest
import torch
from support.backends import without_kernels
from torch.nn import functional as F

from fedpriv.local import by_layer
from fedpriv.local.client import Client, Task
from fedpriv.local.threads import CpuBackend
from fedpriv.local.work import FedSGD, Speed
from fedpriv.mechanisms.clipping import clip
from fedpriv.mechanisms.private_gradient import PrivateGradient
from fedpriv.models.base import Model
from fedpriv.models.cnn import Cnn
from fedpriv.models.module import Module
from fedpriv.models.scattered import ScatterCnn
from fedpriv.streams import Noise

CLASSES, EXAMPLES = 10, 23
KNOWN: dict[str, Model] = {
    "scatter_cnn": ScatterCnn(),
    "cnn": Cnn(widths=(4, 8, 16)),
}


def task(model: Model) -> Task:
    rng = np.random.default_rng(0)
    labels = torch.from_numpy(rng.integers(0, CLASSES, EXAMPLES))
    if model.width:
        return Task(
            model, CLASSES, torch.from_numpy(rng.standard_normal((EXAMPLES, model.width))).half(), labels
        )
    images = rng.integers(0, 256, (EXAMPLES, 28, 28), dtype=np.uint8)
    return Task(model, CLASSES, torch.from_numpy(images), labels)


def weights(task: Task) -> torch.Tensor:
    return task.model.initial(CLASSES, task.example, np.random.default_rng(1))


def one_by_one(task: Task, flat: torch.Tensor, l2: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of clipped gradients and the norms before, from gradients that are made."""
    backend = CpuBackend(task, Speed(threads=1))
    rows, _ = backend._per_example(flat, torch.arange(EXAMPLES))
    backend.close()
    return clip(rows, l2)[0].updates.double().sum(0), rows.double().norm(dim=1)


@pytest.mark.parametrize("model", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("part", [0.3, 1.0, 100.0])
def test_the_sum_is_that_of_gradients_made_one_by_one_and_clipped(model, part):
    here = task(model)
    flat = weights(here)
    _, norms = one_by_one(here, flat, 1.0)
    l2 = part * float(norms.median())
    expected, _ = one_by_one(here, flat, l2)
    assert by_layer.knows(here)
    found = by_layer.clipped(here, flat, torch.arange(EXAMPLES), l2)
    assert float((found.total - expected).norm()) < 1e-4 * float(expected.norm())
    assert found.clipped == pytest.approx(int((norms > l2).sum()), abs=part == 1.0)  # one is at the median
    assert found.sampled.shape == (0, len(flat))


@pytest.mark.parametrize("model", KNOWN.values(), ids=KNOWN)
def test_no_example_counts_for_more_than_the_bound(model):
    here = task(model)
    flat = weights(here)
    for row in range(EXAMPLES):
        alone = by_layer.clipped(here, flat, torch.tensor([row]), 0.01)
        assert float(alone.total.double().norm()) <= 0.01


@pytest.mark.parametrize("model", KNOWN.values(), ids=KNOWN)
def test_a_backend_without_an_engine_clips_by_layer_where_nothing_is_sampled(model):
    here = task(model)
    flat = weights(here)
    backend = without_kernels(here, Speed(threads=1, chunk=7))
    assert backend.by_layer and "by layer" in backend.name

    def clean(samples: int) -> torch.Tensor:
        client = Client(np.arange(EXAMPLES), np.random.default_rng(0), Noise(np.random.default_rng(0)))
        how = PrivateGradient(20, 0.05, 0.05, 1.0, samples)
        return backend.train_clients(FedSGD(batch_size=20), flat, [client], how).clean[0]

    one_by_one = clean(3)
    assert float((clean(0) - one_by_one).norm()) < 1e-4 * float(one_by_one.norm())
    backend.close()


def test_an_example_without_finite_gradient_counts_as_zero():
    here = task(ScatterCnn())
    here.inputs[3] = float("inf")
    flat = weights(here)
    found = by_layer.clipped(here, flat, torch.arange(EXAMPLES), 0.1)
    others = by_layer.clipped(here, flat, torch.arange(EXAMPLES)[torch.arange(EXAMPLES) != 3], 0.1)
    assert found.total.isfinite().all()
    assert torch.allclose(found.total, others.total, atol=1e-5)


class Twice(ScatterCnn):
    """A model that uses one layer's weights in another way as well."""

    def apply(self, params, x):
        return super().apply(params, x) + params["dense2.bias"].square()


class Shared(ScatterCnn):
    """A model that uses one layer twice."""

    def apply(self, params, x):
        layer = params["dense2.weight"], params["dense2.bias"]
        return super().apply(params, x) + F.linear(torch.ones(len(x), 32), *layer)


class Unused(ScatterCnn):
    """A model that leaves a layer out."""

    def apply(self, params, x):
        return F.linear(x.float()[:, :32], params["dense2.weight"], params["dense2.bias"])


class InPlace(ScatterCnn):
    """A model that changes in place what a layer gave."""

    def apply(self, params, x):
        x = F.linear(x.float()[:, :512], params["dense1.weight"], params["dense1.bias"]).relu_()
        return F.linear(x, params["dense2.weight"], params["dense2.bias"])

    def shapes(self, classes, example=()):
        return {name: one for name, one in super().shapes(classes).items() if name.startswith("dense")}


OTHERS = [
    Twice(),
    Shared(),
    Unused(),
    InPlace(),
    Module(module="support.own_nets:Good"),
]  # the last has a GroupNorm


@pytest.mark.parametrize("model", OTHERS, ids=lambda one: type(one).__name__)
def test_other_uses_of_parameters_are_not_taken_for_layers(model):
    assert not by_layer.knows(task(model))
