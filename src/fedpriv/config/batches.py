"""Which runs are trained in one process, one after the other, and which partitions are dealt for them."""

from bisect import bisect
from collections.abc import Container, Iterable

from fedpriv.config.names import arrays_id, partition_id
from fedpriv.config.plan import Plan, RunKey
from fedpriv.config.sizes import Sizes
from fedpriv.config.targets import Job, dealt

# Seconds, each with how many runs up to there share a job: an hour of them at most. Those of seconds do,
# whatever their lengths; others, where none takes four times as long as another; what is longer is alone.
LENGTHS = {60: 60, 240: 15, 960: 3, float("inf"): 1}


def batches(plan: Plan, sizes: Sizes, taken: Container[RunKey] = ()) -> list[Job]:
    """Return the runs that share a job: at most `speed.runs_per_job` of a paper, none where that is one.

    Those that are `taken` from stored runs are not among them.

    They read the same file of arrays, are about as long, which `LENGTHS` says, and either all ask for a GPU
    or none does. One more seed makes more batches and leaves these as they are. The longest go first.
    """
    most, found = plan.preset.speed.runs_per_job, list[Job]()
    for paper, runs in plan.runs.items() if most > 1 else ():
        alike: dict[tuple[str, int, bool], list[str]] = {}
        for name, run in runs.items():
            length = bisect([*LENGTHS], sizes.seconds(paper, name))
            alike.setdefault((arrays_id(run), length, sizes.wants_gpu(paper, name)), []).append(name)
        parts = [
            (some, -(-len(some) // min(most, [*LENGTHS.values()][length])))
            for (_, length, _), some in alike.items()
        ]
        together = [some[part::count] for some, count in parts for part in range(count)]
        found += [
            Job(f"{paper}_seed{seed}_{number}", [key for key in keys if key not in taken])
            for seed in plan.seeds
            for number, some in enumerate(together)
            for keys in [[plan.key(paper, run, seed) for run in some]]
        ]
    return [job._replace(priority=sizes.priority(job.runs)) for job in found if job.runs]


def dealt_together(plan: Plan, jobs: Iterable[Job]) -> dict[str, list[str]]:
    """Return the partitions that share a job, by what it is told: a seed and ids, of the same arrays."""
    found: dict[tuple[int, str], list[str]] = {}
    for key in (key for job in jobs for key in job.runs):
        ids = found.setdefault((key.seed, arrays_id(key.config)), [])
        ids += [partition_id(key.config)] * (partition_id(key.config) not in ids)
    return {" ".join((str(seed), *ids)): dealt(plan, seed, *ids) for (seed, _), ids in found.items()}
