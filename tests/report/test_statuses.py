"""No rendered reference calls an ε a guarantee of which an assumption fails."""

import re
from pathlib import Path

import pandas as pd
import pytest

TABLES = sorted(Path("results/reference").glob("*/*/tables/*.csv"))
COUNTED = [path for path in TABLES if "epsilon_status" in pd.read_csv(path, nrows=0)]


def test_most_tables_with_an_epsilon_say_what_it_is():
    assert len(COUNTED) > 30


@pytest.mark.parametrize("path", COUNTED, ids=lambda path: "-".join(path.parts[2:]))
def test_a_status_is_a_guarantee_only_where_that_is_counted_and_every_assumption_holds(path):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    counted = frame.loc[frame["epsilon_status"] != ""]
    says = counted["epsilon_status"] == "guarantee"
    assert (counted.loc[says, "kind"] == "guarantee").all()
    others = counted.loc[~says, "epsilon_status"]
    assert others.str.match(r"not a guarantee: \w|estimate|nominal").all()


@pytest.mark.parametrize(
    "path", [path for path in COUNTED if path.stem.endswith("_spends")], ids=lambda path: path.stem
)
def test_a_cell_without_a_guarantee_is_marked_in_its_table(path):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    failing = frame["epsilon_status"].str.startswith("not a guarantee") & (frame["quantity"] == "epsilon")
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(re.findall("†", "\n".join(lines))) == failing.sum()
