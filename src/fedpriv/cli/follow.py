"""Follow a workflow: what it does in a line each, all that Snakemake says in a file.

python -m fedpriv.cli.follow LOG snakemake ...
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fedpriv.progress import MARK

STEPS = re.compile(r"^(\d+) of (\d+) steps")  # done, after every step
TOTAL = re.compile(r"^total +(\d+)$")  # in the table of jobs, before the first
FAILED = re.compile(r"^Error in rule (\w+)")
LOG = re.compile(r"^    log: (.+?)(?: \(check log file|$)")
LAST = 20  # lines of what failed


def follow(command: Sequence[str], kept: Path) -> int:
    """Run `command`, print a line for whatever it begins and return its exit code, 128 + n after signal n.

    A failed job is told with the end of its log. An interrupt is the command's to handle: it is waited for.
    """
    started, done, total, failed = time.monotonic(), "0", "?", False
    kept.parent.mkdir(parents=True, exist_ok=True)
    with (
        kept.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        ) as process,
    ):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: passed_on(process, number))
        assert process.stdout
        for line in process.stdout:
            file.write(line)
            file.flush()
            if found := TOTAL.match(line):
                total = found[1]
            elif found := STEPS.match(line):
                done, total = found.groups()
            elif found := FAILED.match(line):
                failed = True
                print(f"failed: {found[1]}", flush=True)
            elif failed and (found := LOG.match(line)):
                failed = False
                print(end(Path(found[1])), flush=True)
            elif MARK in line:
                minutes, seconds = divmod(int(time.monotonic() - started), 60)
                what = line.partition(MARK)[2].strip()
                print(f"[{done:>{len(total)}}/{total} {minutes:2}:{seconds:02}] {what}", flush=True)
    if process.returncode and total == "?":  # before the first job
        print(end(kept))
    print(f"All that Snakemake said: {kept}")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def passed_on(process: subprocess.Popen[str], number: int) -> None:
    """Let the command end by itself; a terminal has sent the interrupt to it too."""
    if number == signal.SIGTERM:
        process.terminate()
    os.write(
        sys.stdout.fileno(), b"stopping when what runs has ended\n"
    )  # print may be in the midst of a line


def end(log: Path) -> str:
    """Return the last lines of a log, as far as there is one."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{log}: found no log"
    return "\n".join([f"{log}:", *(f"    {line}" for line in lines[-LAST:])])


if __name__ == "__main__":
    sys.exit(follow(sys.argv[2:], Path(sys.argv[1])))
