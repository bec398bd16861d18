"""One run counted at several σ: where nothing was clipped it is the run that each of them would have been."""

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import moments, recount
from fedpriv.account.ledgers import ledger
from fedpriv.account.spend import Deltas
from fedpriv.errors import BadInput

ROUNDS, NOISE, LONGEST = 12, 3.0, 1.4
SIGMAS = (1.0, 1.5, 2.0, 3.0)


@pytest.fixture
def trace(make_trace) -> pd.DataFrame:
    """Return a run with σ = 1 and C = 3 whose longest update, in round 5, has norm 1.4."""
    longest = np.full(ROUNDS, 0.9)
    longest[4] = LONGEST
    evaluated = np.where(np.arange(ROUNDS) % 2, 0.5, np.nan)
    return make_trace(ROUNDS, 0.3, 1.0, clip=NOISE, population=100).assign(
        norm_max=longest, test_accuracy=evaluated
    )


@pytest.fixture
def distances() -> dict[str, np.ndarray]:
    drawn = np.random.default_rng(0).uniform(0.3, 0.9, (ROUNDS, 40))
    return {"remove_sum": drawn, "remove_mean": drawn / 2}


def counted(trace, distances, sigmas=SIGMAS):
    return ledger(trace, Deltas(1e-3, 1e-5, sigmas), distances)


def rows(frame, **values):
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame.sort_values("round")


@pytest.mark.parametrize("sigma", [1.0, 1.5, 2.0])
def test_a_run_that_clips_nothing_is_counted_as_the_run_with_that_sigma_and_clip_bound(
    trace, distances, sigma
):
    clip = NOISE / sigma
    other = ledger(trace.assign(clip_l2=clip, noise_multiplier=sigma), Deltas(1e-3, 1e-5), distances)
    other = other[other["round"] % 2 == 0]
    found = rows(counted(trace, distances), sensitivity=f"C = {clip:g}")
    dp, bayesian = rows(found, accountant="moments"), rows(found, composition="product")
    assert np.allclose(
        dp["epsilon"], rows(other, accountant="moments", sensitivity="C")["epsilon"], rtol=1e-12
    )
    same = rows(other, composition="product", distance="remove_sum", right_term="both_left")
    assert np.allclose(bayesian["epsilon"], same["epsilon"], rtol=1e-12)
    assert bayesian["assumptions_met"].all() and set(bayesian["kind"]) == {"estimate"}


def test_dp_pays_for_the_clip_bound_and_bdp_for_the_distances_that_there_are(trace, distances):
    last = rows(counted(trace, distances), round=ROUNDS)
    again = last[last["sensitivity"].str.startswith("C = ")]
    dp, bdp = (
        again[again[name] == word]["epsilon"]
        for name, word in (("accountant", "moments"), ("composition", "product"))
    )
    wanted = [
        moments.epsilon(sampling_rate=0.3, noise_multiplier=s, rounds=ROUNDS, delta=1e-3) for s in SIGMAS[:3]
    ]
    assert np.allclose(dp, wanted) and dp.iloc[0] > 2 * dp.iloc[2]
    assert np.allclose(bdp, bdp.iloc[0])


def test_a_clip_bound_below_the_largest_norm_is_refused_and_not_counted(trace, distances):
    with pytest.raises(
        BadInput, match=r"found 3, but an update of norm 1\.4 in round 5 is longer than C = 1, a"
    ):
        recount.recounted(trace, 3.0)
    assert "C = 1" not in set(counted(trace, distances)["sensitivity"])


def test_a_clip_bound_of_exactly_the_largest_norm_clips_nothing(trace):
    assert not recount.clipped(trace, NOISE / LONGEST)
    assert recount.clipped(trace, NOISE / LONGEST * 1.001)


def test_a_run_that_was_clipped_is_counted_as_itself_and_as_no_other(trace, distances):
    tight = trace.assign(clip_l2=1.0, noise_multiplier=3.0)
    found = counted(tight, distances)
    assert {one for one in found["sensitivity"] if one.startswith("C = ")} == {"C = 1"}
    assert "longer than C = 1" in recount.clipped(tight, 1.0)


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


def test_of_a_mean_of_those_present_the_distance_to_the_others_is_counted(trace, distances):
    found = counted(trace.assign(denominator="present"), distances)
    again = found[found["sensitivity"].str.startswith("C = ") & (found["accountant"] == "bayesian")]
    assert set(again["distance"]) == {"remove_mean"}


def test_what_is_counted_again_leaves_the_rest_of_the_ledger_as_it_was_and_is_of_evaluated_rounds(
    trace, distances
):
    plain, more = ledger(trace, Deltas(1e-3, 1e-5), distances), counted(trace, distances)
    again = more["sensitivity"].str.startswith("C = ")
    pd.testing.assert_frame_equal(more[~again].reset_index(drop=True), plain)
    assert set(more[again]["round"]) == {2, 4, 6, 8, 10, 12}


@pytest.mark.parametrize("changed", [{"unit": "none"}, {"noise_multiplier": 0.0, "noise_std": 0.0}])
def test_what_has_no_noise_for_clients_is_not_counted_again(trace, changed):
    with pytest.raises(
        BadInput, match=r"account\.recount: found .*, allowed: clients, gaussian, with the same"
    ):
        counted(trace.assign(**changed), {})
