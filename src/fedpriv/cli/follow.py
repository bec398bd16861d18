"""Follow a workflow: what it does in a line each, all that Snakemake says in a file.

python -m fedpriv.cli.follow LOG snakemake ...
"""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from fedpriv.cli.again import force_outdated
from fedpriv.errors import BadInput
from fedpriv.progress import MARK
from fedpriv.terminal import say

STEPS = re.compile(r"^(\d+) of (\d+) steps")  # done, after every step
TOTAL = re.compile(r"^total +(\d+)$")  # in the table of jobs, before the first
FAILED = re.compile(r"^Error in rule (\w+)")
LOG = re.compile(r"^    log: (.+?)(?: \(check log file|$)")
LAST = 20  # lines of what failed
STOPPED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last where the terminal goes away
UTF8 = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}  # of the command, whatever our terminal takes


class Log:
    """The file that keeps all that is said, while there is room for it."""

    def __init__(self, path: Path) -> None:
        """Empty the log of those before, unless one of them still writes it: BadInput."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.lost = path, ""
        self.file = path.open("ab", buffering=0)  # closing tries nothing again that found no room
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it dies with this process
        except BlockingIOError:
            self.file.close()
            raise BadInput(
                f"{path}: found another workflow that writes it, allowed: one of a preset at a time"
            ) from None
        except OSError:  # a file system without locks
            pass
        self.file.truncate(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def keep(self, line: str) -> None:
        """Write a line; from the first that does not fit on, nothing."""
        if self.lost:
            return
        try:
            self.file.write(line.encode())
        except OSError as error:
            self.lost = f"{self.path}: {error.strerror}; the workflow goes on, what it says is kept no longer"
            tell(self.lost)


def follow(command: Sequence[str], kept: Path) -> int:
    """Run `command`, print a line for whatever it begins and return its exit code, 128 + n after signal n.

    A failed job is told with the end of its log. An interrupt is the command's to handle: it is waited for,
    and so is its end where the terminal goes away. Nothing of it depends on who reads what is printed, in
    which encoding, or whether there is room for it. BadInput where another one is followed into that file.
    """
    started, done, total, failed = time.monotonic(), "0", "?", False
    signals: list[int] = []
    # The command and its jobs would die of it, and leave a lock: they end when this process tells them.
    hushed = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with (
        Log(kept) as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=os.environ | UTF8,
        ) as process,
    ):
        # Under nohup nobody minds the end of the terminal.
        for number in STOPPED_BY if hushed != signal.SIG_IGN else STOPPED_BY[:-1]:
            signal.signal(number, lambda number, _: signals.append(passed_on(process, number)))
        assert process.stdout
        for line in process.stdout:
            log.keep(line)
            if found := TOTAL.match(line):
                total = found[1]
            elif found := STEPS.match(line):
                done, total = found.groups()
            elif found := FAILED.match(line):
                failed = True
                tell(f"failed: {found[1]}")
            elif failed and (found := LOG.match(line)):
                failed = False
                tell(*end(Path(found[1])))
            elif MARK in line:
                minutes, seconds = divmod(int(time.monotonic() - started), 60)
                what = line.partition(MARK)[2].strip()
                tell(f"[{done:>{len(total)}}/{total} {minutes:2}:{seconds:02}] {what}")
    if process.returncode and total == "?":  # before the first job
        tell(*end(kept))
    tell(log.lost or f"All that Snakemake said: {kept}")
    if process.returncode and signals:
        tell(f"interrupted after {done} of {total} steps; the same command goes on from there")
        return 128 + signals[0]
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def tell(*lines: str) -> None:
    """Print lines; what cannot be printed is no reason to stop, for what is followed would stop too."""
    with contextlib.suppress(OSError):
        say(*lines)


def passed_on(process: subprocess.Popen[str], number: int) -> int:
    """Let the command end by itself, and return the signal; a terminal has sent the interrupt to it too."""
    if number != signal.SIGINT:
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


if __name__ == "__main__":
    try:
        sys.exit(follow(force_outdated(sys.argv[2:]), Path(sys.argv[1])))
    except BadInput as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:  # no such command, or no place for its log
        say(str(error))
        sys.exit(1)
