"""The native kernel computes what PyTorch computes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.nn import functional as F

from fedpriv.models import native


@pytest.fixture
def conv_pool():
    if not native.available():
        pytest.skip(native.why_not())
    from fedpriv.models.native.conv_pool import ConvPool

    return ConvPool.apply


def layer(seed: int, n: int, channels: int):
    """Return images, weight and bias of so few bits that float32 maps are exact and no maximum moves."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 256, (n, 1, 28, 28), generator=generator) / 256
    weight = (13 * torch.randn(channels, 1, 5, 5, generator=generator)).round() / 64
    bias = (6 * torch.randn(channels, generator=generator)).round() / 64
    return x, weight.requires_grad_(), bias.requires_grad_()


def unfused(x, weight, bias):
    return F.relu(F.max_pool2d(F.conv2d(x, weight, bias, padding=2), 2))


def test_without_the_relu_negative_maxima_stay_and_pass_their_gradient(conv_pool):
    inputs = layer(2, 5, 16)
    exact_inputs = doubled(*inputs)
    maps = conv_pool(*inputs, torch.float32, False)
    exact = F.max_pool2d(F.conv2d(*exact_inputs, padding=2), 2)
    assert (maps < 0).any()
    assert torch.equal(maps.double(), exact)
    found = gradients(maps, *inputs[1:], upstream(maps))
    true = gradients(exact, *exact_inputs[1:], upstream(maps))
    assert all(error(ours, theirs) < 2e-6 for ours, theirs in zip(found, true, strict=True))


def doubled(*tensors):
    return [tensor.detach().double().requires_grad_(tensor.requires_grad) for tensor in tensors]


def upstream(maps, dtype=torch.float32):
    """Return a gradient for `maps`, with the same values whatever computed the maps."""
    return torch.randn(maps.shape, generator=torch.Generator().manual_seed(7)).to(dtype)


def gradients(maps, weight, bias, gradient):
    return torch.autograd.grad(maps, (weight, bias), gradient.to(maps.dtype))


def error(found, true) -> float:
    return float((found.detach() - true.detach()).norm() / true.detach().norm())


def same_bits(found, wanted) -> bool:
    return all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("channels", [1, 3, 8, 16, 17, 24, 32, 64])
@pytest.mark.parametrize("n", [1, 5])
def test_maps_and_gradients_equal_those_of_pytorch_in_float64(conv_pool, n, channels):
    inputs = layer(channels, n, channels)
    exact_inputs = doubled(*inputs)
    maps, exact = conv_pool(*inputs), unfused(*exact_inputs)
    assert torch.equal(maps.double(), exact)
    found = gradients(maps, *inputs[1:], upstream(maps))
    true = gradients(exact, *exact_inputs[1:], upstream(maps))
    for ours, theirs in zip(found, true, strict=True):
        assert ours.dtype == torch.float32 and ours.shape == theirs.shape
        assert error(ours, theirs) < 2e-6


def test_maps_that_must_be_rounded_equal_those_of_pytorch_in_float64_to_rounding(conv_pool):
    x, weight, bias = layer(0, 5, 16)
    inputs = x / 3, weight / 3, bias / 3
    assert error(conv_pool(*inputs), unfused(*doubled(*inputs))) < 1e-6


def test_gradients_of_a_chunk_are_at_least_as_near_to_float64_as_those_of_pytorch(conv_pool):
    inputs = layer(0, 100, 16)
    exact_inputs = doubled(*inputs)
    maps, plain, exact = conv_pool(*inputs), unfused(*inputs), unfused(*exact_inputs)
    true = gradients(exact, *exact_inputs[1:], upstream(maps))
    ours = gradients(maps, *inputs[1:], upstream(maps))
    theirs = gradients(plain, *inputs[1:], upstream(maps))
    rounding = 4 * torch.finfo(torch.float32).eps
    for mine, other, best in zip(ours, theirs, true, strict=True):
        assert error(mine, best) <= max(error(other, best), rounding)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_maps_have_channels_last_strides_and_the_type_that_was_asked_for(conv_pool, dtype):
    maps = conv_pool(*layer(1, 2, 16), dtype)
    assert maps.dtype == dtype
    assert maps.stride() == torch.empty(2, 16, 14, 14, memory_format=torch.channels_last).stride()


@pytest.mark.parametrize("channels", [5, 8, 16])
def test_bfloat16_maps_are_the_float32_maps_rounded(conv_pool, channels):
    inputs = layer(2, 3, channels)
    assert torch.equal(conv_pool(*inputs, torch.bfloat16), conv_pool(*inputs).bfloat16())


@pytest.mark.parametrize("channels", [5, 8, 16])
def test_gradients_of_bfloat16_maps_lose_nothing_beyond_the_rounding_of_what_comes_in(conv_pool, channels):
    inputs = layer(3, 3, channels)
    full, half = conv_pool(*inputs), conv_pool(*inputs, torch.bfloat16)
    rounded = upstream(full, torch.bfloat16)
    assert same_bits(gradients(half, *inputs[1:], rounded), gradients(full, *inputs[1:], rounded))


def test_strides_of_the_incoming_gradient_do_not_matter(conv_pool):
    inputs = layer(4, 3, 16)
    maps = conv_pool(*inputs)
    ones = torch.ones(3, 16, 14, 14)
    strides = [ones, ones.contiguous(memory_format=torch.channels_last), torch.ones(()).expand_as(maps)]
    found = [torch.autograd.grad(maps, inputs[1:], one, retain_graph=True) for one in strides]
    assert same_bits(found[0], found[1]) and same_bits(found[0], found[2])


def test_at_a_tie_the_first_maximum_gets_the_gradient_as_in_pytorch(conv_pool):
    generator = torch.Generator().manual_seed(5)
    x = torch.randint(0, 2, (4, 1, 28, 28), generator=generator).float()
    weight = torch.zeros(16, 1, 5, 5)
    weight[:, :, 2, 2] = 1.0  # maps are pixels of two values: most pools hold a tie, and neighbours differ
    weight.requires_grad_()
    bias = torch.ones(16, requires_grad=True)
    gradient = torch.randint(-8, 9, (4, 16, 14, 14), generator=generator).float()  # integers: sums are exact
    found = gradients(conv_pool(x, weight, bias), weight, bias, gradient)
    assert same_bits(found, gradients(unfused(x, weight, bias), weight, bias, gradient))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_nan_reaches_the_maps_and_the_gradients_of_the_channels_it_reaches_in_pytorch(conv_pool, dtype):
    x, weight, bias = layer(6, 2, 16)
    with torch.no_grad():
        weight[3, 0, 1, 1] = float("nan")
    x[1, 0, 20, 20] = -float("nan")
    maps, plain = conv_pool(x, weight, bias, dtype), unfused(x, weight, bias)
    assert torch.equal(maps.isnan(), plain.isnan())
    found = gradients(maps, weight, bias, upstream(maps))
    true = gradients(plain, weight, bias, upstream(maps))
    # PyTorch spreads it over all taps of a channel, the kernel over those that met it at a maximum.
    for ours, theirs in zip(found, true, strict=True):
        assert torch.equal(ours.reshape(16, -1).isnan().any(1), theirs.reshape(16, -1).isnan().any(1))


def test_no_images_give_no_maps_and_zero_gradients(conv_pool):
    x, weight, bias = layer(0, 0, 16)
    maps = conv_pool(x, weight, bias)
    assert maps.shape == (0, 16, 14, 14)
    assert not any(found.any() for found in gradients(maps, weight, bias, upstream(maps)))


def test_threads_at_work_together_find_the_bits_that_one_finds_alone(conv_pool):
    def work(seed):
        inputs = layer(seed, 20, 16)
        maps = conv_pool(*inputs)
        return maps.detach(), *gradients(maps, *inputs[1:], upstream(maps))

    alone = [work(seed) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(12)))
    assert all(same_bits(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("x", lambda x, weight, bias: (x[:, :, 1:], weight, bias)),
        ("x", lambda x, weight, bias: (x.double(), weight, bias)),
        ("x", lambda x, weight, bias: (x.requires_grad_(), weight, bias)),
        ("weight", lambda x, weight, bias: (x, weight[..., 1:], bias)),
        ("bias", lambda x, weight, bias: (x, weight, bias[1:])),
        ("dtype", lambda x, weight, bias: (x, weight, bias, torch.float16)),
    ],
)
def test_what_the_kernel_would_misread_is_refused_by_name(conv_pool, name, change):
    with pytest.raises(ValueError, match=f"^{name}: found .*, allowed "):
        conv_pool(*change(*layer(0, 1, 16)))
