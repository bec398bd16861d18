"""A whole run with correlated noise: what it was told to cost is what its ledger counts."""

import pandas as pd
import pytest
from support.made_run import BY_SCHEME, RUN, go

from fedpriv.account import ledger, spends
from fedpriv.config.run import Run
from fedpriv.frozen import parse
from fedpriv.mechanisms.correlated import MATRICES, told


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_run_costs_the_epsilon_that_its_noise_was_planned_for(matrix, files, tmp_path):
    scheme = BY_SCHEME["dp_ftrl"]["scheme"] | {"matrix": matrix, "noise_multiplier": {"epsilon": 3.0}}
    run = parse(Run.model_validate, RUN | BY_SCHEME["dp_ftrl"] | {"scheme": scheme}, "a run")
    trace = pd.read_parquet(go(run, files, tmp_path / "run") / "trace.parquet")
    planned = run.scheme.planned(run.cohort, run.partition.clients, run.rounds)
    assert told(trace.iloc[0].to_dict()) == told(trace.iloc[-1].to_dict()) == planned
    (spent,) = [one for one in spends(ledger(trace, run.account.delta)) if one.sensitivity == "C"]
    assert spent.status == "guarantee" and 2.99 < spent.epsilon <= 3.0
