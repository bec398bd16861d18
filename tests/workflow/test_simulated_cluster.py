"""All of a preset on 16 cores, with the times of the stored runs: what is asked for is used, nobody waits."""

import re
from pathlib import Path

import pytest
from support.cluster import simulated

from fedpriv.config import jobs
from fedpriv.config.jobs import batches
from fedpriv.config.plan import load_preset

ROOT = Path(__file__).parents[2]
SAID = (
    r"all of `paper` on 16 cores: (\d+) submissions ask for (\d+) hours and use (\d+), "
    r"one for every ([\d.]+)\. (\d+) of them do not end in time and go on in a second attempt\. "
    r"The last ends after ([\d.]+) hours; no order of them ends before ([\d.]+)\."
)


@pytest.fixture(scope="module")
def paper():
    plan = load_preset(ROOT / "config/paper.yaml")
    size = jobs.Sizes(plan, jobs.read(ROOT / jobs.INDEX))
    return simulated(plan, size, batches(plan, size), workers=16)


def test_what_is_asked_for_is_at_most_twice_what_is_used(paper):
    assert 1 < paper.asked / paper.used <= 2
    assert paper.over <= 0.05 * paper.jobs


def test_no_core_waits_long_for_the_last_one(paper):
    assert paper.bound <= paper.makespan <= 1.15 * paper.bound


def test_the_page_on_clusters_says_so(paper):
    text = " ".join((ROOT / "docs/cluster.md").read_text(encoding="utf-8").split())
    (said,) = re.findall(SAID, text)
    asked, used, ends, bound = (
        seconds / 3600 for seconds in (paper.asked, paper.used, paper.makespan, paper.bound)
    )
    found = (paper.jobs, asked, used, asked / used, paper.over, ends, bound)
    assert [*map(float, said)] == pytest.approx(found, rel=0.1), f"now {found}"
