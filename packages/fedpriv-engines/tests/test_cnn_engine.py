"""The engine of gradients in C computes what PyTorch computes in float64, for each example and for all."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cnn_oracle
import pytest
import torch
from fedpriv_engines import native
from fedpriv_engines.native import gradients
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedpriv.local.threads import Gradients
from fedpriv.models.nets import Cnn

pytestmark = pytest.mark.skipif(not native.available("cnn5"), reason=native.why_not("cnn5"))


def engine_of(model: Cnn, classes: int) -> gradients.CompiledGradients:
    """Return the engine that a model names."""
    _, *told = model.gradient_engine(classes)
    return gradients.cnn_engine(*told)


MODEL = Cnn(widths=(8, 16), activation="tanh")
MODELS = st.builds(
    Cnn,
    widths=st.lists(st.integers(1, 9), min_size=2, max_size=5).map(tuple),
    kernel=st.sampled_from([3, 5]),
    activation=st.sampled_from(["tanh", "relu"]),
)


def distance(found: torch.Tensor, true: torch.Tensor) -> float:
    return float((found.double() - true).norm() / true.norm().clamp(min=1e-9))


def gradient(model: Cnn, classes: int, images, labels, weights, **options) -> Gradients:
    rows = torch.arange(len(images))
    return engine_of(model, classes).gradient(images, labels, rows, weights, **options)


@settings(deadline=None, max_examples=25)
@given(model=MODELS, classes=st.integers(1, 12), n=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_gradients_equal_those_of_pytorch_in_float64(model: Cnn, classes: int, n: int, seed: int) -> None:
    images, labels, weights = cnn_oracle.example(model, classes, n, seed)
    assume(cnn_oracle.narrowest(model, classes, images, weights) > 1e-6)
    true, losses = cnn_oracle.gradients(model, classes, images, labels, weights)
    found = gradient(model, classes, images, labels, weights, samples=5)
    assert distance(found.total, true.sum(0)) < 1e-5
    assert all(distance(row, exact) < 1e-5 for row, exact in zip(found.sampled, true, strict=False))
    assert found.loss == pytest.approx(sum(losses), rel=1e-5)
    assert found.clipped == 0
    exact = cnn_oracle.logits(model, classes, images, weights.double())
    assert distance(engine_of(model, classes).logits(images, weights), exact) < 1e-5


@settings(deadline=None, max_examples=15)
@given(model=MODELS, n=st.integers(1, 20), seed=st.integers(0, 10**6), part=st.floats(0.05, 2.0))
def test_every_gradient_is_brought_inside_the_ball_before_it_counts(
    model: Cnn, n: int, seed: int, part: float
) -> None:
    images, labels, weights = cnn_oracle.example(model, 10, n, seed)
    assume(cnn_oracle.narrowest(model, 10, images, weights) > 1e-6)
    true, _ = cnn_oracle.gradients(model, 10, images, labels, weights)
    norms = true.norm(dim=1)
    clip = part * float(norms.median())
    assume(float((norms / clip - 1).abs().min()) > 1e-5)
    found = gradient(model, 10, images, labels, weights, clip=clip, samples=n)
    bounded = true * (clip / norms.clamp(min=clip))[:, None]
    assert distance(found.total, bounded.sum(0)) < 1e-5
    assert distance(found.sampled, bounded) < 1e-5
    assert float(found.sampled.double().norm(dim=1).max()) <= clip
    assert found.clipped == int((norms > clip).sum())


@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_an_example_has_the_same_bits_in_any_lane_and_company(clip):
    images, labels, weights = cnn_oracle.example(MODEL, 10, 50)
    engine = engine_of(MODEL, 10)
    together = engine.gradient(images, labels, torch.arange(50), weights, clip, 50)
    for row in (0, 7, 31, 49):
        alone = engine.gradient(images, labels, torch.tensor([row]), weights, clip, 1)
        assert torch.equal(alone.sampled[0], together.sampled[row])


def test_threads_at_work_together_find_the_bits_that_one_finds_alone():
    images, labels, weights = cnn_oracle.example(MODEL, 10, 90)

    def work(start: int) -> torch.Tensor:
        rows = torch.arange(start, 90)
        return engine_of(MODEL, 10).gradient(images, labels, rows, weights, samples=3).total

    alone = [work(start) for start in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(12)))
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


def test_a_gradient_that_is_not_finite_counts_as_zero_where_it_is_clipped_and_shows_where_it_is_not():
    images, labels, weights = cnn_oracle.example(MODEL, 10, 3)
    weights[5] = float("nan")
    assert not gradient(MODEL, 10, images, labels, weights).total.isfinite().all()
    found = gradient(MODEL, 10, images, labels, weights, clip=1.0, samples=2)
    assert not found.total.any() and not found.sampled.any() and found.clipped == 0


NARROWER = """
import sys, torch
import cnn_oracle
from fedpriv.models.nets import Cnn
from fedpriv_engines.native.gradients import cnn_engine
model = Cnn(widths=(5, 6, 7))
images, labels, weights = cnn_oracle.example(model, 10, 21)
found = cnn_engine(*model.gradient_engine(10)[1:]).gradient(images, labels, torch.arange(21), weights, 0.3, 9)
torch.save([found.total, found.sampled], sys.argv[1])
"""


@pytest.mark.skipif("avx" not in native._cpu(), reason="this processor has no wider vectors to leave out")
def test_narrower_vectors_find_the_same_to_rounding(tmp_path):
    model = Cnn(widths=(5, 6, 7))
    wide = gradient(model, 10, *cnn_oracle.example(model, 10, 21), clip=0.3, samples=9)
    compiler = os.environ.get("CC") or "cc"
    environment = os.environ | {
        "CC": f"{compiler} -mno-avx",
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(native.__file__).parents[2])]),
    }
    subprocess.run([sys.executable, "-c", NARROWER, str(tmp_path / "found")], env=environment, check=True)
    narrow = torch.load(tmp_path / "found")
    assert distance(narrow[0], wide.total.double()) < 1e-5
    assert distance(narrow[1], wide.sampled.double()) < 1e-5


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("inputs", {"inputs": torch.zeros(4, 28, 27, dtype=torch.uint8)}),
        ("labels", {"labels": torch.zeros(3, dtype=torch.int64)}),
        ("labels", {"labels": torch.full((4,), 10)}),
        ("rows", {"rows": torch.tensor([0, 4])}),
        ("weights", {"weights": torch.zeros(MODEL.size(10), requires_grad=True)}),
    ],
)
def test_what_the_engine_would_misread_is_refused_by_name(name, change):
    images, labels, weights = cnn_oracle.example(MODEL, 10, 4)
    right = {"inputs": images, "labels": labels, "rows": torch.arange(4), "weights": weights}
    with pytest.raises(ValueError, match=f"^{name}: found .*, allowed "):
        engine_of(MODEL, 10).gradient(**(right | change))
    with pytest.raises(ValueError, match=r"^widths: found .*, allowed "):
        gradients.cnn_engine((8, 0, 10), 5, "tanh")
