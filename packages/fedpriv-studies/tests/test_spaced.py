"""Clients in turn come as seldom and as far apart as their trace says."""

import numpy as np
import pytest
from fedpriv_studies.spaced import Spaced
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.errors import BadInput
from fedpriv.streams import Streams


def test_turns_of_more_than_there_are_are_bad_input():
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
    for row, round_number in zip(came, range(1, rounds + 1), strict=True):
        row[law.members(population, streams, round_number)] += 1
    facts = law.facts(population, rounds)
    assert (came.sum(axis=1) == law.size).all() and came.max() == 1
    assert came.sum(axis=0).max() == facts["participations"] <= came.sum(axis=0).min() + 1
    gaps = [np.diff(np.flatnonzero(one)) for one in came.T]
    assert min((gap.min() for gap in gaps if len(gap)), default=99) >= facts["rounds_apart"]
    longest = max((gap.max() for gap in gaps if len(gap)), default=0)
    assert longest <= facts["rounds_apart"] + 1
