import math

import pytest
import torch

from fedpriv.mechanisms.clipping import clip, raise_to

BOUNDS = (1e-38, 1e-36, 1e-30, 1e-12, 1e-6, 1e-3, 1.0, 0.3, 1e10)
NUMBERS = (3e38, 2.2e38, 1e38, 1e37, 1e19, 1.0)


def norms(rows):
    return rows.double().norm(dim=1)


@pytest.mark.parametrize("dimension", [4, 1000, 1_000_000])
@pytest.mark.parametrize("bound", BOUNDS)
def test_no_row_of_finite_numbers_leaves_a_clip_longer_than_the_bound(bound, dimension):
    for number in NUMBERS:
        assert float(norms(clip(torch.full((1, dimension), number), bound)[0].updates)) <= bound


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bound", [1e-6, 0.3, 1.0, 1e3])
def test_rows_of_every_type_stay_within_the_bound(bound, kind):
    spread = 10 ** torch.linspace(-4, 4, 40)[:, None]
    rows = (torch.randn(40, 333, generator=torch.Generator().manual_seed(0)) * spread).to(kind)
    clipped = clip(rows, bound)[0].updates
    assert clipped.dtype == kind and bool((norms(clipped) <= bound).all())


@pytest.mark.parametrize("bound", [1e-30, 1e-3, 0.7, 40.0])
def test_clipped_rows_keep_the_bits_of_a_product_in_their_own_type(bound):
    rows = torch.randn(50, 400, generator=torch.Generator().manual_seed(1)) * 3
    factors = torch.where(norms(rows) > bound, bound / norms(rows) * (1 - 1e-6), 1.0)
    assert torch.equal(clip(rows, bound)[0].updates, rows * factors.float()[:, None])


def test_a_tiny_row_that_is_scaled_up_stays_finite_and_gets_the_norm_it_should_have():
    rows = torch.zeros(3, 5)
    rows[0, 2], rows[1, :] = 1e-45, 3e38
    raised = raise_to(rows, 2.0)[0].updates
    assert norms(raised).tolist() == pytest.approx([2.0, 3e38 * math.sqrt(5), 0.0])
