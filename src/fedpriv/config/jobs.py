"""The table of a plan: a row for each run, what it asks of a machine, and the job that trains it.

`fedpriv plan` prints the rows, Snakemake's rules read them. A job trains runs of one paper in one process,
one after the other; without `speed.runs_per_job` each run is a job. Runs that are stored have none.
"""

import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from fedpriv.config.files import (
    TRAINED,
    delta_marks,
    files,
    identity_marks,
    inputs,
    partition_files,
)
from fedpriv.config.plan import Plan, RunKey, arrays_id, partition_id
from fedpriv.config.sizes import INDEX, Sizes, read_times

MARGIN = 1.5  # asked over known: seeds of a run differ by as much, as busy as their machines were
START = 5  # minutes, granted to a job beside its runs
READ = 4  # copies that a job holds of the files that it reads
PRIORITY = 999  # of trainings at most: below what others wait for

# Seconds, each with how many runs up to there share a job: an hour of them at most. Those of seconds do,
# whatever their lengths; others, where none takes four times as long as another; what is longer is alone.
LENGTHS = {60: 60, 240: 15, 960: 3, float("inf"): 1}

State = Literal["stored", "trained", "to train"]


class RunRow(NamedTuple):
    """A run at a seed: a row of the table."""

    paper: str
    run: str
    seed: int
    identity: str
    state: State  # stored with the code, trained in results, or neither
    arrays: str  # id of the file that it is trained on
    partition: str  # id of the file that says who holds which of them
    minutes: float  # in its job
    mem_mb: int  # beside the files that it reads
    gpu: int
    job: str  # empty where it is stored


class Job(NamedTuple):
    """Runs that are trained in one process: what goes in and out, and what it asks of a machine."""

    name: str
    paper: str
    log: str
    runs: tuple[RunKey, ...]
    words: list[str]  # of its step: the paper, and RUN/SEED of each run
    inputs: list[str]
    trained: list[str]  # files that training writes
    measured: list[str]  # those of them that accounting reads
    ledgers: list[str]
    training_marks: list[tuple[str, str | None]]  # all that outdates its runs
    ledger_marks: list[object]  # all that outdates their ledgers
    minutes: int
    mem_mb: int  # beside the files that it reads
    gpu: int
    threads: int
    priority: int  # the longest first: what is short fills the gaps

    def asked_minutes(self, attempt: int = 1) -> int:
        """Return for how many minutes an attempt asks: for more where the one before ran out of time."""
        return self.minutes * (attempt - 1 if self._ended_before(attempt, "memory") else attempt)

    def asked_mb(self, attempt: int = 1, read: float = 0) -> int:
        """Return for how many MB an attempt asks that reads so many: for more where it was killed before."""
        times = attempt - 1 if self._ended_before(attempt, "time") else attempt
        return times * (self.mem_mb + math.ceil(READ * read))

    def _ended_before(self, attempt: int, short: Literal["time", "memory"]) -> bool:
        """Return True where the attempt before ended because time, or memory, was short, by the job's log.

        A training that is warned of its time limit says that it was stopped, one that takes too much memory
        is killed and says nothing. Of the other it asks for one time less, which may have been short before.
        Without a log both grow.
        """
        log = Path(self.log)
        if attempt == 1 or not log.is_file():
            return False
        stopped = "; stopped by SIG" in log.read_text(encoding="utf-8", errors="replace")
        return stopped == (short == "time")


class Dealing(NamedTuple):
    """Partitions of the same arrays at one seed, which are dealt in one job."""

    name: str
    words: str  # of its step: the seed, and the id of each partition
    arrays: str
    partitions: list[str]


def kept_index(plan: Plan) -> Path:
    """Return the copy of the index by which a preset's jobs are packed since the first of them began.

    The index may grow meanwhile, and what is packed otherwise would be done again.
    """
    return Path(f"results/{plan.preset.preset}/plan/index.csv")


def run_rows(
    plan: Plan,
    sizes: Sizes,
    stored: Container[RunKey] = (),
    packed_by: Sizes | None = None,
    root: Path = Path(),
) -> list[RunRow]:
    """Return the table of a plan: of every paper all runs, seed by seed.

    Those that are `stored` are not trained, whatever the results below `root` have. Jobs are `packed_by`
    sizes of their own, by default those by which the minutes are.
    """
    rows: list[RunRow] = []
    batches = run_batches(plan, packed_by or sizes) if plan.preset.speed.runs_per_job > 1 else {}
    for paper in plan.papers:
        for key in plan.keys(paper):
            job = f"{key.run}/seed{key.seed}"
            if batches:
                job = f"{paper}_seed{key.seed}_{batches[paper, key.run]}"
            state: State = "trained" if key.trained(plan.preset.preset, root) else "to train"
            if key in stored:
                state, job = "stored", ""
            rows.append(
                RunRow(
                    *(paper, key.run, key.seed, key.identity, state),
                    *(arrays_id(key.config), partition_id(key.config)),
                    sizes.seconds(paper, key.run) / 60,
                    sizes.mem_mb(paper, key.run),
                    int(sizes.wants_gpu(paper, key.run)),
                    job,
                )
            )
    return rows


def read_rows(plan: Plan, stored: Container[RunKey], root: Path = Path(), kept: bool = True) -> list[RunRow]:
    """Return the table of a plan by the index of the stored runs, packed by the index that was `kept`."""
    sizes = Sizes(plan, read_times(INDEX))
    packed_by = kept_index(plan)
    if not (kept and packed_by.exists()):
        return run_rows(plan, sizes, stored, root=root)
    return run_rows(plan, sizes, stored, Sizes(plan, read_times(packed_by)), root)


def run_batches(plan: Plan, sizes: Sizes) -> dict[tuple[str, str], int]:
    """Return by paper and run the number of the batch that it is in, the same for every seed.

    Runs of a batch read the same file of arrays, are about as long, which `LENGTHS` says, and either all ask
    for a GPU or none does. One more seed makes more batches and leaves these as they are.
    """
    batches: dict[tuple[str, str], int] = {}
    for paper, runs in plan.runs.items():
        alike: dict[tuple[str, int, bool], list[str]] = defaultdict(list)
        for name, run in runs.items():
            length = bisect(list(LENGTHS), sizes.seconds(paper, name))
            alike[arrays_id(run), length, sizes.wants_gpu(paper, name)].append(name)
        before = 0
        for (_, length, _), names in alike.items():
            most = min(plan.preset.speed.runs_per_job, list(LENGTHS.values())[length])
            count = math.ceil(len(names) / most)
            batches |= {(paper, name): before + index % count for index, name in enumerate(names)}
            before += count
    return batches


def training_jobs(plan: Plan, rows: Iterable[RunRow]) -> list[Job]:
    """Return the jobs that train the runs of these rows, each once, in their order."""
    together: dict[tuple[str, str], list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.job:
            together[row.paper, row.job].append(row)
    return [training_job(plan, same) for same in together.values()]


def training_job(plan: Plan, rows: Sequence[RunRow]) -> Job:
    """Return the job that trains the runs of these rows: its minutes are those of all, its memory of one."""
    runs = tuple(plan.key(row.paper, row.run, row.seed) for row in rows)
    marks, minutes = identity_marks(plan, runs), sum(row.minutes for row in rows)
    return Job(
        name=rows[0].job,
        paper=rows[0].paper,
        log=f"logs/{plan.preset.preset}/{rows[0].paper}/train/{rows[0].job}.log",
        runs=runs,
        words=[rows[0].paper, *(key.word for key in runs)],
        inputs=inputs(plan, runs),
        trained=files(plan, runs, *TRAINED),
        measured=files(plan, runs, "trace.parquet", "distances.npz"),
        ledgers=files(plan, runs, "ledger.parquet"),
        training_marks=marks,
        ledger_marks=[marks, delta_marks(runs)],
        minutes=math.ceil(START + MARGIN * minutes),
        mem_mb=max(row.mem_mb for row in rows),
        gpu=max(row.gpu for row in rows),
        threads=plan.preset.speed.threads or 2,
        priority=min(PRIORITY, math.ceil(minutes)),
    )


def partition_jobs(plan: Plan, jobs: Iterable[Job]) -> list[Dealing]:
    """Return the jobs that deal the partitions of these trainings: those of a seed and arrays in one."""
    together: dict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    for key in (key for job in jobs for key in job.runs):
        together[key.seed, arrays_id(key.config)][partition_id(key.config)] = None
    return [
        Dealing(
            f"partition_{number}",
            " ".join((str(seed), *ids)),
            f"resources/{arrays}.npz",
            partition_files(plan, seed, *ids),
        )
        for number, ((seed, arrays), ids) in enumerate(together.items())
    ]
