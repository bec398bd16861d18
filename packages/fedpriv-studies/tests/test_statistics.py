"""Private statistics are noisy means over clipped examples, and features are normalised by nothing else."""

import numpy as np
import pytest
import torch
from fedpriv_studies.statistics import Statistics, facts, normalise, released

from fedpriv.streams import Streams

PATHS, PLACES, EXAMPLES = 5, 4, 2500
QUIET = 1e-12


def features(seed: int = 0, examples: int = EXAMPLES) -> np.ndarray:
    """Return features of paths that differ in mean and spread, float16."""
    rng = np.random.default_rng(seed)
    means, spreads = np.arange(1, PATHS + 1)[:, None], np.arange(PATHS, 0, -1)[:, None] / 4
    drawn = means + spreads * rng.standard_normal((examples, PATHS, PLACES))
    return drawn.reshape(examples, -1).astype(np.float16)


def noise(seed: int = 0):
    return Streams(seed, "test").noise("statistics")


def clipped(rows: np.ndarray, bound: float) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1, bound / norms)


@pytest.mark.parametrize("bounds", [(1e3, 1e3), (5.0, 30.0)])
def test_without_noise_they_are_the_means_of_clipped_examples(bounds):
    x = features()
    found = released(Statistics(PATHS, *bounds, QUIET), x, noise())
    wide = x.astype(np.float64).reshape(EXAMPLES, PATHS, PLACES)
    first, second = (clipped((wide**n).mean(2), l2).mean(0) for n, l2 in zip((1, 2), bounds, strict=True))
    assert found[0].numpy() == pytest.approx(first, rel=1e-4)
    assert found[1].numpy() == pytest.approx(np.maximum(second - first**2, 0), abs=1e-3)


def test_noise_is_the_multiplier_times_the_bound_over_the_number_of_examples():
    x = np.zeros((50, PATHS * PLACES), np.float16)
    how = Statistics(PATHS, 2.0, 3.0, 4.0)
    drawn = [released(how, x, noise(seed)) for seed in range(400)]
    first = torch.stack([mean for mean, _ in drawn])
    assert float(first.std()) == pytest.approx(4.0 * 2.0 / 50, rel=0.05)
    second = torch.stack([(variance + mean.square()) for mean, variance in drawn if (variance > 0).all()])
    assert not len(second) or float(second.std()) < 4.0 * 3.0 / 50
    assert min(float(variance.min()) for _, variance in drawn) == 0.0


def test_an_example_moves_each_sum_by_at_most_its_bound():
    x, how = features(), Statistics(PATHS, 0.7, 0.9, QUIET)
    other = x.copy()
    other[0] = 0
    (first, variance), (without, variance_without) = (released(how, one, noise()) for one in (x, other))
    assert float((first - without).norm()) * EXAMPLES <= how.mean_l2 * (1 + 1e-3)
    squares = (variance + first.square()) - (variance_without + without.square())
    assert float(squares.norm()) * EXAMPLES <= how.square_l2 * (1 + 1e-2)


def test_paths_have_mean_0_and_variance_1_afterwards_and_test_is_treated_alike():
    train, test = features(0), features(1, 700)
    same = test.copy()
    normalise(Statistics(PATHS, 1e3, 1e3, QUIET), train, test, noise())
    paths = train.astype(np.float64).reshape(EXAMPLES, PATHS, PLACES)
    assert paths.mean((0, 2)) == pytest.approx(0, abs=2e-2)
    assert paths.var((0, 2)) == pytest.approx(1, rel=2e-2)
    again = features(0)
    normalise(Statistics(PATHS, 1e3, 1e3, QUIET), again, same, noise())
    assert np.array_equal(test, same) and np.array_equal(train, again)


def test_a_path_without_variance_becomes_zero():
    x = np.full((100, PATHS * PLACES), 0.5, np.float16)
    x[:, :PLACES] = 0
    test = x.copy()
    normalise(Statistics(PATHS, 1e3, 1e3, QUIET), x, test, noise())
    assert not test[:, :PLACES].any()
    assert np.isfinite(test).all()


def test_they_are_released_before_the_first_round_and_never_again():
    how = Statistics(PATHS, 1.0, 1.0, 8.0)
    assert [facts(how, round_number)["statistics_releases"] for round_number in (1, 2, 3)] == [2, 0, 0]
