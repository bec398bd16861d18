import pytest
import torch

from fedpriv.mechanisms.clipping import apart


@pytest.mark.parametrize("seed", range(5))
def test_two_rows_far_from_each_other_are_at_least_half_as_far_as_any(seed):
    rows = torch.randn(12, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) ** 3
    most = float(torch.pdist(rows).max())
    assert most / 2 <= apart(rows) <= most * (1 + 1e-12)


def test_fewer_than_two_rows_are_not_apart():
    assert [apart(torch.ones(n, 4)) for n in (0, 1)] == [0, 0]
