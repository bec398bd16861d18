import numpy as np
import pytest
import torch

from fedpriv.mechanisms.gaussian import distances, pad_rounds, upload_distance


@pytest.fixture
def updates():
    return torch.randn(6, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_the_two_distances_are_their_definitions(updates):
    found = distances(updates, 5, np.array([0, 3, 4, 1]))
    rows = updates.numpy()
    for place, i in enumerate([0, 3, 4, 1]):
        others = rows[[j for j in range(5) if j != i]].mean(0)
        assert found["remove_sum"][place] == pytest.approx(np.linalg.norm(rows[i]))
        assert found["remove_mean"][place] == pytest.approx(np.linalg.norm(rows[i] - others))


def test_who_is_outside_is_measured_as_if_it_joined_and_who_is_alone_has_its_own_norm(updates):
    rows = updates.numpy()
    (found,) = distances(updates, 5, np.array([5]))["remove_mean"]
    assert found == pytest.approx(np.linalg.norm(rows[5] - rows[:5].mean(0)))
    (found,) = distances(updates, 1, np.array([0]))["remove_mean"]
    assert found == pytest.approx(np.linalg.norm(rows[0]))


def test_removing_a_client_moves_the_mean_by_its_distance_over_the_cohort_size(updates):
    rows = updates.numpy()
    found = distances(updates, 6, np.arange(6))
    moved = [np.linalg.norm(rows.mean(0) - np.delete(rows, i, 0).mean(0)) for i in range(6)]
    assert found["remove_mean"] / 6 == pytest.approx(moved)


def test_missing_samples_are_nan():
    table = pad_rounds([np.array([1.0, 2.0]), np.array([])], (3,))
    assert np.array_equal(table, [[1, 2, np.nan], [np.nan] * 3], equal_nan=True)
    table = pad_rounds([np.ones((2, 1), np.float32), np.ones((1, 2), np.float32)], (2, 2))
    assert table.dtype == np.float32
    assert np.array_equal(np.isnan(table), [[[0, 1], [0, 1]], [[0, 0], [1, 1]]])


@pytest.mark.parametrize("seed", range(5))
def test_two_rows_far_from_each_other_are_at_least_half_as_far_as_any(seed):
    rows = torch.randn(12, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) ** 3
    most = float(torch.pdist(rows).max())
    assert most / 2 <= upload_distance(rows) <= most * (1 + 1e-12)


def test_fewer_than_two_rows_are_not_apart():
    assert [upload_distance(torch.ones(n, 4)) for n in (0, 1)] == [0, 0]
