"""What is counted beside what is done, held against numbers that were computed elsewhere."""

from pathlib import Path

import pandas as pd
import pytest

from fedpriv.account import plans
from fedpriv.paper.paper import load_paper

DECLARED = load_paper("global_dp", Path(__file__).parents[3] / "config/papers").tables["accounts"]
TABLE = DECLARED.call(None, DECLARED, "accounts")
VALUES = TABLE.tidy.set_index(["row", "column", "quantity"])["value"]


@pytest.mark.parametrize(
    ("clients", "counted", "done"), [("100", 4, 1), ("1,000", 23, 1), ("10,000", 308, 9)]
)
def test_three_layers_afford_what_is_known_of_them(clients, counted, done):
    row = f"Geyer et al., K = {clients}, three layers"
    assert [VALUES[row, column, "rounds"] for column in ("counted", "done")] == [counted, done]


def test_an_epsilon_is_that_of_all_releases_of_the_rounds():
    plan = {"sampling_rate": 0.1, "noise_multiplier": 1, "rounds": 30, "delta": 1e-5}
    found = VALUES["Geyer et al., K = 1,000, three layers", "counted", "epsilon"]
    assert found == plans.epsilon(**plan, accountant="moments").epsilon


def test_nobody_of_secretflows_readers_would_accept_what_is_done_for_what_is_counted():
    ours = [row for row in dict.fromkeys(TABLE.tidy["row"]) if row.startswith("SecretFlow")]
    assert len(ours) == 5
    for row in ours:
        assert VALUES[row, "done", "epsilon"] > 2 * VALUES[row, "counted", "epsilon"]
    together = [VALUES[f"SecretFlow, all of it, C = {c}", "done", "noise_multiplier"] for c in ("1", "0.1")]
    assert together == pytest.approx([100**0.5 / 30, 0.1 * 100**0.5 / 30], rel=1e-5)


def test_it_prints_every_number_and_every_reason():
    assert isinstance(TABLE.display, pd.DataFrame) and len(TABLE.display) == 9
    assert TABLE.tidy["value"].notna().all() and len(TABLE.tidy) == 10 * 9
    assert sum(note.startswith(("SecretFlow", "Geyer")) for note in TABLE.items) == 6
