"""Real data through the workflow, where a mirror of them is at hand."""

import os

import pytest
from support.workflow import snakemake, write_config

from fedpriv.data import arrays


@pytest.mark.skipif("FEDPRIV_MIRROR" not in os.environ, reason="FEDPRIV_MIRROR names no mirror")
def test_mnist_goes_from_a_mirror_to_arrays(tmp_path):
    snakemake("--cores", "1", "resources/mnist.npz", *write_config(tmp_path), cwd=tmp_path)
    mnist = arrays.load(tmp_path / "resources/mnist.npz")
    assert (len(mnist.y_train), len(mnist.y_test), mnist.classes) == (60_000, 10_000, 10)
    # The class counts of the official test split.
    counts = [sum(mnist.y_test == label) for label in range(10)]
    assert counts == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
