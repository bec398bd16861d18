"""Follow a workflow: what it does in a line each, all that Snakemake says in a file.

python -m fedpriv.cli.follow LOG snakemake ...
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from fedpriv.errors import BadInput
from fedpriv.paper.read import read_yaml
from fedpriv.progress import MARK
from fedpriv.terminal import say

STEPS = re.compile(r"^(\d+) of (\d+) steps")  # done, after every step
TOTAL = re.compile(r"^total +(\d+)$")  # in the table of jobs, before the first
FAILED = re.compile(r"^Error in rule (\w+)")
LOG = re.compile(r"^    log: (.+?)(?: \(check log file|$)")
LAST = 20  # lines of what failed
UTF8 = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}  # of the command, whatever our terminal takes


def follow(command: Sequence[str], kept: Path) -> int:
    """Run `command`, print a line for whatever it begins and return its exit code, 128 + n after signal n.

    A failed job is told with the end of its log. An interrupt is the command's to handle: it is waited for.
    Nothing of it depends on who reads what is printed, or in which encoding.
    """
    started, done, total, failed = time.monotonic(), "0", "?", False
    signals: list[int] = []
    kept.parent.mkdir(parents=True, exist_ok=True)
    with (
        kept.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=os.environ | UTF8,
        ) as process,
    ):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: signals.append(passed_on(process, number)))
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
                say(f"failed: {found[1]}")
            elif failed and (found := LOG.match(line)):
                failed = False
                say(*end(Path(found[1])))
            elif MARK in line:
                minutes, seconds = divmod(int(time.monotonic() - started), 60)
                what = line.partition(MARK)[2].strip()
                say(f"[{done:>{len(total)}}/{total} {minutes:2}:{seconds:02}] {what}")
    if process.returncode and total == "?":  # before the first job
        say(*end(kept))
    say(f"All that Snakemake said: {kept}")
    if process.returncode and signals:
        say(f"interrupted after {done} of {total} steps; the same command goes on from there")
        return 128 + signals[0]
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def passed_on(process: subprocess.Popen[str], number: int) -> int:
    """Let the command end by itself, and return the signal; a terminal has sent the interrupt to it too."""
    if number == signal.SIGTERM:
        process.terminate()
    with contextlib.suppress(OSError):  # nobody may read it
        os.write(1, b"stopping when what runs has ended\n")  # print may be in the midst of a line
    return number


def end(log: Path) -> list[str]:
    """Return the last lines of a log, as far as there is one."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return [f"{log}: found no log"]
    return [f"{log}:", *(f"    {line}" for line in lines[-LAST:])]


def presets(command: Sequence[str]) -> Iterator[Path]:
    """Yield the presets that a command is given: Snakemake would read them first, and trip over some."""
    for place, word in enumerate(command):
        option, _, first = word.partition("=")
        if option in ("--configfile", "--configfiles"):
            others = takewhile(lambda word: not word.startswith("-"), command[place + 1 :])
            yield from map(Path, filter(None, (first, *others)))


if __name__ == "__main__":
    try:
        for preset in presets(sys.argv[2:]):
            read_yaml(preset)
        sys.exit(follow(sys.argv[2:], Path(sys.argv[1])))
    except BadInput as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:  # no such command, or no place for its log
        say(str(error))
        sys.exit(1)
