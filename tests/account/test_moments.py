import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import binom, norm

from fedpriv.account import moments
from fedpriv.account.moments import log_moment

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


@pytest.mark.parametrize(("rate", "multiplier", "order", "left", "printed", "reverse"), TERMS)
def test_the_printed_right_term_is_the_moment_given_presence_and_the_left_one_bounds_the_true_reverse(
    rate, multiplier, order, left, printed, reverse
) -> None:
    def given_presence(x: float) -> float:
        exponent = order * log_ratio(x, rate, multiplier) + norm.logpdf(x, 1, multiplier)
        return float(np.exp(exponent - printed))

    def reversed_loss(x: float) -> float:
        return float(np.exp(norm.logpdf(x, 0, multiplier) - order * log_ratio(x, rate, multiplier)))

    far, peak = 12 * multiplier, order + 1
    mass, _ = quad(given_presence, -far, peak + far, points=[0, peak], limit=500)
    k = np.arange(order + 1.0)
    computed = logsumexp(binom.logpmf(k, order, rate) + (k * k + k) / (2 * multiplier**2))
    assert printed + np.log(mass) == pytest.approx(computed, rel=1e-7)
    assert computed == pytest.approx(printed, rel=5e-4)
    mass, _ = quad(reversed_loss, -far - order, far, points=[0], limit=500)
    assert np.log(mass) == pytest.approx(reverse, rel=5e-3)
    assert np.log(mass) < log_moment(rate, multiplier, [order])[0] == pytest.approx(left, rel=5e-4)


def test_the_authors_accountant_gives_the_same_seven_digits() -> None:
    found = moments.epsilon(
        sampling_rate=0.1, noise_multiplier=1, rounds=100, delta=1e-5, lambdas=[2, 4, 8, 16, 32]
    )
    assert found == pytest.approx(8.92769, abs=5e-6)
