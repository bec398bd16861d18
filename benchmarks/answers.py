"""Measure how long the program takes to answer, on a warm disk, beside how long it may.

python benchmarks/answers.py

Each command is typed in a process of its own, once to warm the disk and then `--repeats` times, in turns; the
table has the median of wall and of CPU seconds. Exit code 1 if a median is longer than it may be.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = {  # that a command may take
    "--help": 0.3,
    "epsilon -q .3 --sigma 3 --rounds 300 --delta 1e-3": 0.8,
    "show bdp2019 table2": 1.0,
    "show bdp2019 table2 100 dp": 1.0,
    "compare bdp2019": 1.0,
    "list runs --paper bdp2019": 2.0,
}


def seconds(command):
    """Return the wall and the CPU seconds of a command."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-m", "fedpriv", *command.split()]
    subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    took, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    took = {command: [] for command in SECONDS}
    for repeat in range(asked.repeats + 1):
        for command, times in took.items():
            pair = seconds(command)
            times += [pair] * (repeat > 0)
    print("| command | wall, s | CPU, s | allowed, s |\n|---|---|---|---|")
    medians = {
        command: [*map(statistics.median, zip(*times, strict=True))] for command, times in took.items()
    }
    for command, (wall, cpu) in medians.items():
        print(f"| `fedpriv {command}` | {wall:.2f} | {cpu:.2f} | {SECONDS[command]:g} |")
    sys.exit(any(wall > SECONDS[command] for command, (wall, _) in medians.items()))


if __name__ == "__main__":
    main()
