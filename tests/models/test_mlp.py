"""The network of dense layers against arithmetic of numpy."""

import numpy as np
import torch

from fedpriv.models.base import initial_weights
from fedpriv.models.flat import unflatten
from fedpriv.models.nets import Mlp


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


def test_without_biases_nothing_to_see_is_no_reason_for_any_class():
    model = Mlp()
    params = unflatten(initial_weights(model.shapes(10), np.random.default_rng(0)), model.shapes(10))
    assert not model.apply(params, torch.zeros(2, 1, 28, 28)).any()
