"""One run counted at several σ: where nothing was clipped it is the run that each of them would have been."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dp_accounting import get_epsilon_gaussian

from fedpriv.account import moments
from fedpriv.account.check import checked_trace
from fedpriv.account.ledgers import ledger, statements

sys.path.append(str(Path(__file__).parents[2] / "examples/readings"))
from recount import clipped, recount  # beside the study that asks for it

ROUNDS, NOISE, LONGEST = 12, 3.0, 1.4
SIGMAS = (1.0, 1.5, 2.0, 3.0)


def made(rounds: int, rate: float, sigma: float, clip: float) -> pd.DataFrame:
    """Return the trace of a run in which all rounds cost the same."""
    law = {"unit": "client", "sampling_law": "poisson" if rate < 1 else "full", "sampling_rate": rate}
    noise = {"noise_multiplier": sigma, "noise_std": sigma * clip, "clip_l2": clip, "population": 100}
    return checked_trace(pd.DataFrame({"round": range(1, rounds + 1)}).assign(**law, **noise))


@pytest.fixture
def trace() -> pd.DataFrame:
    """Return a run with σ = 1 and C = 3 whose longest update, in round 5, has norm 1.4."""
    longest = np.full(ROUNDS, 0.9)
    longest[4] = LONGEST
    evaluated = np.where(np.arange(ROUNDS) % 2, 0.5, np.nan)
    return made(ROUNDS, 0.3, 1.0, NOISE).assign(norm_max=longest, test_accuracy=evaluated)


@pytest.fixture
def distances() -> dict[str, np.ndarray]:
    drawn = np.random.default_rng(0).uniform(0.3, 0.9, (ROUNDS, 40))
    return {"remove_sum": drawn, "remove_mean": drawn / 2}


def counted(trace, distances, sigmas=SIGMAS):
    return recount(trace, distances, sigmas, 1e-3)


def rows(frame, **values):
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame.sort_values("round")


@pytest.mark.parametrize("sigma", [1.0, 1.5, 2.0])
def test_a_run_that_clips_nothing_is_counted_as_the_run_with_that_sigma_and_clip_bound(
    trace, distances, sigma
):
    clip = NOISE / sigma
    other = ledger(trace.assign(clip_l2=clip, noise_multiplier=sigma), 1e-3, distances)
    other = other[other["round"] % 2 == 0]
    found = rows(counted(trace, distances), sensitivity=f"C = {clip:g}")
    dp, bayesian = rows(found, accountant="moments"), rows(found, composition="product")
    assert np.allclose(
        dp["epsilon"], rows(other, accountant="moments", sensitivity="C")["epsilon"], rtol=1e-12
    )
    same = rows(other, composition="product", distance="remove_sum")
    assert np.allclose(bayesian["epsilon"], same["epsilon"], rtol=1e-12)
    assert bayesian["assumptions_met"].all() and set(bayesian["kind"]) == {"estimate"}


def test_a_clip_bound_below_the_largest_norm_is_refused_and_not_counted(trace, distances):
    assert clipped(trace, 3.0) == "an update of norm 1.4 in round 5 is longer than C = 1"
    assert "C = 1" not in set(counted(trace, distances)["sensitivity"])


def test_a_plain_mean_is_below_its_bound_and_fewer_clients_make_a_looser_one(trace, distances):
    last = rows(counted(trace, distances), round=ROUNDS, sensitivity="C = 2").set_index("composition")[
        "epsilon"
    ]
    assert last["product, plain mean"] < last["product"] < last["product, 30 clients"]
    first = {name: array[:, :30] for name, array in distances.items()}
    fewer = rows(counted(trace, first), round=ROUNDS, sensitivity="C = 2").set_index("composition")["epsilon"]
    assert last["product, 30 clients"] == fewer["product"]


def test_the_plain_mean_is_that_of_the_exponentials(trace):
    """All rounds alike, half of the clients at a and half at b: the mean is known."""
    a, b, sigma = 0.4, 0.8, 2.0
    drawn = {"remove_sum": np.tile([a, b], (ROUNDS, 20))}
    found = rows(
        counted(trace, drawn), round=ROUNDS, composition="product, plain mean", sensitivity="C = 1.5"
    )
    both = [moments.log_moment(0.3, NOISE / one) for one in (a, b)]
    cost = ROUNDS * (np.logaddexp(*both) - np.log(2))
    assert sigma * 1.5 == NOISE and found["epsilon"].item() == pytest.approx(moments.best(cost, 0.99e-3)[0])


def test_an_epsilon_at_a_bound_that_a_run_did_not_clip_at_is_no_guarantee():
    trace = made(20, 1.0, 10.0, 1.0).assign(norm_max=0.05, test_accuracy=0.9)
    exact = get_epsilon_gaussian(10 / np.sqrt(20), 1e-5)
    own, other = statements(recount(trace, {}, (10.0, 100.0), 1e-5))
    assert own.status == "guarantee" and own.epsilon >= exact * (1 - 1e-9)
    assert other.kind == "counterfactual" and "not a guarantee" in str(other)
