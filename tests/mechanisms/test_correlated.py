"""The noise of all rounds is W z with W C = 1: what is released is C x + z, whatever else is made of it."""

import numpy as np
import pytest
import torch

from fedpriv.mechanisms.correlated import STREAM, correlated, decoder, encoder, inverse, parts
from fedpriv.streams import Streams

MATRICES = [("tree", 1), ("banded", 1), ("banded", 4), ("banded", 100)]
each_matrix = pytest.mark.parametrize(("matrix", "bands"), MATRICES)


def noise_of(matrix, bands, rounds, run="x"):
    like = torch.zeros(50, dtype=torch.float64)
    return torch.stack([correlated(matrix, bands, Streams(3, run), t, like) for t in range(1, rounds + 1)])


@each_matrix
@pytest.mark.parametrize("rounds", [1, 2, 7, 8, 31, 100])
def test_what_is_decoded_is_what_was_encoded(matrix, bands, rounds):
    made = decoder(matrix, bands, rounds) @ encoder(matrix, bands, rounds)
    np.testing.assert_allclose(made, np.eye(rounds), atol=1e-10)


@each_matrix
def test_the_noise_of_a_round_is_its_row_of_independent_normals(matrix, bands):
    rounds, streams = 21, Streams(3, "x")
    keys = sorted({one[:2] for t in range(1, rounds + 1) for one in parts(matrix, bands, t)})
    normals = [streams.noise(STREAM, *key).like(torch.zeros(50, dtype=torch.float64)) for key in keys]
    expected = decoder(matrix, bands, rounds) @ torch.stack(normals).numpy()
    np.testing.assert_allclose(noise_of(matrix, bands, rounds), expected, atol=1e-12)


@each_matrix
def test_a_round_has_the_same_noise_whatever_was_drawn_before(matrix, bands):
    whole = noise_of(matrix, bands, 20)
    noise_of(matrix, bands, 3, "another")  # so that nothing of this one is left
    alone = correlated(matrix, bands, Streams(3, "x"), 20, torch.zeros(50, dtype=torch.float64))
    assert torch.equal(whole[-1], alone)
    assert not torch.equal(whole[-1], noise_of(matrix, bands, 20, "another")[-1])


@pytest.mark.parametrize("rounds", [1, 6, 7, 8, 63, 100])
def test_no_estimate_of_a_partial_sum_from_complete_nodes_has_less_noise_than_the_trees(rounds):
    best = np.ones(rounds) @ np.linalg.pinv(encoder("tree", 1, rounds))
    found = decoder("tree", 1, rounds).sum(axis=0)
    assert found @ found == pytest.approx(best @ best, rel=1e-9)


def test_the_square_root_of_partial_sums_is_what_is_banded():
    root = encoder("banded", 30, 30)
    np.testing.assert_allclose(root @ root, np.tril(np.ones((30, 30))), atol=1e-12)
    np.testing.assert_allclose(inverse(root[:, 0]), np.linalg.inv(root)[:, 0], atol=1e-12)
