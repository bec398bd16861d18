"""What is counted beside what is done, held against numbers that were computed elsewhere."""

from pathlib import Path

import pandas as pd
import pytest

from fedpriv.account import plans
from fedpriv.paper.paper import load_paper
from fedpriv.paper.tables import AccountsTable
from fedpriv.report.tables.accounts import accounts_table

DECLARED = load_paper("global_dp", Path(__file__).parents[3] / "config/papers").tables["accounts"]
TABLE = accounts_table(pd.DataFrame(), DECLARED, "accounts")


def value(row, column, quantity):
    lines = TABLE.tidy.set_index(["row", "column", "quantity"])["value"]
    return lines[row, column, quantity]


@pytest.mark.parametrize(
    ("clients", "counted", "done"), [("100", 4, 1), ("1,000", 23, 1), ("10,000", 308, 9)]
)
def test_three_layers_afford_what_is_known_of_them(clients, counted, done):
    row = f"Geyer et al., K = {clients}, three layers"
    assert [value(row, column, "rounds") for column in ("counted", "done")] == [counted, done]


def test_an_epsilon_is_that_of_all_releases_of_the_rounds():
    row = "Geyer et al., K = 1,000, three layers"
    plan = {"sampling_rate": 0.1, "noise_multiplier": 1, "rounds": 3 * DECLARED.rounds, "delta": 1e-5}
    assert value(row, "counted", "epsilon") == plans.epsilon(**plan).epsilon


def test_nobody_of_secretflows_readers_would_accept_what_is_done_for_what_is_counted():
    for line in DECLARED.lines[1:6]:
        assert value(line.label, "done", "epsilon") > 2 * value(line.label, "counted", "epsilon")
    together = [value(f"SecretFlow, all of it, C = {c}", "done", "noise_multiplier") for c in ("1", "0.1")]
    assert together == pytest.approx([100**0.5 / 30, 0.1 * 100**0.5 / 30], rel=1e-5)


def test_it_needs_no_run_and_prints_every_number_and_every_reason():
    assert not [*DECLARED.runs()] and len(TABLE.display) == len(DECLARED.lines)
    assert TABLE.tidy["value"].notna().all() and len(TABLE.tidy) == 10 * len(DECLARED.lines)
    assert all(f"{line.label}: {line.why}" in TABLE.notes for line in DECLARED.lines if line.why)
    assert AccountsTable.model_validate(DECLARED.model_dump()) == DECLARED
