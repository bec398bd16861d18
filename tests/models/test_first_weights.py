"""The weights before training: He-initialised, or with a last layer of zeros."""

import numpy as np
import pytest

from fedpriv.models.base import Model, unflatten
from fedpriv.models.nets import Cnn, Resnet50Head

NETWORKS: dict[str, tuple[Model, str]] = {
    "one dense layer": (Cnn(widths=(4, 6)), "dense1.weight"),
    "two dense layers": (Cnn(widths=(4, 6, 8)), "dense2.weight"),
    "head": (Resnet50Head(backbone="efficientnet_lite0"), "head.weight"),
}


@pytest.mark.parametrize(("model", "last"), NETWORKS.values(), ids=NETWORKS)
def test_a_last_layer_of_zeros_leaves_every_other_weight_as_it_would_have_been(model, last):
    example = () if model.reads == "features" else (1, 28, 28)
    shapes = model.shapes(10, example)

    def weights(last_layer):
        chosen = model.model_copy(update={"last_layer": last_layer})
        return unflatten(chosen.initial(10, example, np.random.default_rng(3)), shapes)

    random, zero = weights("random"), weights("zero")
    assert random[last].any()
    assert not zero[last].any()
    assert all(zero[name].equal(random[name]) for name in shapes if name != last)


def test_runs_that_say_nothing_of_their_last_layer_keep_their_identity():
    assert "last_layer" not in Cnn().model_dump()
    assert Cnn(last_layer="zero").model_dump()["last_layer"] == "zero"
