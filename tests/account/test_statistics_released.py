"""Noisy statistics of all examples are counted with the steps that follow."""

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest
from support.library import pld_accountant, rdp_accountant

from fedpriv.account import ledger, spends
from fedpriv.errors import BadInput

RATE, NOISE, STEPS, DELTA = 4096 / 60_000, 3.04, 560, 1e-5


def trace(steps: int = STEPS, releases: int = 2, of: float = 8.0, rate: float = RATE, noise: float = NOISE):
    """Return a trace of DP-SGD on one client's examples, with statistics released before its first step."""
    first = np.arange(steps) == 0
    return pd.DataFrame(
        {
            "unit": "instance",
            "sampling_law": "full",
            "population": 1,
            "cohort_size": 1,
            "noise_multiplier": 0.0,
            "noise_std": 0.0,
            "clip_l2": 0.1,
            "local_steps": 1,
            "rate_sequential": rate,
            "rate_parallel": rate,
            "per_example_clip": True,
            "instance_clip_l2": 1.0,
            "instance_noise_multiplier": noise,
            "instance_noise_std": noise,
            "holders": 1,
            "statistics_releases": releases * first,
            "statistics_noise_multiplier": of,
        }
    )


def spent(trace: pd.DataFrame, accountant: str, sensitivity: str = "C") -> float:
    (found,) = (
        one.epsilon
        for one in spends(ledger(trace, DELTA))
        if (one.accountant, one.sensitivity, one.accounting) == (accountant, sensitivity, "sequential")
    )
    return found


def test_epsilon_is_that_of_the_library_for_statistics_and_steps_composed():
    event = dp.ComposedDpEvent(
        [
            dp.SelfComposedDpEvent(dp.GaussianDpEvent(8.0), 2),
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(RATE, dp.GaussianDpEvent(NOISE)), STEPS),
        ]
    )
    here = trace()
    assert spent(here, "rdp") == pytest.approx(rdp_accountant().compose(event).get_epsilon(DELTA), rel=1e-9)
    assert spent(here, "pld") == pytest.approx(pld_accountant().compose(event).get_epsilon(DELTA), rel=1e-3)


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "releases"),
    [(RATE, NOISE, STEPS, 2), (8192 / 60_000, 4.05, 280, 0), (2048 / 60_000, 2.15, 1160, 0)],
)
def test_the_noise_that_tramer_and_boneh_publish_for_three_costs_three_by_the_classical_conversion(
    rate, noise, steps, releases
):
    assert spent(trace(steps, releases, rate=rate, noise=noise), "moments") == pytest.approx(3, abs=0.005)


def test_they_cost_from_the_first_round_on_and_without_noise_everything():
    costs = ledger(trace(3), DELTA)
    costs = costs[(costs["accountant"] == "rdp") & (costs["sensitivity"] == "C")]
    without = ledger(trace(3, releases=0), DELTA)
    without = without[(without["accountant"] == "rdp") & (without["sensitivity"] == "C")]
    assert (costs["epsilon"].to_numpy() > without["epsilon"].to_numpy()).all()
    assert spent(trace(3, of=0.0), "rdp") == np.inf


def test_clients_release_none():
    plain = pd.DataFrame(
        {"unit": "client", "sampling_law": "full", "noise_multiplier": 1.0, "statistics_releases": 1},
        index=[0],
    )
    with pytest.raises(
        BadInput, match=r"^trace: statistics_releases: found some with unit client, allowed: "
    ):
        ledger(plain, DELTA)
