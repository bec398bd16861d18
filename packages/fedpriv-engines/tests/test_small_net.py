"""The engine in C takes the steps that PyTorch takes in float64."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from fedpriv_engines import native
from fedpriv_engines.cpu import step_engine
from fedpriv_engines.native.steps import CLASSES, Adam, SmallNet, small_logits, train_small
from small_net_oracle import (
    FLOAT,
    NETS,
    NORMAL,
    binarised,
    example,
    reference,
    reference_gradient,
    reference_train,
    shapes,
)

from fedpriv.models.base import unflatten

if not native.available("small_net"):
    pytest.skip(native.why_not("small_net"), allow_module_level=True)

PLAIN = Adam(0.01)


def run(net: SmallNet, images, labels, batches, weights, how=PLAIN, start=None, uniforms=None):
    """Return the loss, the weights and both moments afterwards; what goes in stays as it is."""
    weights, first = weights.clone(), torch.zeros_like(weights)
    second = torch.zeros_like(weights)
    sizes = torch.tensor([len(batch) for batch in batches])
    loss = train_small(
        net, images, labels, torch.cat(batches), sizes, weights, first, second, 0, how, start, uniforms
    )
    return loss, weights, first, second


def errors(net: SmallNet, found, true) -> dict[str, float]:
    """Return the relative error of every tensor."""
    pairs = zip(unflatten(found, shapes(net)).items(), unflatten(true, shapes(net)).values(), strict=True)
    return {name: float((a - b).norm() / b.norm().clamp(min=1e-12)) for (name, a), b in pairs}


def same_bits(found, wanted) -> bool:
    return found[0] == wanted[0] and all(
        torch.equal(a, b) for a, b in zip(found[1:], wanted[1:], strict=True)
    )


@pytest.mark.parametrize("n", [1, 130])
@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
def test_gradients_and_running_statistics_are_those_of_pytorch_in_float64(net, n):
    images, labels, weights = example(net, n)
    loss, after, first, _ = run(net, images, labels, [torch.arange(n)], weights)
    true_loss, gradient, running = reference_gradient(net, weights.double(), images, labels)
    assert loss == pytest.approx(true_loss, rel=1e-5)
    for name, error in errors(net, 10 * first, gradient).items():
        assert error < 2e-5, (name, error)
    for name, view in unflatten(after, shapes(net)).items():
        if name in running:
            assert torch.allclose(view.double(), running[name], rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize(
    "how",
    [Adam(1e-3), Adam(1e-3, 0.8, 0.99, proximal=0.3), Adam(1e-3, proximal=0.3, clip=0.1)],
    ids=["plain", "proximal", "clipped"],
)
@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
def test_steps_are_those_of_adam_in_float64(net, how):
    images, labels, weights = example(net, 60)
    start = example(net, 1, seed=1)[2]
    batches = list(torch.randperm(60, generator=torch.Generator().manual_seed(0)).split(25))
    found = run(net, images, labels, batches, weights, how, start)
    true = reference_train(net, images, labels, batches, weights, how, start)
    assert found[0] == pytest.approx(true[0], rel=1e-4)
    for ours, theirs in zip(found[1:], true[1:], strict=True):
        for name, error in errors(net, ours, theirs).items():
            assert error < 1e-3, (name, error)


@pytest.mark.parametrize("net", [FLOAT, NORMAL])
def test_a_later_call_goes_on_from_the_moments_of_an_earlier_one(net):
    images, labels, weights = example(net, 40)
    batches = list(torch.arange(40).split(10))
    sizes = torch.tensor([10])
    moments = torch.zeros_like(weights), torch.zeros_like(weights)
    together = run(net, images, labels, batches, weights)
    loss = 0.0
    for step, batch in enumerate(batches):
        loss = train_small(net, images, labels, batch, sizes, weights, *moments, step, Adam(0.01))
    assert same_bits((loss, weights, *moments), together)


@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
def test_logits_are_those_of_pytorch_in_float64_with_running_statistics(net):
    images, _, weights = example(net, 130)
    true, _ = reference(net, binarised(net, weights.double()), images, False)
    found = small_logits(net, images, weights)
    assert found.shape == (130, net.classes) and found.dtype == torch.float32
    assert torch.allclose(found.double(), true, rtol=1e-5, atol=1e-5 * float(true.abs().max()))


@pytest.mark.parametrize("net", [NORMAL, NORMAL._replace(norm=False)])
def test_uniforms_decide_the_signs_of_every_step(net):
    images, labels, weights = example(net, 30)
    batches = [torch.arange(30), torch.arange(10)]
    uniforms = torch.rand(2, net.size, generator=torch.Generator().manual_seed(4))
    found = run(net, images, labels, batches, weights, Adam(1e-3), uniforms=uniforms)
    true = reference_train(net, images, labels, batches, weights, Adam(1e-3), weights, uniforms)
    assert found[0] == pytest.approx(true[0], rel=1e-4)
    for ours, theirs in zip(found[1:], true[1:], strict=True):
        assert max(errors(net, ours, theirs).values()) < 1e-3


@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
def test_threads_at_work_together_find_the_bits_that_one_finds_alone(net):
    def work(seed):
        images, labels, weights = example(net, 40, seed)
        return run(net, images, labels, list(torch.arange(40).split(17)), weights)

    alone = [work(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(4)))
    assert all(same_bits(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("threshold", [-1.0, 128 / 255, 1.0])
def test_a_pixel_at_the_threshold_is_bright(threshold):
    net = NORMAL._replace(threshold=threshold)
    images, _, weights = example(net, 4)
    images = torch.where(images < 128, images, 128)
    true, _ = reference(net, binarised(net, weights.double()), images, False)
    assert torch.allclose(small_logits(net, images, weights).double(), true, rtol=1e-4, atol=1e-4)


def arguments() -> dict:
    images, labels, weights = example(FLOAT, 8)
    rows, sizes = torch.arange(8), torch.tensor([4, 4])
    moments = {"first_moment": torch.zeros_like(weights), "second_moment": torch.zeros_like(weights)}
    flat = {"weights": weights, **moments, "steps_before": 0, "adam": Adam(0.01, proximal=0.1)}
    data = {"net": FLOAT, "images": images, "labels": labels, "rows": rows, "sizes": sizes}
    return {**data, **flat, "start": weights.clone(), "uniforms": None}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("images", {"images": torch.zeros(8, 27, 28, dtype=torch.uint8)}),
        ("labels", {"labels": torch.full((8,), 10)}),
        ("rows", {"rows": torch.arange(-1, 7)}),
        ("sizes", {"sizes": torch.tensor([4, 5])}),
        ("weights", {"weights": torch.zeros(3)}),
        ("weights", {"weights": torch.zeros(FLOAT.size, requires_grad=True)}),
        ("second_moment", {"second_moment": torch.zeros(FLOAT.size + 1)}),
        ("start", {"start": None}),
        ("uniforms", {"uniforms": torch.zeros(1, FLOAT.size)}),
        ("steps_before", {"steps_before": -1}),
    ],
)
def test_what_c_would_misread_is_refused_by_name(name, changes):
    train_small(**arguments())
    with pytest.raises(ValueError, match=f"^{name}: found .*, allowed "):
        train_small(**{**arguments(), **changes})


def test_of_more_classes_than_c_has_room_for_there_is_no_engine():
    read = torch.uint8, (28, 28)
    assert step_engine(("small_net", 4, CLASSES), read)
    assert step_engine(("small_net", 4, CLASSES + 1), read) is None
