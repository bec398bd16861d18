import numpy as np
import pandas as pd
import pytest

from fedpriv.account import Deltas
from fedpriv.account.check import checked_trace
from fedpriv.account.ledgers import ledger, statements
from fedpriv.audit.finding import Known

SERVER = {
    **{"unit": "client", "relation": "add_remove", "sampling_law": "poisson", "population": 1000},
    **{"expected_cohort": 300.0, "sampling_rate": 0.3, "cohort_size": 300, "clip_l2": 1.0},
    **{"clip_private": False, "noise_multiplier": 3.0, "noise_std": 3.0, "norm_max": 1.0, "norm_min": 0.5},
}


@pytest.fixture(scope="session")
def make_known():
    """Return a builder of what is known of a run: the columns of its trace that are not those of SERVER."""

    def build(rounds=30, distances=None, scheme=None, delta=1e-3, parameters=5000, **columns):
        trace = checked_trace(pd.DataFrame({"round": np.arange(1, rounds + 1), **SERVER}).assign(**columns))
        distances = distances or {}
        frame = ledger(trace, Deltas(delta=delta, instance_delta=1e-5), distances)
        return Known(trace, distances, statements(frame), scheme or {}, parameters, "a run")

    return build
