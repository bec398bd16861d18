import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedpriv.account import bayesian
from fedpriv.account.moments import LAMBDAS, log_moment

MANY = bayesian.EXACT + 1


def scales(multiplier: float, spread: float, seed: int = 0) -> np.ndarray:
    """Return Δ²/(2σ²) of more distances than are evaluated one by one, up to twice the bound."""
    logs = np.random.default_rng(seed).normal(-1.5, spread, MANY)
    return (np.minimum(2.0, np.exp(logs)) / multiplier) ** 2 / 2


def exact(rate: float, scale: np.ndarray) -> np.ndarray:
    return log_moment(rate, np.sqrt(0.5 / scale))


@settings(deadline=None, max_examples=10)
@given(st.floats(1e-4, 1), st.floats(0.5, 20), st.floats(0.01, 3), st.integers(0, 100))
def test_chords_bound_whatever_the_rate_the_noise_and_the_spread(
    rate: float, multiplier: float, spread: float, seed: int
) -> None:
    scale = scales(multiplier, spread, seed)
    some = scale[:100]
    read, true = bayesian.log_moments(rate, scale)(some), exact(rate, some)
    assert (read >= true * (1 - 1e-12) - 1e-13).all()
    assert (read <= true * (1 + 2 * bayesian.TOLERANCE + 1e-12) + bayesian.NEGLIGIBLE).all()


def test_few_values_are_evaluated_one_by_one() -> None:
    scale = scales(2.0, 1.0)[:200].reshape(20, 10)
    found = bayesian.log_moments(0.1, scale)(scale)
    assert found.shape == (20, 10, len(LAMBDAS))
    np.testing.assert_allclose(found, exact(0.1, scale), rtol=1e-12)


@pytest.mark.parametrize("many", [False, True])
def test_nothing_moved_costs_nothing_and_no_noise_costs_everything(many: bool) -> None:
    scale = np.array([0.0, np.inf, np.nan, 0.1])
    padded = np.concatenate([scale, scales(1.0, 1.0)]) if many else scale
    found = bayesian.log_moments(0.1, padded)(scale)
    assert (found[0] == 0).all()
    assert np.isinf(found[1]).all()
    assert np.isnan(found[2]).all()
    assert np.isfinite(found[3]).all()


def test_a_larger_distance_never_costs_less() -> None:
    scale = np.sort(scales(2.0, 1.0))
    found = bayesian.log_moments(0.05, scale)(scale[::50])
    assert (np.diff(found, axis=0) >= -1e-12 * found[1:]).all()


@pytest.mark.parametrize("high", [1e-300, 1e30, 1e300])
def test_scales_of_any_size_are_bounded(high: float) -> None:
    scale = np.concatenate([np.geomspace(5e-324, high, MANY), [np.inf]])
    with np.errstate(over="ignore"):
        read, true = bayesian.log_moments(0.1, scale)(scale), exact(0.1, scale)
    assert (read >= true * (1 - 1e-12) - 1e-13).all()
