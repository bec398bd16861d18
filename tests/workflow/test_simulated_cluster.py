"""All of a preset on 16 cores, with the times of the stored runs: what is asked for is used, nobody waits."""

import heapq
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from fedpriv.config import jobs
from fedpriv.config.jobs import training_jobs
from fedpriv.config.plan import load_preset

ROOT = Path(__file__).parents[2]
SAID = (
    r"all of `paper` on 16 cores: (\d+) submissions ask for (\d+) hours and use (\d+), "
    r"one for every ([\d.]+)\. (\d+) of them do not end in time and go on in a second attempt\. "
    r"The last ends after ([\d.]+) hours; no order of them ends before ([\d.]+)\."
)


class Simulated(NamedTuple):
    """What came of it, in seconds but for the counts."""

    jobs: int
    asked: float
    used: float
    over: int  # jobs that would not have ended in the time that they asked for
    makespan: float
    bound: float  # no schedule is shorter: all work on all cores, or the longest job


def simulated(plan, sizes, batches, workers):
    """Give the next job, by priority, to the core that is free first."""
    jobs = sorted(batches, key=lambda batch: -batch.priority)
    took = [sum(truth(sizes, key) for key in job.runs) for job in jobs]
    asked = [60 * sizes.runtime(job.runs) for job in jobs]
    free = [0.0] * workers
    for seconds in took:
        heapq.heappushpop(free, free[0] + seconds)
    longest = max(truth(sizes, key) for job in jobs for key in job.runs)
    over = sum(real > limit for real, limit in zip(took, asked, strict=True))
    return Simulated(len(jobs), sum(asked), sum(took), over, max(free), max(sum(took) / workers, longest))


def truth(sizes, key):
    """Return the seconds of a seed: its own where it is stored, else what is known of its run."""
    return sizes.took.seconds.get(key.identity, sizes.known(key.paper, key.run))


@pytest.fixture(scope="module")
def paper():
    plan = load_preset(ROOT / "config/paper.yaml")
    size = jobs.Sizes(plan, jobs.read_times(ROOT / jobs.INDEX))
    return simulated(plan, size, training_jobs(plan, size), workers=16)


def test_what_is_asked_for_is_at_most_twice_what_is_used_and_no_core_waits_long_for_the_last_one(paper):
    assert 1 < paper.asked / paper.used <= 2
    assert paper.over <= 0.05 * paper.jobs
    assert paper.bound <= paper.makespan <= 1.15 * paper.bound


def test_the_page_on_clusters_says_so(paper):
    text = " ".join((ROOT / "docs/cluster.md").read_text(encoding="utf-8").split())
    (said,) = re.findall(SAID, text)
    asked, used, ends, bound = (
        seconds / 3600 for seconds in (paper.asked, paper.used, paper.makespan, paper.bound)
    )
    found = (paper.jobs, asked, used, asked / used, paper.over, ends, bound)
    assert [*map(float, said)] == pytest.approx(found, rel=0.1), f"now {found}"
