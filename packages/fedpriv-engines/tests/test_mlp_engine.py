"""The network of dense layers is arithmetic of numpy; in C it takes the steps of PyTorch in float64."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from fedpriv_engines import native
from fedpriv_engines.native.steps import MlpNet, mlp_logits, train_mlp
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from fedpriv.models.base import initial_weights, unflatten
from fedpriv.models.nets import Mlp

in_c = pytest.mark.skipif(not native.available("mlp"), reason=native.why_not("mlp"))


def shapes_of(widths: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    units = (784, *widths)
    return {f"dense{layer}.weight": (units[layer], units[layer - 1]) for layer in range(1, len(units))}


def example(widths: tuple[int, ...], n: int, seed: int = 0, lit: float = 0.2):
    """Return images of which a share is `lit`, labels and weights."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(1, 256, (n, 28, 28), generator=generator)
    images *= torch.rand(n, 28, 28, generator=generator) < lit
    labels = torch.randint(0, widths[-1], (n,), generator=generator)
    shapes = shapes_of(widths)
    parts = [torch.randn(shape, generator=generator) / shape[1] ** 0.5 for shape in shapes.values()]
    return images.byte(), labels, torch.cat([part.flatten() for part in parts])


def true_logits(widths, images, weights):
    return Mlp().apply(unflatten(weights, shapes_of(widths)), images[:, None].double() / 255)


def reference(widths, images, labels, batches, weights, rate):
    """Return the loss on the last batch and the weights after steps of SGD, float64."""
    weights, loss = weights.double(), torch.tensor(0.0)
    for batch in batches:
        weights.requires_grad_()
        loss = F.cross_entropy(true_logits(widths, images[batch], weights), labels[batch])
        (gradient,) = torch.autograd.grad(loss, weights)
        weights = weights.detach() - rate * gradient
    return float(loss.detach()), weights


def run(widths, images, labels, batches, weights, rate):
    """Return the loss and the weights afterwards; what goes in stays as it is."""
    weights, sizes = weights.clone(), torch.tensor([len(batch) for batch in batches])
    return train_mlp(MlpNet(widths), images, labels, torch.cat(batches), sizes, weights, rate), weights


@in_c
@settings(deadline=None, max_examples=60)
@given(
    widths=st.lists(st.integers(1, 150), min_size=1, max_size=4).map(tuple),
    sizes=st.lists(st.integers(1, 70), min_size=1, max_size=3),
    lit=st.sampled_from([0.0, 0.2, 1.0]),
    rate=st.sampled_from([0.0, 0.05, 0.5]),
    seed=st.integers(0, 10**6),
)
def test_steps_and_logits_are_those_of_sgd_in_float64(widths, sizes, lit, rate, seed):
    images, labels, weights = example(widths, 40, seed, lit)
    generator = torch.Generator().manual_seed(seed)
    batches = [torch.randint(0, 40, (size,), generator=generator) for size in sizes]
    loss, after = run(widths, images, labels, batches, weights, rate)
    true_loss, true = reference(widths, images, labels, batches, weights, rate)
    assert loss == pytest.approx(true_loss, rel=1e-4, abs=1e-5)
    moved = float((true - weights).norm())
    assert float((after - true).norm()) < 1e-4 * moved + 1e-6 * float(weights.norm())
    found = mlp_logits(MlpNet(widths), images, after)
    assert torch.allclose(found.double(), true_logits(widths, images, true), atol=1e-3, rtol=1e-3)


@in_c
def test_any_thread_computes_the_same_bits():
    images, labels, weights = example((64, 30, 10), 60)
    batches = list(torch.arange(60).split(25))

    def once(_: int):
        return run((64, 30, 10), images, labels, batches, weights, 0.1)

    with ThreadPoolExecutor(8) as pool:
        (loss, after), *others = pool.map(once, range(16))
    assert all(other[0] == loss and torch.equal(other[1], after) for other in others)


@in_c
def test_what_is_not_a_number_is_seen_in_the_loss():
    images, labels, weights = example((5, 3), 10)
    weights[-1] = torch.nan
    loss, after = run((5, 3), images, labels, [torch.arange(10)], weights, 0.1)
    assert loss != loss and after.isnan().any()


@in_c
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("images", {"images": torch.zeros(4, 28, 27, dtype=torch.uint8)}),
        ("labels", {"labels": torch.tensor([0, 1, 2, 10])}),
        ("rows", {"rows": torch.tensor([-1, 1, 2, 3])}),
        ("sizes", {"sizes": torch.tensor([2, 1])}),
        ("weights", {"weights": torch.zeros(9)}),
        ("widths", {"net": MlpNet(())}),
    ],
)
def test_what_c_would_misread_is_refused_by_name(name, change):
    images, labels, weights = example((3, 10), 4)
    right = {"net": MlpNet((3, 10)), "images": images, "labels": labels, "rows": torch.arange(4)}
    right |= {"sizes": torch.tensor([2, 2]), "weights": weights, "rate": 0.1}
    assert train_mlp(**right) > 0
    with pytest.raises(ValueError, match=rf"^{name}: found .*, allowed (is|are) "):
        train_mlp(**right | change)


def test_by_default_it_is_the_network_of_the_released_code():
    shapes = Mlp().shapes(10)
    assert [*shapes.values()] == [(600, 784), (100, 600), (10, 100)]
    assert Mlp().size(10) == 784 * 600 + 600 * 100 + 100 * 10


def test_its_logits_are_those_of_matrices_with_relu_between_them():
    model, rng = Mlp(widths=(7, 5, 3)), np.random.default_rng(0)
    params = unflatten(initial_weights(model.shapes(4), rng), model.shapes(4))
    images = rng.random((6, 1, 28, 28), dtype=np.float32)
    found = images.reshape(6, 784).astype(float)
    for number, weight in enumerate(params.values()):
        found = (np.maximum(found, 0) if number else found) @ weight.double().numpy().T
    np.testing.assert_allclose(model.apply(params, torch.from_numpy(images)), found, rtol=1e-4, atol=1e-5)
