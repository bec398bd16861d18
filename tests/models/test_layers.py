"""A convolution of stacked clients gives each what PyTorch gives it alone, and its gradients."""

import pytest
import torch
from torch.nn import functional as F

from fedpriv.models.layers import Convolution, convolution, turned

CLIENTS, EXAMPLES = 3, 4


def normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def one_by_one(x, weight, bias, pool):
    own = [None] * len(x) if bias is None else bias
    found = [F.conv2d(*one, padding=weight.shape[-1] // 2) for one in zip(x, weight, own, strict=True)]
    return torch.stack([F.max_pool2d(one, 2) for one in found] if pool else found)


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("biased", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shared", [True, False], ids=["shared weights", "own weights"])
@pytest.mark.parametrize("pool", [True, False], ids=["pooled", "not pooled"])
def test_a_stacked_convolution_and_its_gradients_are_those_of_torch(kernel, biased, shared, pool):
    x = normal(0, CLIENTS, EXAMPLES, 2, 6, 7).requires_grad_()
    weight = normal(1, CLIENTS, 5, 2, kernel, kernel)
    weight = weight[:1].expand_as(weight) if shared else weight
    given = [x, weight.requires_grad_(), *([normal(2, CLIENTS, 5).requires_grad_()] if biased else [])]
    outputs = [one(*given[:2], given[2] if biased else None, pool) for one in (convolution, one_by_one)]
    torch.testing.assert_close(*outputs, rtol=1e-12, atol=1e-12)
    seed = normal(3, *outputs[0].shape)
    found, right = (torch.autograd.grad(out, given, seed) for out in outputs)
    torch.testing.assert_close(found, right, rtol=1e-12, atol=1e-12)


def test_weights_that_are_shared_stay_so_on_the_way_back():
    assert turned(normal(0, 1, 5, 2, 3, 3).expand(CLIENTS, -1, -1, -1, -1)).stride(0) == 0


def test_what_was_read_has_no_gradient_where_nobody_asks():
    x, weight = normal(0, 1, EXAMPLES, 2, 6, 7), normal(1, 1, 5, 2, 3, 3).requires_grad_()
    Convolution.apply(x, weight, None).sum().backward()
    assert x.grad is None
    assert weight.grad is not None
