"""The linear head in C computes what PyTorch computes in float64, for each example and for all."""

from __future__ import annotations

import pytest
import torch
from fedpriv_engines import native
from fedpriv_engines.native import gradients as head
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

pytestmark = pytest.mark.skipif(not native.available("head"), reason=native.why_not("head"))


def example(features: int, classes: int, n: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    inputs = (torch.randn(n, features, generator=generator) / features**0.5).half()
    labels = torch.randint(0, classes, (n,), generator=generator)
    return inputs, labels, torch.randn((features + 1) * classes, generator=generator)


def gradients(features: int, classes: int, inputs, labels, weights, constant: float = 1.0):
    """Return the gradient of every example `[n, d]` and the sum of the losses, float64."""
    x = torch.cat([inputs.double(), torch.full((len(inputs), 1), constant)], dim=1)
    matrix = torch.cat([weights[:-classes].view(classes, features), weights[-classes:, None]], dim=1).double()
    logits = x @ matrix.T
    errors = logits.softmax(1) - F.one_hot(labels, classes)
    products = errors[:, :, None] * x[:, None]
    rows = torch.cat([products[:, :, :-1].flatten(1), products[:, :, -1]], dim=1)
    return rows, float(F.cross_entropy(logits, labels, reduction="sum")), logits


@settings(deadline=None, max_examples=40)
@given(
    features=st.integers(1, 70),
    classes=st.integers(1, 12),
    n=st.integers(1, 20),
    seed=st.integers(0, 10**6),
    part=st.sampled_from([None, 0.1, 0.9, 3.0]),
    constant=st.sampled_from([1.0, 0.2]),
)
def test_gradients_equal_those_of_pytorch_in_float64(features, classes, n, seed, part, constant):
    inputs, labels, weights = example(features, classes, n, seed)
    true, loss, logits = gradients(features, classes, inputs, labels, weights, constant)
    norms = true.norm(dim=1)
    clip = 0.0 if part is None else max(part * float(norms.median()), 1e-3)
    bounded = true if part is None else true * (clip / norms.clamp(min=clip))[:, None]
    engine = head.head_engine(features, classes, constant)
    found = engine.gradient(inputs, labels, torch.arange(n), weights, clip, 7)
    scale = float(norms.sum()) + 1e-3
    assert float((found.total - bounded.sum(0)).norm()) < 1e-5 * scale
    assert float((found.sampled - bounded[:7]).norm()) < 1e-5 * scale
    assert found.sampled.shape == (min(n, 7), len(weights))
    assert part is None or float(found.sampled.double().norm(dim=1).max()) <= clip
    assert found.clipped == (0 if part is None else pytest.approx(int((norms > clip).sum()), abs=0))
    assert found.loss == pytest.approx(loss, rel=1e-5, abs=1e-5)
    assert torch.allclose(engine.logits(inputs, weights).double(), logits, atol=1e-5)


def test_an_example_has_the_same_bits_in_any_company():
    inputs, labels, weights = example(2048, 5, 30, 0)
    engine = head.head_engine(2048, 5)
    together = engine.gradient(inputs, labels, torch.arange(30), weights, 0.1, 30)
    for row in (0, 6, 29):
        alone = engine.gradient(inputs, labels, torch.tensor([row]), weights, 0.1, 1)
        assert torch.equal(alone.sampled[0], together.sampled[row])


def test_features_of_another_precision_are_refused():
    inputs, labels, weights = example(3, 2, 4, 0)
    with pytest.raises(ValueError, match=r"^inputs: found .*, allowed "):
        head.head_engine(3, 2).gradient(inputs.float(), labels, torch.arange(4), weights)
