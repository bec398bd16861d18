"""Race all contenders on W1, one fresh process at a time, in turns; write w1.md, w1.csv and w1.jsonl.

python benchmarks/w1.py --data resources/mnist.npz --python-others .venv/others/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import table
import work
from child import ALLOCATOR, Failed, ask


class Entry(NamedTuple):
    """A contender with the settings it is raced in; `others` run under the other interpreter."""

    label: str
    contender: str
    others: bool = False
    dtype: str = "float32"
    environment: Mapping[str, str] = {}

    @property
    def ours(self) -> bool:
        return self.contender == "ours"


ENTRIES = {
    "plain": Entry("plain loop, a deep copy for each client", "plain"),
    "flower": Entry("Flower simulation, one actor a core", "flower", others=True),
    "pfl": Entry("pfl-research, one process", "pfl", others=True),
    "ours": Entry("fedpriv", "ours"),
    "ours-bf16": Entry("fedpriv, bfloat16 arithmetic", "ours", dtype="bfloat16"),
    "ours-no-native": Entry(
        "fedpriv, without its native kernel", "ours", environment={"FEDPRIV_NATIVE": "0"}
    ),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("resources/mnist.npz"))
    parser.add_argument("--rounds", type=int, default=20, help=f"timed, after {work.WARM_UP} more")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--python-others", default=sys.executable, help="has requirements.txt installed")
    parser.add_argument("--only", nargs="+", choices=ENTRIES, default=list(ENTRIES), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    asked = parser.parse_args()
    if not asked.data.is_file():
        parser.error(f"--data: found no file {asked.data}, allowed: mnist.npz (see benchmarks/README.md)")
    if asked.rounds < 1 or asked.repeats < 1:
        parser.error("--rounds, --repeats: found a number below 1, allowed: 1 or more")
    return asked


def race(entry: Entry, asked: argparse.Namespace, repeat: int) -> dict[str, Any]:
    """Return the record of one contender in one repeat; raises Failed if it cannot run."""
    record = ask(
        asked.python_others if entry.others else sys.executable,
        "contend.py",
        entry.contender,
        *("--data", asked.data, "--rounds", asked.rounds, "--dtype", entry.dtype),
        environment=entry.environment,
        minutes=5 + asked.rounds,
    )
    if "left_out" in record:
        raise Failed(record["left_out"])
    return record | {"label": entry.label, "ours": entry.ours, "repeat": repeat, "load": os.getloadavg()[0]}


def other_work(record: Mapping[str, Any]) -> str:
    """Return what a contender did differently from W1, or the empty string."""
    wanted = {
        "clients": [work.COHORT],
        "examples": [work.EXAMPLES],
        "norms": work.WARM_UP * work.COHORT,
    }
    wrong = [f"{name} {record[name]}, not {value}" for name, value in wanted.items() if record[name] != value]
    if not record["largest_norm"] <= work.CLIP * (1 + 1e-4):
        wrong.append(f"an update of norm {record['largest_norm']} after clipping, not up to {work.CLIP}")
    if not record["moved"] > 0:
        wrong.append(f"a model that moved by {record['moved']}")
    if len(record["accuracies"]) != 1 + record["rounds"] // work.EVALUATE_EVERY:
        wrong.append(f"{len(record['accuracies'])} evaluations")
    return "; ".join(wrong)


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def notes(
    records: list[dict[str, Any]], machine: Mapping[int, Mapping[str, float]], left_out: Mapping[str, str]
) -> list[str]:
    """Return what must be read with the table."""
    rates = {name: median(one[name] for one in machine.values()) for name in ("float32", "bfloat16")}
    torches = {f"torch {one['torch']}" for one in records}
    libraries = sorted(torches | {one["library"] for one in records if "library" in one})
    native = any(one.get("native") for one in records)
    lines = [
        f"{processor()}, {len(os.sched_getaffinity(0))} cores; {', '.join(libraries)}",
        f"second convolution, forward and backward: {rates['float32']:.0f} GFLOP/s float32, "
        f"{rates['bfloat16']:.0f} bfloat16 (the share is taken in the contender's own dtype)",
        f"a round is {work.COHORT} x {work.EXAMPLES} examples x {work.flop_per_example() / 1e6:.2f} MFLOP; "
        f"{records[0]['rounds']} rounds after {work.WARM_UP} of warm-up, evaluations timed but not counted",
        "for everybody: " + " ".join(f"{name}={value}" for name, value in ALLOCATOR.items()),
        "Flower's memory is the sum of the peaks of its driver and its actors, without Ray's own processes",
        f"largest one-minute load at the end of a contender: {max(one['load'] for one in records):.1f}",
    ]
    if not native and any(one["ours"] for one in records):
        lines.append("the native kernel was not available: all rows of fedpriv ran without it")
    return lines + [f"left out: {label}: {reason}" for label, reason in left_out.items()]


def main() -> None:
    asked = arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    machine: dict[int, dict[str, float]] = {}
    left_out: dict[str, str] = {}
    with (asked.out / "w1.jsonl").open("w") as book:
        for repeat in range(asked.repeats):
            machine[repeat] = ask(sys.executable, "throughput.py")
            for name in asked.only:
                entry, turn = ENTRIES[name], f"{repeat + 1}/{asked.repeats} {name}"
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
    if not records:
        sys.exit("nothing could be raced")
    rows = table.rows(records, machine)
    lines = [f"- {line}\n" for line in notes(records, machine, left_out)]
    text = table.markdown(rows) + "\n\n" + "".join(lines)
    rows.to_csv(asked.out / "w1.csv", index=False)
    (asked.out / "w1.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
