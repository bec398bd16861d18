import math

import numpy as np
import pytest

from fedpriv.account import pld
from fedpriv.audit import clients
from fedpriv.audit.clients import AlikeRounds, scores

DELTA = 1e-3


@pytest.mark.parametrize(("rate", "multiplier", "rounds"), [(0.3, 3.0, 110), (0.1, 1.5, 40), (1.0, 8.0, 20)])
def test_a_client_that_always_moves_the_bound_costs_what_everybody_is_guaranteed(rate, multiplier, rounds):
    whole = pld.epsilon(sampling_rate=rate, noise_multiplier=multiplier, rounds=rounds, delta=DELTA)
    found = clients.epsilon(rate, np.full(rounds, 1 / multiplier), DELTA)
    assert 0.99 * whole < found <= whole


def test_a_client_that_moves_less_costs_less_and_never_more_than_its_rounds_rounded_up():
    rng = np.random.default_rng(0)
    moved = rng.uniform(0.1, 0.4, 60)
    found = clients.epsilon(0.3, moved, DELTA)
    assert clients.epsilon(0.3, 0.9 * moved, DELTA) < found
    # Of the same energy, all rounds alike: near, for the losses of all rounds add up to nearly a Gaussian.
    alike = clients.epsilon(0.3, np.full(60, np.sqrt((moved**2).mean())), DELTA)
    assert found == pytest.approx(alike, rel=0.1)


def test_who_never_moves_anything_costs_nothing_and_without_noise_there_is_no_epsilon():
    assert clients.epsilon(0.3, np.zeros(5), DELTA) == 0.0
    assert clients.epsilon(0.3, np.array([0.1, np.inf]), DELTA) == math.inf


def test_losses_that_are_drawn_are_distributed_as_the_exact_ones():
    plan = AlikeRounds(0.3, 2.0, 30)
    law = scores(plan)
    found = clients.losses(0.3, np.full((30, 4), 0.5), 20_000, np.random.default_rng(1))
    for value in (-1.0, 0.5, 2.0):
        tail = law.inside[np.searchsorted(law.values, value)]
        assert (found >= value).mean() == pytest.approx(tail, abs=5 * (tail / len(found)) ** 0.5)


def test_a_quantile_from_below_is_wrong_as_seldom_as_its_confidence_says():
    rng = np.random.default_rng(2)
    found = [clients.quantile_low(rng.standard_normal(5000), 0.01, 0.95) for _ in range(100)]
    assert sum(one > 2.3263 for one in found) <= 5 and np.mean(found) > 2.1
    assert clients.quantile_low(np.ones(10), 0.01, 0.95) == 1.0
    assert clients.quantile_low(np.ones(3), 0.4, 0.999) == 0.0
