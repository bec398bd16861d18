"""What the page on accounting says a search of hyper-parameters would cost is what our accountants say."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from fedpriv.account import moments
from fedpriv.paper.paper import load_paper
from fedpriv.paper.tables import accuracy_tables

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs/accounting.md").read_text(encoding="utf-8").partition("\n## Tuning is not free\n")[2]
SECTION = SECTION.partition("\n## ")[0]
ORDERS = moments.LAMBDAS + 1
RATE, DELTA = 0.3, 1e-3
PAPER = load_paper("bdp2019", ROOT / "config/papers")


def divergence(noise_multiplier, rounds):
    """Return the Rényi divergences of `rounds` rounds at `ORDERS`."""
    return rounds * moments.log_moment(RATE, noise_multiplier) / moments.LAMBDAS


def epsilon(divergences):
    return float(np.min(divergences - math.log(DELTA) / moments.LAMBDAS))


def best_of_many(divergences, eta, mean):
    """Return what the best of a random number of runs costs: Papernot and Steinke 2022, Theorem 2."""
    if eta == 0:
        gamma = brentq(lambda one: (1 / one - 1) / math.log(1 / one) - mean, 1e-9, 1 - 1e-9)
    else:
        gamma = 1 / mean
    second = (1 + eta) * ((1 - 1 / ORDERS) * divergences + math.log(1 / gamma) / ORDERS)
    return epsilon(divergences + second.min() + math.log(mean) / moments.LAMBDAS)


def rows(heading):
    """Return the cells of the lines of a table of the section, by the first of them."""
    lines = SECTION[SECTION.index(f"| {heading} |") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first: others for first, *others in cells}


@pytest.mark.parametrize("table", ["Table I", "Table II", "Table III"])
def test_the_cost_of_a_search_is_what_the_accountant_says(table):
    tried, one, every, *random = rows("table")[table]
    candidates = int(tried)
    run = divergence(3.0, 300)
    told = [one, every, *random]
    found = [run, run * (candidates + 1)]
    costs = [*map(epsilon, found), best_of_many(run, 0, candidates), best_of_many(run, 1, candidates)]
    assert told == [f"{cost:.2f}" for cost in costs]


FOUND = dict(
    zip(
        ("Table IV, i.i.d.", "Table IV, non-i.i.d."),
        re.findall(
            r"(\d+)(?: candidates)? take (?:\D+|it )from ([\d.]+) to ([\d.]+\d)", " ".join(SECTION.split())
        ),
        strict=True,
    )
)
JOINT = {"Table IV, i.i.d.": ([2.0, 2.0, 1.15, 1.5], 1.06), "Table IV, non-i.i.d.": ([1.05] * 3, 0.626)}


@pytest.mark.parametrize("table", JOINT)
def test_the_cost_of_a_search_with_different_noises_is_their_sum(table):
    searched, published = JOINT[table]
    tried, one, every = FOUND[table]
    shares = math.sqrt(29)
    run = divergence(shares * published, 100)
    search = sum(divergence(shares * noise, 300) for noise in searched)
    assert int(tried) == len(searched)
    assert [one, every] == [f"{epsilon(cost):.2f}" for cost in (run, run + search)]


READINGS = {
    "table1": r"(tight_|few_n\d+_)?noniid_",
    "table2": r"(tight_|few_n\d+_)?iid_",
    "table3": r"aptos_[ci]|row_aptos_|(tight|n1000|n10000)_aptos_",
    "table4": r"joint_",
}


def test_every_table_says_how_many_candidates_there_were_and_the_page_as_many():
    tables = accuracy_tables(PAPER.tables)
    counted = {name: int(cells[0]) for name, cells in rows("table").items()}
    second = {table.place: table.searched for name, table in tables.items() if name.endswith("_s3")}
    assert second == counted
    joint = sum(int(tried) for tried, *_ in FOUND.values())
    counted["Table IV"] = joint + 92
    declared = load_paper("bdp2019_readings", ROOT / "config/papers").runs
    readings = {name: sum(bool(re.match(kind, run)) for run in declared) for name, kind in READINGS.items()}
    assert {name: tables[name].searched for name in READINGS} == {
        name: counted[tables[name].place] + more for name, more in readings.items()
    }
    more = "{table1}, {table2} and {table3} more runs for Tables I, II and III".format(**readings)
    assert more in " ".join(SECTION.split()) and f"{readings['table4']} for Table IV" in SECTION
    assert f"`make readings` tries {len(declared)} of them" in (ROOT / "docs/hyper-parameters.md").read_text()
    assert "joint privacy 92 plain loops were tried" in SECTION


def test_the_candidates_that_are_counted_were_declared():
    declared = load_paper("bdp2019_search", ROOT / "config/papers").runs
    count = {
        kind: len([name for name in declared if re.match(kind, name)])
        for kind in ("iid", "joint_iid", "joint_noniid")
    }
    private = [name for name in declared if name.startswith("noniid") and "none" not in name]
    assert [len(private), count["iid"]] == [int(rows("table")[name][0]) for name in ("Table I", "Table II")]
    assert [count["joint_iid"], count["joint_noniid"]] == [int(tried) for tried, *_ in FOUND.values()]
