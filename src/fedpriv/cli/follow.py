"""Follow a workflow: what it does in a line each, all that Snakemake says in a file.

python -m fedpriv.cli.follow LOG snakemake ...
"""

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

import psutil

from fedpriv.errors import BadInput
from fedpriv.progress import MARK, put, say, visible

STEPS = re.compile(r"^(\d+) of (\d+) steps")  # done, after every step
TOTAL = re.compile(r"^total +(\d+)$")  # in the table of jobs, before the first
FAILED = re.compile(r"^Error in rule (\w+)")
LOG = re.compile(r"^    log: (.+?)(?: \(check log file|$)")
PAUSE = 15  # seconds between two lines of a step where there is no terminal
OVER = "\x1b[A\x1b[2K"  # a terminal then writes over its last line
LAST = 20  # lines of what failed
STOPPED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last where the terminal goes away
IDLE = 10  # seconds after which a workflow that shall end, and of which nothing runs, is killed
# Of the command: UTF-8, whatever our terminal takes, and no module of the current folder.
ENVIRONMENT = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8", "PYTHONSAFEPATH": "1"}


def open_log(path: Path, command: Sequence[str]) -> FileIO:
    """Return the log that keeps all of it, emptied; BadInput where another workflow still writes it.

    Its first line says which process follows what.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    log = FileIO(path, "a+")
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it dies with this process
    except BlockingIOError:
        process = path.read_text(encoding="utf-8", errors="replace").partition(":")[0]
        raise BadInput(
            f"{path}: found another workflow that writes it, {process}, allowed: one of a preset at a time"
        ) from None
    except OSError:  # a file system without locks
        pass
    log.truncate(0)
    write_log(log, f"process {os.getpid()}: {shlex.join(command)}\n")
    return log


def write_log(log: FileIO, line: str) -> None:
    """Write a line of the log; from the first that does not fit on, nothing."""
    if log.closed:
        return
    try:
        log.write(line.encode(errors="replace"))
    except OSError as error:
        log.close()
        tell(f"{log.name}: {error.strerror}; the workflow goes on, what it says is kept no longer")


def follow(command: Sequence[str], kept: Path) -> int:
    """Run `command`, print a line for whatever it begins and return its exit code, 128 + n after signal n.

    A failed job is named, with the end of its log. A command that is interrupted ends by itself, and so it
    does where the terminal goes away; it is killed if not, though nothing that it started runs any more.
    Nothing of it depends on who reads what is printed, in which encoding, or whether there is room for it.
    """
    steps, signals = Steps(), list[int]()
    log = open_log(kept, command)
    # The command and its jobs would die of it, and leave a lock: they end when this process tells them.
    hushed = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "errors": "replace"}
    with log, subprocess.Popen(command, env=os.environ | ENVIRONMENT, **pipe) as process:
        # Under nohup nobody minds the end of the terminal.
        for number in STOPPED_BY if hushed != signal.SIG_IGN else STOPPED_BY[:-1]:
            signal.signal(number, lambda number, _: signals.append(passed_on(process, number)))
        assert process.stdout
        for line in process.stdout:
            write_log(log, line)
            steps.read(line)
    if process.returncode == -signal.SIGKILL and signals:  # its lock is left behind
        subprocess.run([*command, "--unlock"], capture_output=True)
    return tell_end(process.returncode, steps, signals, kept)


class Steps:
    """How far a workflow is, by the lines that it prints; what a person has to know of them is shown."""

    def __init__(self) -> None:
        self.started, self.screen = time.monotonic(), Screen()
        self.done, self.total = "0", "?"
        self.failed = False  # the log of what failed is still to come

    def read(self, line: str) -> None:
        """Take in a line."""
        if match := TOTAL.match(line):
            self.total = match[1]
        elif match := STEPS.match(line):
            self.done, self.total = match.groups()
        elif match := FAILED.match(line):
            self.failed, self.screen.last = True, ""
            tell(f"failed: {match[1]}")
        elif self.failed and (match := LOG.match(line)):
            self.failed = False
            tell(*end(Path(match[1])))
        elif MARK in line:
            minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
            what, width = line.partition(MARK)[2].strip(), len(self.total)
            step = f"[{self.done:>{width}}/{self.total} {minutes:2}:{seconds:02}] {what}"
            self.screen.show(step, what.partition(":")[0])


class Screen:
    """What is shown of a step: one line that changes at a terminal, elsewhere a line now and then."""

    def __init__(self) -> None:
        self.last, self.times = "", dict[str, float]()  # the step of the last line; when each had its last

    def show(self, line: str, step: str) -> None:
        """Show how far a step is; what is not shown is in the log."""
        now, tty = time.monotonic(), sys.stdout.isatty()
        again = tty and step == self.last
        if not again and now < self.times.get(step, -PAUSE) + PAUSE:
            return
        self.last, self.times[step] = step, now
        width = shutil.get_terminal_size().columns - 1 if tty else None
        with contextlib.suppress(OSError):
            put(OVER * again + visible(line)[:width], sys.stdout)


def tell(*lines: str) -> None:
    """Print lines; what cannot be printed is no reason to stop, for what is followed would stop too."""
    with contextlib.suppress(OSError):
        say(*lines)


def tell_end(code: int, steps: Steps, signals: Sequence[int], kept: Path) -> int:
    """Print how a command has ended that returned `code`, after these signals; return our exit code."""
    if code and steps.total == "?":  # before the first job
        tell(*(line for line in end(kept) if not line.lstrip().startswith('File "')))
    tell(f"All that Snakemake said: {kept}")
    if code and signals:
        tell(f"interrupted after {steps.done} of {steps.total} steps; the same command goes on from there")
        return 128 + signals[0]
    return code if code >= 0 else 128 - code


def passed_on(process: subprocess.Popen[str], number: int) -> int:
    """Let the command end by itself, and return the signal; a terminal has sent the interrupt to it too."""
    if number != signal.SIGINT:
        process.terminate()
    threading.Thread(target=kill_idle, args=[process], daemon=True).start()
    with contextlib.suppress(OSError):  # nobody may read it
        os.write(1, b"stopping when what runs has ended\n")  # print may be in the midst of a line
    return number


def kill_idle(process: subprocess.Popen[str]) -> None:
    """Kill a command that should end as soon as nothing that it has started ran for `IDLE` seconds."""
    last = time.monotonic()
    while process.poll() is None and time.monotonic() < last + IDLE:
        time.sleep(IDLE / 10)
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(process.pid).children()
            if any(child.status() != psutil.STATUS_ZOMBIE for child in children):
                last = time.monotonic()
    process.kill()


def end(log: Path) -> list[str]:
    """Return the last lines of a log, as far as there is one."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return [f"{log}: found no log"]
    return [f"{log}:", *(f"    {line}" for line in lines[-LAST:])]


if __name__ == "__main__":
    try:
        sys.exit(follow(sys.argv[2:], Path(sys.argv[1])))
    except BadInput as error:
        say(str(error))
        sys.exit(2)
    except OSError as error:  # no such command, or no folder for its log
        say(str(error))
        sys.exit(1)
