"""Noise that clients add to what they send, with any scheme: all that hides them from who receives it."""

import numpy as np
import pandas as pd
import pytest

from fedpriv.account import Deltas, bayesian, moments, pld, rdp
from fedpriv.account.check import checked
from fedpriv.account.ledgers import ledger
from fedpriv.account.views import Mechanism, upload_views, views

DELTAS = Deltas(delta=1e-5, instance_delta=1e-6)


def noisy(trace: pd.DataFrame, **facts: float | list[float]) -> pd.DataFrame:
    """Return the trace with noise on uploads: multiplier 2."""
    facts = {"upload_l2": 0.5, "upload_noise_std": 1.0, "noise_in_sum": True} | facts
    return trace.assign(**facts)


def test_rounds_in_which_nobody_sent_anything_cost_nothing(make_trace) -> None:
    trace = noisy(make_trace(rounds=3), upload_noise_std=[1.0, 0.0, 1.0], cohort_size=[4, 0, 4])
    view = upload_views(checked(trace), {})[0]
    assert view.mechanisms[0] == Mechanism("full", 1000, 0, 1.0, 2.0)
    assert view.counts.sum(axis=1).tolist() == [1, 0, 1]
    epsilon = moments.curves(view, 1e-5)[0].epsilon
    assert epsilon[0] == epsilon[1] < epsilon[2] < np.inf


def test_without_a_bound_beneath_it_noise_hides_nothing(make_trace) -> None:
    frame = ledger(noisy(make_trace(rounds=3).assign(unit="none"), upload_l2=np.inf), DELTAS)
    assert set(frame["accounting"]) == {"upload", "drawn"} and np.isinf(frame["epsilon"]).all()


@pytest.mark.parametrize("accountant", [moments, rdp, pld, bayesian])
def test_what_is_sent_in_the_clear_is_hidden_by_no_noise_on_the_rest(make_instances, accountant) -> None:
    trace = make_instances(rounds=3, joint=True).assign(clear_values=[0, 568, 0])
    distances = {"remove_sum": np.full((3, 8), 0.1), "instance_remove_sum": np.full((3, 1, 10, 8), 0.01)}
    for view in views(checked(trace), distances):
        for curve in accountant.curves(view, 1e-5):
            assert np.isfinite(curve.epsilon).tolist() == [True, False, False]
