"""A row that stands for several releases costs what so many rows cost, whoever counts them."""

from collections.abc import Callable

import dp_accounting as dp
import numpy as np
import pandas as pd
import pytest
from support.library import pld_accountant

from fedpriv.account import Deltas
from fedpriv.account.ledgers import ledger
from fedpriv.errors import BadInput

TIMES = [3, 1, 4]


@pytest.fixture
def made(make_trace, make_instances) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return builders of traces of three rounds."""
    bits = {"gamma": 0.1, "flips": "coordinate", "noisy_bits": 3}
    present = {"denominator": "present", "cohort_size": [90, 100, 110]}
    both = {"unit": "both", "noise_in_sum": True}
    return {
        "poisson": lambda: make_trace(3).assign(noise_multiplier=[1.0, 2.0, 1.0], noise_std=[1.0, 2.0, 1.0]),
        "fixed": lambda: make_trace(3, law="fixed", multiplier=4.0),
        "full": lambda: make_trace(3, 1.0, law="full").assign(cohort_size=1000),
        "present": lambda: make_trace(3, multiplier=4.0).assign(**present),
        "count": lambda: make_trace(3).assign(count_noise_multiplier=3.0),
        "instances": lambda: make_instances(3, steps=2, cohorts=[4, 5, 6]).assign(holders=1),
        "joint": lambda: make_instances(3, joint=True, multiplier=8.0),
        "topped up": lambda: make_instances(3, joint=True, multiplier=8.0, cohorts=[4, 5, 6]).assign(
            topped_up=True, noise_shares=9, population=30, sampling_rate=0.1, **both
        ),
        "upload": lambda: make_trace(3).assign(upload_l2=1.0, upload_noise_std=5.0),
        "no noise in one": lambda: make_trace(3).assign(noise_multiplier=[1, 0, 1], noise_std=[1, 0, 1]),
        "bits": lambda: make_trace(3, 1.0, 0.0, law="full", clip=np.inf, population=10).assign(**bits),
    }


def last(trace: pd.DataFrame) -> pd.DataFrame:
    found = ledger(trace, Deltas(delta=1e-5, instance_delta=1e-6))
    return found[found["round"] == len(trace)].drop(columns="round").reset_index(drop=True)


KINDS = ["poisson", "fixed", "full", "present", "count", "instances", "joint", "topped up", "upload"]
KINDS += ["no noise in one", "bits"]


@pytest.mark.parametrize("kind", ["poisson", "instances", "bits"])
@pytest.mark.parametrize("dtype", ["float64", "uint8", "Int64"])
def test_whole_numbers_of_any_type_are_counted_alike(made, kind: str, dtype: str) -> None:
    found = last(made[kind]().assign(releases=pd.Series(TIMES, dtype=dtype)))
    pd.testing.assert_frame_equal(found, last(made[kind]().assign(releases=TIMES)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_several_releases_costs_what_so_many_rows_cost(made, kind: str) -> None:
    trace = made[kind]().drop(columns=["round", "releases"], errors="ignore")
    rows = trace.loc[trace.index.repeat(TIMES)].reset_index(drop=True)
    pd.testing.assert_frame_equal(last(trace.assign(releases=TIMES)), last(rows), rtol=1e-9)


def test_the_history_of_opacus_costs_what_the_library_says_of_every_step() -> None:
    history = [(1.5, 0.01, 1000), (1.1, 0.01, 2000), (0.9, 0.02, 500)]
    plan = pd.DataFrame(history, columns=["noise_multiplier", "sampling_rate", "releases"])
    found = last(plan.assign(unit="instance", sampling_law="poisson"))
    (spent,) = found.loc[(found["accountant"] == "pld") & (found["sensitivity"] == "C"), "epsilon"]
    theirs = pld_accountant()
    for multiplier, rate, steps in history:
        theirs.compose(dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(multiplier)), steps)
    assert spent == pytest.approx(theirs.get_epsilon(1e-6), rel=0.01)


@pytest.mark.parametrize("releases", [0, -1, 1.5, np.nan, np.inf, "3", True, 1e13, [1, 2, 0]])
def test_releases_are_whole_numbers_from_1(make_trace, releases: object) -> None:
    with pytest.raises(BadInput, match=r"^trace: releases: found .*, allowed: "):
        ledger(make_trace(3).assign(releases=releases), 1e-5)


@pytest.mark.parametrize(
    "facts", [{"local_steps": 100}, {"gamma": 0.1, "flips": "tensor", "noisy_bits": 10**5}]
)
def test_no_more_releases_are_counted_than_numbers_can_say(make_trace, facts: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=r"^trace: releases: found .* in all cohorts, allowed: at most 1e\+15"):
        ledger(make_trace(3).assign(releases=10**12, **facts), 1e-5)


def test_distances_of_rows_that_stand_for_several_releases_are_refused(make_trace) -> None:
    distances = {"remove_sum": np.full((3, 5), 0.5)}
    assert "bayesian" in set(ledger(make_trace(3).assign(releases=1), 1e-5, distances)["accountant"])
    with pytest.raises(BadInput, match=r"^trace: releases: found 2, allowed: 1 in every round that has dist"):
        ledger(make_trace(3).assign(releases=[1, 2, 1]), 1e-5, distances)
