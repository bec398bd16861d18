import math

import numpy as np
import pytest
from scipy.stats import norm

from fedpriv.account import pld, rdp
from fedpriv.audit import bounds, clients
from fedpriv.audit.clients import AlikeRounds, score, scores

PLAN, DELTA = AlikeRounds(0.3, 3.0, 300), 1e-3
TRUTH = pld.epsilon(**PLAN._asdict(), delta=DELTA)
REPEATS, ALLOWED = 100, 5


def simulated(plan, inside, size, rng):
    """Return scores of a known Gaussian mechanism, from its definition."""
    total = np.zeros(size)
    for _ in range(plan.rounds):
        there = rng.random(size) < plan.sampling_rate * inside
        total += score(plan, there + plan.noise_multiplier * rng.standard_normal(size))
    return total


@pytest.fixture(scope="module")
def known():
    """Return scores with the canary and without, and how they are distributed."""
    rng = np.random.default_rng(1)
    return simulated(PLAN, True, 60_000, rng), simulated(PLAN, False, 20_000, rng), scores(PLAN)


ESTIMATORS = {
    "thresholded": lambda inside, outside: bounds.threshold_bound(inside, outside, 1.0, DELTA),
    "gaussian": lambda inside, outside: bounds.gaussian_reading(inside, outside, 1.0, DELTA),
    "exact null": lambda inside, outside: bounds.null_bound(
        int((inside >= 1.0).sum()), len(inside), float(norm.logsf(1.0)), DELTA
    ),
    "one shot, lower end": lambda inside, outside: bounds.one_shot_epsilon(inside / 100, 10_000, DELTA)[1],
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_on_null_scores_an_estimator_says_zero_in_95_of_100_trials(name):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(REPEATS):
        inside, outside = rng.standard_normal(500), rng.standard_normal(500)
        found.append(ESTIMATORS[name](inside, outside))
    assert sum(one > 0 for one in found) <= ALLOWED


def test_scores_of_a_known_mechanism_are_distributed_as_said(known):
    inside, outside, law = known
    for value in (-1.0, 0.0, 2.0, 4.0):
        at = np.searchsorted(law.values, value)
        for sample, tail in ((inside, law.inside), (outside, law.outside)):
            share = (sample >= law.values[at]).mean()
            assert share == pytest.approx(tail[at], abs=5 * (tail[at] / len(sample)) ** 0.5)


def test_the_best_threshold_of_the_exact_scores_reaches_the_epsilon_of_pld(known):
    law = known[2]
    some = law.outside > 1e-11
    best = np.log((law.inside[some] - DELTA).clip(1e-300)) - np.log(law.outside[some])
    assert TRUTH - 1e-3 < best.max() <= TRUTH + 1e-9


def test_against_an_exact_null_a_known_mechanism_reaches_nearly_all_of_its_epsilon(known):
    inside, _, law = known
    threshold, log_null = law.threshold(len(inside), DELTA)
    found = bounds.null_bound(int((inside >= threshold).sum()), len(inside), log_null, DELTA)
    assert 6.2 <= found <= TRUTH


def test_no_estimator_exceeds_the_truth_more_often_than_its_confidence_allows(known):
    inside, outside, law = known
    size = len(outside) // REPEATS
    threshold, log_null = law.threshold(len(inside) // REPEATS, DELTA)
    over = dict.fromkeys(["null", "rates"], 0)
    for number in range(REPEATS):
        some = slice(number * size, (number + 1) * size)
        more = inside[number * 600 : (number + 1) * 600]
        found = {
            "null": bounds.null_bound(int((more >= threshold).sum()), len(more), log_null, DELTA),
            "rates": bounds.threshold_bound(inside[some], outside[some], threshold, DELTA),
        }
        for name, value in found.items():
            over[name] += value > TRUTH
    assert max(over.values()) <= ALLOWED


def test_the_gaussian_reading_of_a_thousand_canaries_a_side_reaches_five(known):
    inside, outside, law = known
    middle = law.values[(law.outside > 1 - law.inside).sum()]
    found = bounds.gaussian_reading(inside[:1000], outside[:1000], middle, DELTA)
    assert 5.0 <= found <= TRUTH


def test_the_epsilon_of_a_gaussian_pair_is_that_of_the_library():
    accounting = pytest.importorskip("dp_accounting")
    for mu, delta in ((0.5, 1e-5), (2.0, 1e-3), (30.0, 1e-6)):
        found = bounds.witness([0.6 * mu, 0.8 * mu], [1.0, 1.0], delta)
        assert found == pytest.approx(accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-5)
    assert bounds.witness([1.0, 1.0], [1.0, 0.0], 1e-5) == math.inf
    assert bounds.witness([0.0], [0.0], 1e-5) == 0.0


def test_scores_that_are_no_numbers_say_nothing():
    nothing = np.full(100, np.nan)
    assert bounds.threshold_bound(nothing, nothing, 0.0, 1e-5) == 0
    assert bounds.gaussian_reading(nothing, nothing, 0.0, 1e-5) == 0
    for few in ([], [0.5], [0.1, np.nan]):
        assert bounds.one_shot_epsilon(np.array(few), 100, 1e-5) == (0.0, 0.0)


def test_an_estimate_of_one_shot_is_near_the_epsilon_of_the_gaussian_that_it_sees():
    mu, dimension = 2.0, 10_000
    cosines = (mu + np.random.default_rng(4).standard_normal(4000)) / math.sqrt(dimension)
    estimate, low = bounds.one_shot_epsilon(cosines, dimension, DELTA)
    assert low < rdp.gaussian_epsilon(mu, DELTA) and estimate == pytest.approx(
        rdp.gaussian_epsilon(mu, DELTA), rel=0.05
    )


# --- clients that are followed ------------------------------------------------------------------------------


def test_a_client_that_moves_less_costs_less_and_never_more_than_its_rounds_rounded_up():
    rng = np.random.default_rng(0)
    moved = rng.uniform(0.1, 0.4, 60)
    found = clients.removal_epsilon(0.3, moved, DELTA)
    assert clients.removal_epsilon(0.3, 0.9 * moved, DELTA) < found
    # Of the same energy, all rounds alike: near, for the losses of all rounds add up to nearly a Gaussian.
    alike = clients.removal_epsilon(0.3, np.full(60, np.sqrt((moved**2).mean())), DELTA)
    assert found == pytest.approx(alike, rel=0.1)


def test_who_never_moves_anything_costs_nothing_and_without_noise_there_is_no_epsilon():
    assert clients.removal_epsilon(0.3, np.zeros(5), DELTA) == 0.0
    assert clients.removal_epsilon(0.3, np.array([0.1, np.inf]), DELTA) == math.inf


def test_losses_that_are_drawn_are_distributed_as_the_exact_ones():
    plan = AlikeRounds(0.3, 2.0, 30)
    law = scores(plan)
    found = clients.removal_losses(0.3, np.full((30, 4), 0.5), 20_000, np.random.default_rng(1))
    for value in (-1.0, 0.5, 2.0):
        tail = law.inside[np.searchsorted(law.values, value)]
        assert (found >= value).mean() == pytest.approx(tail, abs=5 * (tail / len(found)) ** 0.5)


def test_a_quantile_from_below_is_wrong_as_seldom_as_its_confidence_says():
    rng = np.random.default_rng(2)
    found = [clients.quantile_low(rng.standard_normal(5000), 0.01, 0.95) for _ in range(100)]
    assert sum(one > 2.3263 for one in found) <= 5 and np.mean(found) > 2.1
    assert clients.quantile_low(np.ones(10), 0.01, 0.95) == 1.0
    assert clients.quantile_low(np.ones(3), 0.4, 0.999) == 0.0
