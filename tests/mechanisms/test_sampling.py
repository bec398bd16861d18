import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.errors import BadInput
from fedpriv.mechanisms.sampling import COHORTS, Fixed, Full, Poisson, Spaced
from fedpriv.streams import Streams

LAWS = {"poisson": Poisson(rate=0.3), "fixed": Fixed(size=3), "full": Full(), "spaced": Spaced(size=3)}


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
    with pytest.raises(BadInput, match=r"cohort\.size: found 7, allowed: at most 5"):
        Spaced(size=7).draw(5, np.random.default_rng(0))


@given(
    population=st.integers(1, 40),
    size=st.integers(1, 40),
    rounds=st.integers(1, 60),
    seed=st.integers(0, 9),
    secure=st.booleans(),
)
def test_in_turn_everybody_comes_as_seldom_and_as_far_apart_as_is_written_down(
    population, size, rounds, seed, secure
):
    law, streams = Spaced(size=min(size, population)), Streams(seed, "turns", secure)
    came = np.zeros((rounds, population), dtype=int)
    for row, round in zip(came, range(1, rounds + 1), strict=True):
        row[law.members(population, streams, round)] += 1
    facts = law.facts(population, rounds)
    assert (came.sum(axis=1) == law.size).all() and came.max() == 1
    assert came.sum(axis=0).max() == facts["participations"] <= came.sum(axis=0).min() + 1
    gaps = [np.diff(np.flatnonzero(one)) for one in came.T]
    assert min((gap.min() for gap in gaps if len(gap)), default=99) >= facts["rounds_apart"]
    longest = max((gap.max() for gap in gaps if len(gap)), default=0)
    assert longest <= facts["rounds_apart"] + 1
