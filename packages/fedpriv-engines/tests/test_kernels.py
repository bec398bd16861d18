"""The kernels compute what PyTorch does: on a CPU in Triton's interpreter, or on FEDPRIV_TEST_DEVICE=cuda."""

import os

import pytest
import torch

DEVICE = torch.device(os.environ.get("FEDPRIV_TEST_DEVICE", "cpu"))
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before a kernel is defined
pytest.importorskip("triton", reason="PyTorch for CPUs alone brings no Triton")

from fedpriv_engines.adam import adam  # noqa: E402
from fedpriv_engines.convolution import convolution  # noqa: E402

from fedpriv.local.client import ClientState, optimise  # noqa: E402
from fedpriv.local.work import FedAvg  # noqa: E402
from fedpriv.models import layers  # noqa: E402

EXACT = 1e-6  # relative, by norm


@pytest.fixture(autouse=True)
def float32_is_float32():
    torch.backends.cuda.matmul.allow_tf32 = False


def normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def difference(found, right):
    return float((found.cpu().double() - right).norm() / right.norm())


def all_of(function, x, weight, bias, pool, seed):
    """Return the outputs and all gradients of a convolution whose outputs are pulled by `seed`."""
    given = [one.detach().requires_grad_() for one in (x, weight, bias) if one is not None]
    out = function(given[0], given[1], given[2] if bias is not None else None, pool)
    return [out.detach(), *torch.autograd.grad(out, given, seed.to(out))]


# clients, images, channels, height, width, units, taps in a row, shared weights
SHAPES = {
    "grey, 5x5": (2, 2, 1, 8, 8, 16, 5, True),
    "grey, 3x3, odd": (2, 3, 1, 7, 5, 5, 3, False),
    "16 to 32": (2, 2, 16, 6, 4, 32, 5, True),
    "8 to 16, 3x3": (3, 1, 8, 6, 4, 16, 3, False),
    "colour, odd": (2, 1, 3, 5, 7, 4, 5, False),
    "more units than a tile": (1, 2, 4, 4, 4, 40, 3, True),
    "more channels than a tile": (1, 1, 24, 4, 4, 8, 3, False),
    "an image each": (4, 1, 1, 6, 6, 8, 3, True),
}


@pytest.mark.parametrize("pool", [True, False], ids=["pooled", "not pooled"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_convolution_and_its_gradients_are_those_of_float64(shape, pool):
    members, images, channels, height, width, units, taps, shared = shape
    x = normal(0, members, images, channels, height, width)
    weight = normal(1, 1 if shared else members, units, channels, taps, taps).expand(members, -1, -1, -1, -1)
    bias = None if not shared and not pool else normal(2, members, units)
    size = (height // 2, width // 2) if pool else (height, width)
    seed = normal(3, members, images, units, *size)
    parts = (x, weight, bias)
    right = all_of(layers.convolution, *(one if one is None else one.double() for one in parts), pool, seed)
    found = all_of(convolution, *(one if one is None else one.to(DEVICE) for one in parts), pool, seed)
    assert max(map(difference, found, right)) < EXACT


def test_equal_numbers_in_a_pool_give_their_gradient_to_the_first():
    x = torch.zeros(1, 1, 1, 4, 4, device=DEVICE)
    weight = torch.zeros(1, 1, 1, 3, 3, device=DEVICE, requires_grad=True)
    with torch.no_grad():
        weight[..., 1, 1] = 1  # the identity
    x = x.requires_grad_()
    (gradient,) = torch.autograd.grad(convolution(x, weight, None, True).sum(), x)
    assert gradient.flatten().nonzero().flatten().tolist() == [0, 2, 8, 10]


def test_images_that_pad_a_client_add_nothing_to_the_bit():
    x, weight = normal(0, 2, 3, 8, 6, 6).to(DEVICE), normal(1, 2, 16, 8, 3, 3).to(DEVICE)
    seed = normal(2, 2, 3, 16, 3, 3).to(DEVICE)
    seed[1, 1:] = 0  # of the second client two of three images are padding
    (_, _, padded) = all_of(convolution, x, weight, None, True, seed)
    x[1, 1:] = 0
    assert torch.equal(all_of(convolution, x, weight, None, True, seed)[2][1], padded[1])


@pytest.mark.parametrize("channels", [1, 8])
def test_a_stack_without_images_has_gradients_of_zeros(channels):
    x, weight = torch.zeros(2, 0, channels, 6, 6, device=DEVICE), normal(0, 2, 8, channels, 3, 3).to(DEVICE)
    out, _, gradient = all_of(convolution, x, weight, None, True, torch.zeros(2, 0, 8, 3, 3))
    assert out.shape == (2, 0, 8, 3, 3) and not gradient.any()


def test_what_is_no_number_stays_one():
    x, weight = torch.full((1, 1, 8, 4, 4), torch.nan, device=DEVICE), normal(0, 1, 8, 8, 3, 3).to(DEVICE)
    assert convolution(x, weight, None, True).isnan().all()


@pytest.mark.skipif(DEVICE.type == "cpu", reason="Triton's interpreter multiplies no bfloat16")
def test_bfloat16_is_multiplied_as_such_and_summed_in_float32():
    x, weight = normal(0, 2, 2, 16, 6, 6).bfloat16(), normal(1, 2, 16, 16, 3, 3).bfloat16()
    seed = normal(2, 2, 2, 16, 3, 3).bfloat16()
    right = all_of(layers.convolution, x.double(), weight.double(), None, True, seed.double())
    found = all_of(convolution, x.to(DEVICE), weight.to(DEVICE), None, True, seed)
    assert max(map(difference, found, right)) < 5e-3


@pytest.mark.parametrize("before", [0, 7])
def test_a_step_of_adam_is_that_of_the_optimiser(before):
    work = FedAvg(optimizer="adam", adam_betas=(0.8, 0.95), learning_rate=0.1, steps=1)
    parts = [normal(seed, 3, 1500) for seed in range(4)]
    parts[2] = parts[2].square()
    steps = torch.tensor([before, before + 1, before + 5])
    right = [one.clone() for one in parts]
    optimise(work, ClientState(*right[:3], steps.clone()), [right[3]])
    found = [one.to(DEVICE) for one in parts]
    counts = (steps + 1).double()[:, None]
    rate, whole = (0.1 / (1 - 0.8**counts)).float(), (1 - 0.95**counts).float()
    adam(*found, rate.to(DEVICE), whole.to(DEVICE), work.adam_betas)
    for one, other in zip(found[:3], right[:3], strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-5, atol=1e-6)
