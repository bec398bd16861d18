"""A noisy count beside a noisy sum is counted in the same ledger, as dp-accounting counts both together."""

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from fedpriv.account import Deltas
from fedpriv.account.check import checked
from fedpriv.account.ledgers import ledger
from fedpriv.account.views import count_released

DELTAS = Deltas(delta=1e-3, instance_delta=1e-3)
SUM, COUNT, BOUND = 2.0, 5.0, 0.7


@pytest.fixture
def counted(make_trace):
    """A trace with a count in every round."""
    return make_trace(multiplier=SUM, clip=BOUND, rate=0.3, rounds=20).assign(count_noise_multiplier=COUNT)


def last(frame, accountant, sensitivity="C"):
    of = frame[(frame["accountant"] == accountant) & (frame["sensitivity"] == sensitivity)]
    return float(of.sort_values("round")["epsilon"].iloc[-1])


def by_the_library(accountant, rate, rounds, multipliers):
    gaussians = [dp_event.GaussianDpEvent(one) for one in multipliers]
    both = dp_event.ComposedDpEvent(gaussians) if len(gaussians) > 1 else gaussians[0]
    return accountant.compose(dp_event.PoissonSampledDpEvent(rate, both), rounds).get_epsilon(DELTAS.delta)


@pytest.mark.parametrize("scale", [1, 2])
def test_the_ledger_of_a_count_and_a_sum_is_the_librarys_of_both(counted, scale):
    found = ledger(counted, DELTAS)
    expected = by_the_library(RdpAccountant(), 0.3, 20, (SUM / scale, COUNT / scale))
    assert last(found, "rdp", "C" if scale == 1 else "2C") == pytest.approx(expected, rel=1e-9)


def test_pld_agrees_with_the_librarys_of_the_gaussian_that_both_are(counted):
    expected = by_the_library(PLDAccountant(), 0.3, 20, ((SUM**-2 + COUNT**-2) ** -0.5,))
    assert last(ledger(counted, DELTAS), "pld") == pytest.approx(expected, rel=2e-3)


def test_a_count_without_noise_reveals_everything(counted):
    found = ledger(counted.assign(count_noise_multiplier=0.0), DELTAS)
    assert np.isinf([last(found, "moments"), last(found, "rdp")]).all()


def test_distances_have_the_count_as_a_coordinate(counted):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 6, 4))
    rows *= np.minimum(1, BOUND / np.linalg.norm(rows, axis=2, keepdims=True))
    # A client's part of the centred count is ±1/2; its noise, of std COUNT/2, is scaled to the sum's.
    part = rng.choice([-0.5, 0.5], (20, 6, 1)) * SUM * BOUND / (COUNT / 2)
    whole = np.concatenate([rows, part], axis=2)

    trace, found = count_released(checked(counted), {"remove_sum": np.linalg.norm(rows, axis=2)})
    np.testing.assert_allclose(found["remove_sum"], np.linalg.norm(whole, axis=2))
    assert (found["remove_sum"] <= trace["clip_l2"][:, None] * (1 + 1e-12)).all()
    np.testing.assert_allclose(trace["clip_l2"] * trace["noise_multiplier"], counted["noise_std"])
