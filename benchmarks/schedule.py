"""Simulate all trainings of a preset on a cluster, with the times of stored runs and with what goes wrong.

python benchmarks/schedule.py config/paper.yaml --gpus 1 16 100
python benchmarks/schedule.py config/paper.yaml --gpus 10 --start 8    each run is a process of its own

A node has one GPU and sixteen cores. Jobs are packed, sized and ordered as the workflow does it; each starts
where there is room, the longest first. A job that asks for a GPU takes `GPU` of the seconds that its stored
runs took on one core: measured for Table II with 10,000 clients on an H100.

What goes wrong: a job is preempted after `PREEMPTED` hours on average; a node is lost after `LOST` hours for
half an hour, with all its jobs; from `FULL[0]` to `FULL[1]` hours the scratch disk is full, and every job
that ends then fails. A job goes on from the checkpoint of its run, two minutes later. Failing and running
out of time are attempts. After three Snakemake gives the job up, goes on with the others and ends; the same
command, given again when all else is done, starts what is missing.
"""

import argparse
import heapq
import itertools
from pathlib import Path

import numpy as np

from fedpriv.config.jobs import run_rows, training_jobs
from fedpriv.config.plan import load_preset
from fedpriv.config.sizes import INDEX, UNKNOWN, Sizes, read_times

CORES, GPU = 16, 0.1
PREEMPTED, LOST, DOWN = 10.0, 100.0, 0.5  # hours
FULL = (0.2, 0.37)
REQUEUED, BEGIN = 2 / 60, 20 / 3600  # hours until a job starts again, and until it has read plan and data
KEPT = 10  # rounds between two checkpoints
ATTEMPTS = 3
FAULTS = ("preempted", "node lost", "disk full", "out of time", "given up")


def stored_seconds(sizes, key):
    """Return the seconds of a seed on one core: its own where it is stored, else what is known of its run."""
    known = sizes.took.seconds.get(key.identity, sizes.known(key.paper, key.run))
    return UNKNOWN if known is None else known


def lengths(sizes, job, start=0.0):
    """Return the hours of each run of a job, and the most that is lost of each when it is killed.

    `start` are the seconds that each run but the first takes to begin, where it is a process of its own.
    """
    scale = GPU if job.gpu else 1 / job.threads
    seconds = np.array([stored_seconds(sizes, key) for key in job.runs]) * scale
    seconds[1:] += start
    hours = seconds / 3600
    return hours, hours * [min(KEPT / key.config.rounds, 1) for key in job.runs]


def simulate(sizes, batches, nodes, faults, seed=0, start=0.0):
    """Return the hours until the last job ends, those that jobs held, and how often each thing went wrong."""
    rng = np.random.default_rng(seed)
    free = {node: [CORES, 1] for node in range(nodes)}
    needs = [(job.threads, job.gpu) for job in batches]
    work = [lengths(sizes, job, start) for job in batches]
    left, attempts = [hours.sum() + BEGIN for hours, _ in work], [1] * len(batches)
    waiting = sorted(range(len(batches)), key=lambda job: -batches[job].priority)
    events, number, running, given_up = [], itertools.count(), {}, []
    counts = dict.fromkeys(FAULTS, 0)
    if faults:
        for node in range(nodes):
            heapq.heappush(events, (rng.exponential(LOST), next(number), "node lost", node))
    now = held = last = 0.0

    def stop(job, why):
        """Take a job from its node; what it did since its last checkpoint is lost."""
        nonlocal held
        node, began, _ = running.pop(job)
        cores, gpu = needs[job]
        if free[node] is not None:
            free[node] = [free[node][0] + cores, free[node][1] + gpu]
        held += now - began
        if why == "done":
            return
        counts[why] += 1
        done = max(now - began - BEGIN, 0)
        left[job] -= max(done - rng.uniform() * work[job][1].max(), 0)
        attempts[job] += why in ("disk full", "out of time")
        if attempts[job] > ATTEMPTS:
            counts["given up"] += 1
            attempts[job] = 1
            given_up.append(job)
        else:
            heapq.heappush(events, (now + REQUEUED, next(number), "again", job))

    while True:
        for job in list(waiting):
            cores, gpu = needs[job]
            node = next((n for n, room in free.items() if room and room[0] >= cores and room[1] >= gpu), None)
            if node is None:
                continue
            waiting.remove(job)
            free[node] = [free[node][0] - cores, free[node][1] - gpu]
            limit = attempts[job] * batches[job].minutes / 60
            ends = {"done": left[job], "out of time": limit}
            if faults:
                ends["preempted"] = rng.exponential(PREEMPTED)
            why = min(ends, key=ends.get)
            running[job] = (node, now, turn := next(number))
            heapq.heappush(events, (now + ends[why], turn, why, job))
        if not running and not waiting and not any(kind == "again" for _, _, kind, _ in events):
            if not given_up:
                return last, held, counts
            waiting, given_up = given_up, []
            continue
        now, turn, kind, which = heapq.heappop(events)
        if kind in ("done", "out of time", "preempted"):
            if which in running and running[which][2] == turn:
                full = faults and FULL[0] <= now <= FULL[1] and kind == "done"
                stop(which, "disk full" if full else kind)
                last = now
        elif kind == "again":
            waiting = sorted([*waiting, which], key=lambda job: -batches[job].priority)
        elif kind == "node lost":
            free[which] = None
            for job in [job for job, (node, *_) in running.items() if node == which]:
                stop(job, "node lost")
            heapq.heappush(events, (now + DOWN, next(number), "back", which))
        elif kind == "back":
            free[which] = [CORES, 1]
            heapq.heappush(events, (now + rng.exponential(LOST), next(number), "node lost", which))


def best(sizes, batches, nodes):
    """Return the hours before which no schedule ends: the longest run, or all work of GPUs or of cores."""
    work = [lengths(sizes, job)[0] for job in batches]
    gpus = sum(hours.sum() for hours, job in zip(work, batches, strict=True) if job.gpu)
    cores = sum(hours.sum() for hours in work) * sizes.threads
    return max(gpus / nodes, cores / (nodes * CORES), max(hours.max() for hours in work))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 16, 100])
    parser.add_argument("--start", type=float, default=0.0, help="seconds of each run but a job's first")
    asked = parser.parse_args()
    plan = load_preset(asked.config)
    sizes = Sizes(plan, read_times(INDEX))
    batches = training_jobs(plan, run_rows(plan, sizes))
    runs, with_gpu = sum(len(job.runs) for job in batches), sum(job.gpu for job in batches)
    print(f"{len(batches)} submissions of {runs:,} runs, {with_gpu} with a GPU\n")
    heads = ("GPUs", "no schedule is faster, h", "simulated, h", "with faults, h", "jobs' hours", *FAULTS)
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for nodes in asked.gpus:
        bound = best(sizes, batches, nodes)
        calm, *_ = simulate(sizes, batches, nodes, faults=False, start=asked.start)
        rough, held, counts = simulate(sizes, batches, nodes, faults=True, start=asked.start)
        numbers = " | ".join(str(count) for count in counts.values())
        print(f"| {nodes} | {bound:.2f} | {calm:.2f} | {rough:.2f} | {held:.1f} | {numbers} |")


if __name__ == "__main__":
    main()
