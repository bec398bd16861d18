import pytest
import torch
from torch.func import grad, vmap
from torch.nn import functional as F

from fedpriv.models.layers import Convolution

CLIENTS, EXAMPLES = 3, 4


def normal(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_torch(x, weight, bias):
    return F.conv2d(x, weight, bias, padding=weight.shape[-1] // 2)


def gradients(convolution, kernel, biased, shared, by_example):
    """Of a scale of what is read, of weights and of biases; by client or by example."""
    x, wanted = normal(0, CLIENTS, EXAMPLES, 2, 6, 7), normal(1, CLIENTS, EXAMPLES, 5, 6, 7)
    own = {"scale": normal(2, CLIENTS, 1), "weight": normal(3, CLIENTS, 5, 2, kernel, kernel)}
    own |= {"bias": normal(4, CLIENTS, 5)} if biased else {}
    own = {name: one[0] for name, one in own.items()} if shared else own

    def loss(own, x, wanted):
        given = convolution(own["scale"] * x, own["weight"], own.get("bias"))
        return (given.tanh() * wanted).sum()

    one = grad(loss)
    if by_example:
        of_client = vmap(one, in_dims=(None, 0, 0))
        return vmap(of_client, in_dims=(None if shared else 0, 0, 0))(own, x[:, :, None], wanted[:, :, None])
    return vmap(one, in_dims=(None if shared else 0, 0, 0))(own, x, wanted)


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("biased", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shared", [True, False], ids=["shared weights", "own weights"])
@pytest.mark.parametrize("by_example", [True, False], ids=["of examples", "of clients"])
def test_gradients_of_a_stacked_convolution_are_those_of_torch(kernel, biased, shared, by_example):
    right = gradients(by_torch, kernel, biased, shared, by_example)
    found = gradients(Convolution.apply, kernel, biased, shared, by_example)
    assert found.keys() == right.keys()
    for name, one in right.items():
        assert one.shape == found[name].shape
        torch.testing.assert_close(found[name], one, rtol=1e-12, atol=1e-12)


def test_what_was_read_has_no_gradient_where_nobody_asks():
    x, weight = normal(0, EXAMPLES, 2, 6, 7), normal(1, 5, 2, 3, 3).requires_grad_()
    Convolution.apply(x, weight, None).sum().backward()
    assert x.grad is None
    assert weight.grad is not None
