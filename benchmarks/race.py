"""Race all contenders on a workload, one fresh process at a time, in turns; write its table, .csv and .jsonl.

python benchmarks/race.py w1 --data resources/mnist.npz --python-others .venv/others/bin/python
python benchmarks/race.py w4 --against ../fedpriv-at-another-commit --only ours-run against
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TextIO

import features
import table
import throughput
import work
from child import ALLOCATOR, AVX2, Failed, ask
from entries import ENTRIES, EVERY, Entry, checkout
from workload import EVALUATE_EVERY, WORKLOADS, Workload

AGAINST = "against"  # the name of another checkout of fedpriv


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workload", choices=EVERY)
    parser.add_argument("--data", type=Path, help="found below resources; without features they are made up")
    parser.add_argument("--rounds", type=int, help="timed, after those of warm-up; see workload.py")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--python-others", default=sys.executable, help="has requirements.txt installed")
    parser.add_argument(
        "--against", type=Path, help="another checkout of fedpriv, for the paper's own rounds"
    )
    parser.add_argument("--avx2", action="store_true", help="as on a machine without AVX-512")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=", ".join((*ENTRIES, AGAINST)))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    asked = parser.parse_args()
    asked.workload = WORKLOADS[asked.workload]
    asked.rounds = asked.workload.rounds if asked.rounds is None else asked.rounds
    asked.entries = {name: one for name, one in ENTRIES.items() if asked.workload.name in one.races}
    if asked.against:
        if not asked.workload.run or not (asked.against / "config/papers").is_dir():
            parser.error(
                f"--against: found {asked.against}, allowed: a checkout of fedpriv, with w4, w5 or w6"
            )
        asked.entries[AGAINST] = checkout(f"fedpriv at {commit(asked.against)}", asked.against.resolve())
    asked.only = asked.only or list(asked.entries)
    asked.data = asked.data or Path("resources") / f"{asked.workload.arrays}.npz"
    if not asked.data.is_file() and asked.workload.model != "head":
        parser.error(f"--data: found no file {asked.data}, allowed: mnist.npz (see benchmarks/README.md)")
    if asked.rounds < 1 or asked.repeats < 1:
        parser.error("--rounds, --repeats: found a number below 1, allowed: 1 or more")
    if strangers := sorted(set(asked.only) - set(asked.entries)):
        parser.error(f"--only: found {', '.join(strangers)}, allowed: {', '.join(asked.entries)}")
    return asked


def commit(folder: Path) -> str:
    """Return the short name of the commit that is checked out in `folder`, or the folder's own name."""
    command = ["git", "-C", folder, "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stdout.strip() or folder.resolve().name


def race(entry: Entry, asked: argparse.Namespace, repeat: int) -> dict[str, Any]:
    """Return the record of one contender in one repeat; raises Failed if it cannot run."""
    options = ("--data", asked.data, "--rounds", asked.rounds)
    record = entry.ask(asked.workload.name, asked.python_others, *options, minutes=5 + asked.rounds)
    return record | {"label": entry.label, "ours": entry.ours, "repeat": repeat, "load": os.getloadavg()[0]}


def other_work(record: Mapping[str, Any]) -> str:
    """Return what a contender did differently from its workload, or the empty string."""
    workload = WORKLOADS[record["workload"]]
    wrong = [] if record["clients"] == [workload.cohort] else [f"{record['clients']} clients"]
    low, high = workload.sizes
    if not low <= min(record["examples"]) <= max(record["examples"]) <= high:
        wrong.append(f"clients with {record['examples']} examples, not {low} to {high}")
    (least, largest), (low, high) = record["norms"], workload.norms
    if not low <= least <= largest <= high * (1 + 1e-4):
        wrong.append(f"updates of norm {least} to {largest}, not within {low} to {high}")
    if not record["moved"] > 0:
        wrong.append(f"a model that moved by {record['moved']}")
    accuracies = record["accuracies"]  # None: of rounds without evaluation
    if accuracies is not None and len(accuracies) != 1 + record["rounds"] // EVALUATE_EVERY:
        wrong.append(f"{len(accuracies)} evaluations")
    return "; ".join(wrong)


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def notes(
    workload: Workload,
    records: list[dict[str, Any]],
    machine: Mapping[int, Mapping[str, float]],
    left_out: Mapping[str, str],
    settings: Mapping[str, str],
) -> list[str]:
    """Return what must be read with the table; `settings` are of everybody's environment."""
    rates = {name: median(one[name] for one in machine.values()) for name in ("float32", "bfloat16")}
    torches = {f"torch {one['torch']}" for one in records}
    libraries = sorted(torches | {one["library"] for one in records if "library" in one})
    engines = sorted({one["engine"] for one in records if "engine" in one})
    steps = f"{workload.steps} step{'s' if workload.steps > 1 else ''} of {workload.optimizer}"
    lines = [
        f"{processor()}, {len(os.sched_getaffinity(0))} cores; {', '.join(libraries)}",
        f"{throughput.what(workload)}, forward and backward: {rates['float32']:.0f} GFLOP/s float32, "
        f"{rates['bfloat16']:.0f} bfloat16 (the share is taken in the contender's own dtype)",
        f"a round is {workload.cohort} clients x {workload.expected} examples x "
        f"{work.flop_per_example(workload) / 1e6:.2f} MFLOP, {steps} a client; {records[0]['rounds']} rounds "
        f"after {workload.warm_up} of warm-up, evaluations timed but not counted",
        "for everybody: " + " ".join(f"{name}={value}" for name, value in settings.items()),
        "memory of several processes (Flower, pfl-research in two) is the sum of their peaks, without Ray's",
        f"largest one-minute load at the end of a contender: {max(one['load'] for one in records):.1f}",
    ]
    return (
        lines
        + [f"engine of fedpriv: {engine}" for engine in engines]
        + [f"left out: {label}: {reason}" for label, reason in left_out.items()]
    )


class Raced(NamedTuple):
    """What came of all turns: records, what the machine gave in each turn, and why somebody did not run."""

    records: list[dict[str, Any]]
    machine: dict[int, dict[str, float]]
    left_out: dict[str, str]


def turns(asked: argparse.Namespace, book: TextIO) -> Raced:
    """Race everybody, in turns, and write each record into `book`; exits where somebody did other work."""
    records: list[dict[str, Any]] = []
    machine: dict[int, dict[str, float]] = {}
    left_out: dict[str, str] = {}
    for repeat in range(asked.repeats):
        machine[repeat] = ask(sys.executable, "throughput.py", asked.workload.name)
        for name in asked.only:
            entry, turn = asked.entries[name], f"{repeat + 1}/{asked.repeats} {name}"
            if entry.label in left_out:
                continue
            try:
                record = race(entry, asked, repeat)
            except Failed as failed:
                left_out[entry.label] = str(failed)
                print(f"{turn}: left out, {failed}", file=sys.stderr)
                continue
            if wrong := other_work(record):
                sys.exit(f"{turn}: did other work: {wrong}")
            records.append(record)
            print(json.dumps(record), file=book, flush=True)
            print(f"{turn}: {table.speed(record):.3f} rounds/s", file=sys.stderr)
    return Raced(records, machine, left_out)


def main() -> None:
    asked = arguments()
    workload: Workload = asked.workload
    name, settings = workload.name, ALLOCATOR
    if asked.avx2:
        name, settings = f"{name}-avx2", settings | AVX2
        os.environ.update(AVX2)
    asked.out.mkdir(parents=True, exist_ok=True)
    with (
        (asked.out / f"{name}.jsonl").open("w") as book,
        features.data_for(workload, asked.data) as asked.data,
    ):
        records, machine, left_out = turns(asked, book)
    if not records:
        sys.exit("nothing could be raced")
    base = asked.entries[AGAINST].label if asked.against else ""
    rows = table.rows(workload, records, machine, base)
    lines = [f"- {line}\n" for line in notes(workload, records, machine, left_out, settings)]
    text = table.markdown(rows) + "\n\n" + "".join(lines)
    rows.to_csv(asked.out / f"{name}.csv", index=False)
    (asked.out / f"{name}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
