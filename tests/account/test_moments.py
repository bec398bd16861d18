import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from fedpriv.account import moments
from fedpriv.account.check import checked
from fedpriv.account.moments import LAMBDAS, log_moment, moment_given_presence
from fedpriv.account.views import server_views

# q, multiplier, λ: the left term, the right term as printed, the true reverse moment.
TERMS = [
    (0.1, 1, 4, 0.5195, 1.805, 0.0896),
    (0.1, 1, 16, 96.86, 99.16, 0.696),
    (0.01, 1, 8, 0.01425, 0.5957, 0.00507),
    (0.01, 4, 32, 0.003476, 0.02433, 0.003332),
    (0.3, 2, 8, 1.611, 2.252, 0.587),
]


def log_ratio(x: float, rate: float, multiplier: float) -> float:
    """Return log of the mixture (1−q)N(0,z²) + qN(1,z²) over N(0,z²) at x."""
    return float(np.log1p(rate * np.expm1((x - 0.5) / multiplier**2)))


def test_the_orders_are_the_stated_grid() -> None:
    assert LAMBDAS.tolist() == [*range(1, 65), 80, 96, 128, 192, 256, 384, 512]


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.1, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("multiplier", [0.5, 1.0, 3.0, 20.0])
def test_the_log_moment_is_the_librarys_renyi_divergence_of_the_next_order(
    rate: float, multiplier: float
) -> None:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    event = PoissonSampledDpEvent(rate, GaussianDpEvent(multiplier))
    divergence = RdpAccountant(orders=LAMBDAS + 1).compose(event).rdp
    np.testing.assert_allclose(log_moment(rate, multiplier) / LAMBDAS, divergence, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("rate", "multiplier", "order", "left", "printed", "reverse"), TERMS)
def test_the_left_term_is_the_moment_of_the_loss_under_the_mixture(
    rate: float, multiplier: float, order: int, left: float, printed: float, reverse: float
) -> None:
    peak = order + 1  # where the largest component of the integrand sits

    def integrand(x: float) -> float:
        exponent = (order + 1) * log_ratio(x, rate, multiplier) + norm.logpdf(x, 0, multiplier)
        return float(np.exp(exponent - left))

    mass, _ = quad(integrand, -12 * multiplier, peak + 12 * multiplier, points=[0, peak], limit=500)
    assert left + np.log(mass) == pytest.approx(log_moment(rate, multiplier, [order])[0], rel=1e-7)
    assert log_moment(rate, multiplier, [order])[0] == pytest.approx(left, rel=5e-4)


@pytest.mark.parametrize(("rate", "multiplier", "order", "left", "printed", "reverse"), TERMS)
def test_the_printed_right_term_is_the_moment_given_that_the_client_takes_part(
    rate: float, multiplier: float, order: int, left: float, printed: float, reverse: float
) -> None:
    peak = order + 1

    def integrand(x: float) -> float:
        exponent = order * log_ratio(x, rate, multiplier) + norm.logpdf(x, 1, multiplier)
        return float(np.exp(exponent - printed))

    mass, _ = quad(integrand, -12 * multiplier, peak + 12 * multiplier, points=[0, peak], limit=500)
    computed = moment_given_presence(rate, multiplier, [order])[0]
    assert printed + np.log(mass) == pytest.approx(computed, rel=1e-7)
    assert computed == pytest.approx(printed, rel=5e-4)


@pytest.mark.parametrize(("rate", "multiplier", "order", "left", "printed", "reverse"), TERMS)
def test_the_left_term_bounds_the_true_reverse_moment(
    rate: float, multiplier: float, order: int, left: float, printed: float, reverse: float
) -> None:
    def integrand(x: float) -> float:
        return float(np.exp(norm.logpdf(x, 0, multiplier) - order * log_ratio(x, rate, multiplier)))

    mass, _ = quad(integrand, -12 * multiplier - order, 12 * multiplier, points=[0], limit=500)
    assert np.log(mass) == pytest.approx(reverse, rel=5e-3)
    assert np.log(mass) < log_moment(rate, multiplier, [order])[0]


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("multiplier", [0.7, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("order", [1, 4, 16, 64])
def test_a_replaced_client_under_poisson_costs_no_more_than_twice_the_sensitivity(
    rate: float, multiplier: float, order: int
) -> None:
    # The worst pair replaces an update C by its opposite: (1−q)N(0)+qN(1) against (1−q)N(0)+qN(−1).
    x = np.linspace(-20 * multiplier - 2 * order, 20 * multiplier + 2 * order, 400_001)
    absent = norm.logpdf(x, 0, multiplier) + np.log1p(-rate)
    one = np.logaddexp(absent, np.log(rate) + norm.logpdf(x, 1, multiplier))
    other = np.logaddexp(absent, np.log(rate) + norm.logpdf(x, -1, multiplier))
    log_integrand = (order + 1) * one - order * other
    top = log_integrand.max()
    moment = top + np.log(np.trapezoid(np.exp(log_integrand - top), x))
    assert moment <= log_moment(rate, multiplier / 2, [order])[0] + 1e-9


def test_full_participation_has_the_closed_form_of_the_gaussian() -> None:
    np.testing.assert_allclose(log_moment(1.0, 3.0), LAMBDAS * (LAMBDAS + 1) / 18, rtol=1e-12)


def test_many_multipliers_at_once_give_what_each_gives_alone() -> None:
    many = np.array([[0.5, 3.0, np.inf], [7.0, 40.0, 0.0]])
    together = log_moment(0.2, many)
    assert together.shape == (2, 3, len(LAMBDAS))
    np.testing.assert_array_equal(together[1, 1], log_moment(0.2, 40.0))


@settings(deadline=None, max_examples=50)
@given(st.floats(0.001, 1), st.floats(0.3, 50), st.floats(1.0, 2.0))
def test_more_noise_costs_less(rate: float, multiplier: float, factor: float) -> None:
    assert (log_moment(rate, factor * multiplier) <= log_moment(rate, multiplier) + 1e-9).all()


@settings(deadline=None, max_examples=50)
@given(st.floats(0.001, 1), st.floats(0.3, 50), st.sampled_from([1, 3, 17, 64, 512]))
def test_the_printed_right_term_is_never_the_smaller(rate: float, multiplier: float, order: int) -> None:
    left = log_moment(rate, multiplier, [order])
    assert (moment_given_presence(rate, multiplier, [order]) >= left - 1e-9).all()


def test_the_authors_accountant_gives_the_same_seven_digits() -> None:
    found = moments.epsilon(
        sampling_rate=0.1, noise_multiplier=1, rounds=100, delta=1e-5, lambdas=[2, 4, 8, 16, 32]
    )
    assert found == pytest.approx(8.92769, abs=5e-6)


def test_no_noise_brings_epsilon_below_the_floor_of_the_largest_order() -> None:
    found = moments.epsilon(sampling_rate=0.01, noise_multiplier=1e6, rounds=1, delta=1e-6)
    assert found == pytest.approx(np.log(1e6) / 512, rel=1e-6)


def test_a_later_round_without_noise_makes_epsilon_infinite_from_there_on(make_trace) -> None:
    trace = make_trace(rounds=5)
    trace.loc[3, ["noise_multiplier", "noise_std"]] = 0.0
    for curve in moments.curves(server_views(checked(trace), {})[0], 1e-5):
        assert np.isfinite(curve.epsilon[:3]).all()
        assert np.isinf(curve.epsilon[3:]).all()
        assert np.isnan(curve.order[3:]).all()
