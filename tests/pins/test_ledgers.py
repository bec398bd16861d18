"""What stored runs cost: another ε is another `ACCOUNT_VERSION`, so that older ledgers are counted again."""

from pathlib import Path

import pytest
from fedpriv.keep.take import run_directory

from fedpriv.account import ACCOUNT_VERSION, Deltas
from fedpriv.account.runs import counted

RUNS = Path(__file__).parents[2] / "results/reference/runs"
PINNED = 1  # the version with which these were counted: the smallest ε after the last round
LEDGERS = {
    "bdp2019/iid_n100_dp/seed0-761a21c4c691a548": {
        "bayesian client": 3.05805,
        "moments client": 21.6494,
        "pld client": 18.1154,
        "rdp client": 20.2631,
    },
    "dpfl_bnn2023/ablation_coordinate_local_biased_b2/seed0-ad070b231f58474c": {
        "exact one bit of a client": 11.8062,
        "rdp all bits of a client": 3727.18,
        "rdp client": 3727.18,
        "rdp one bit of a client": 1.12345,
        "rdp_tight one bit of a client": 12.7298,
        "theorem one bit of a client": 14.9217,
    },
}


@pytest.mark.parametrize("name", LEDGERS)
def test_the_ledger_of_a_stored_run_is_that_of_the_version_that_the_code_says_it_has(name):
    with run_directory(RUNS / f"{name}.parquet") as directory:
        ledger = counted(directory, Deltas(delta=1e-3))
    last = ledger[ledger["round"] == ledger["round"].max()]
    found = last.groupby(["accountant", "unit"])["epsilon"].min()
    assert {" ".join(key): epsilon for key, epsilon in found.items()} == pytest.approx(
        LEDGERS[name], rel=1e-5
    )
    assert PINNED == ACCOUNT_VERSION
