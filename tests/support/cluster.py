"""Batches of a preset on a cluster of so many cores, where every run takes what its stored seed took."""

import heapq
from typing import NamedTuple


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
