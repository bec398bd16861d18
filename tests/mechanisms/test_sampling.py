import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import COHORTS, Fixed, Full, Poisson

LAWS = {"poisson": Poisson(rate=0.3), "fixed": Fixed(size=3), "full": Full()}
LAWS |= {name: law.of_share(0.15, 20) for name, law in COHORTS.items() if name not in LAWS}  # of packages


def test_every_law_is_covered_here():
    assert set(LAWS) == set(COHORTS)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(population=st.integers(3, 50), seed=st.integers(0, 2**32))
def test_a_cohort_is_ascending_members_of_the_population_each_once(law, population, seed):
    ids = law.draw(population, np.random.default_rng(seed))
    assert (np.diff(ids) > 0).all()
    assert set(ids) <= set(range(population))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_mean_cohort_is_the_public_expectation(law):
    rng = np.random.default_rng(0)
    sizes = [len(law.draw(20, rng)) for _ in range(4000)]
    # six standard errors of a binomial(20, .3) mean
    assert np.mean(sizes) == pytest.approx(law.expected(20), abs=6 * np.sqrt(20 * 0.3 * 0.7 / 4000))


def test_poisson_members_join_independently():
    rng = np.random.default_rng(0)
    joined = np.zeros((20000, 2))
    for row in joined:
        row[Poisson(rate=0.3).draw(2, rng)] = 1
    both = joined.all(axis=1).mean()
    assert both == pytest.approx(0.09, abs=6 * np.sqrt(0.09 * 0.91 / 20000))


def test_a_fixed_cohort_larger_than_the_population_is_bad_input():
    with pytest.raises(BadInput, match=r"cohort\.size: found 7, allowed: at most 5"):
        Fixed(size=7).draw(5, np.random.default_rng(0))
