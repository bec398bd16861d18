"""All of a preset on a cluster, with the times of stored runs: what is asked for is used, nobody waits."""

import re
import runpy
from pathlib import Path

import pytest

from fedpriv.config.jobs import run_rows, training_jobs
from fedpriv.config.plan import load_preset
from fedpriv.config.sizes import INDEX, Sizes, read_times

ROOT = Path(__file__).parents[2]
SCHEDULE = runpy.run_path(str(ROOT / "benchmarks/schedule.py"))
ROW = r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \| (\d+) \| (\d+) \|$"
ROWS = re.findall(ROW, (ROOT / "docs/cluster.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def paper():
    plan = load_preset(ROOT / "config/paper.yaml")
    sizes = Sizes(plan, read_times(ROOT / INDEX))
    return sizes, training_jobs(plan, run_rows(plan, sizes))


def test_what_is_asked_for_is_at_most_twice_what_is_used(paper):
    sizes, batches = paper
    used = [sum(SCHEDULE["stored_seconds"](sizes, key) for key in job.runs) for job in batches]
    asked = [60 * job.minutes for job in batches]
    assert 1 < sum(asked) / sum(used) <= 2
    assert sum(a < u for a, u in zip(asked, used, strict=True)) <= 0.05 * len(batches)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} GPUs")
def test_the_page_on_clusters_says_what_comes_out_and_no_node_waits_long_for_the_last_one(paper, row):
    nodes, bound, calm, rough, held, stopped, full, given_up = map(float, row)
    assert SCHEDULE["best"](*paper, int(nodes)) == pytest.approx(bound, rel=0.02)
    ends, *_ = SCHEDULE["simulate"](*paper, int(nodes), faults=False)
    assert ends == pytest.approx(calm, rel=0.02) and bound * 0.98 <= ends <= 1.3 * bound
    ends, hours, counts = SCHEDULE["simulate"](*paper, int(nodes), faults=True)
    waited = SCHEDULE["FULL"][1] - SCHEDULE["FULL"][0]  # by who cannot write
    assert (ends, hours) == pytest.approx((rough, held), rel=0.1) and ends <= 1.3 * bound + waited
    assert counts["preempted"] + counts["node lost"] == pytest.approx(stopped, abs=5)
    assert counts["disk full"] == pytest.approx(full, rel=0.2, abs=5) and len(ROWS) == 3
    assert counts["given up"] == pytest.approx(given_up, rel=0.3, abs=3)
