"""The study of how often the Bayesian estimate covers the truth, beside integrals and large samples."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.integrate import quad
from scipy.stats import halfnorm

from fedpriv.account.moments import log_moment

FOLDER = Path(__file__).parents[2] / "examples/coverage"
coverage = SimpleNamespace(**runpy.run_path(str(FOLDER / "coverage.py")))


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    """Return the study as configured, with few replicates and its shortest runs."""
    config = yaml.safe_load((FOLDER / "settings.yaml").read_text())
    config["cost"]["replicates"] = 400
    config["epsilon"]["replicates"] = 8
    config["epsilon"]["cases"] = [case for case in config["epsilon"]["cases"] if case["rounds"] < 100]
    return config


@pytest.fixture(scope="module")
def frame(settings: dict[str, Any]) -> pd.DataFrame:
    return coverage.study(settings, np.random.default_rng(settings["seed"]))


def test_the_true_cost_is_the_expectation_over_clients() -> None:
    law = halfnorm(scale=0.3)

    def weighted(distance: float) -> float:
        return float(law.pdf(distance) * np.exp(log_moment(0.1, 4.0 / distance, [32])[0]))

    inside, _ = quad(weighted, 1e-12, 1.0)
    expected = np.log(inside + law.sf(1.0) * np.exp(log_moment(0.1, 4.0, [32])[0]))
    assert coverage.Population(0.3).log_mean(0.1, 4.0, [32], 1)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "order", "multiplier", "truth", "worst"),
    [
        (0.1, 4, 4, 5.7e-4, 6.6e-3),
        (0.1, 32, 4, 0.033, 0.42),
        (0.1, 4, 1, 0.013, 0.52),
        (1, 4, 4, 0.060, 0.63),
        (1, 16, 4, 2.7, 8.5),
        (1, 4, 1, 3.9, 10),
        (0.1, 16, 1, 89.9, 96.9),
    ],
)
def test_true_costs_and_those_at_the_clip_bound_are_as_published(
    frame: pd.DataFrame, rate: float, order: int, multiplier: float, truth: float, worst: float
) -> None:
    chosen = frame.query(
        f"sampling_rate == {rate} and `lambda` == {order} and noise_multiplier == {multiplier}"
    )
    np.testing.assert_allclose(chosen["truth"], truth, rtol=0.02)
    np.testing.assert_allclose(chosen["worst"], worst, rtol=0.01)


def test_bounds_on_small_costs_cover_nearly_as_often_as_they_promise(frame: pd.DataFrame) -> None:
    chosen = frame.query("study == 'cost' and truth < 0.07 and samples == 100 and noise_multiplier == 4")
    assert (chosen["coverage"] > 1 - chosen["failure"] - 0.09).all()


@pytest.mark.parametrize(("composition", "covers", "truth"), [("product", 1, 2.93), ("hoelder", 0, 7.23)])
def test_the_epsilon_that_rests_on_a_false_theorem_covers_and_the_other_does_not(
    frame: pd.DataFrame, composition: str, covers: int, truth: float
) -> None:
    chosen = frame.query(f"composition == '{composition}'")
    assert len(chosen) and (chosen["coverage"] == covers).all()
    np.testing.assert_allclose(chosen["truth"], truth, atol=5e-3)
