"""Real processes to break: forked from a server that has imported torch once, each in a folder of its own."""

import contextlib
import io
import os
import sys
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from fedpriv.cli import app

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "fedpriv.cli.run",
        "fedpriv.cli.account",
        "fedpriv.data.source",
        "fedpriv.report.claims",
        "fedpriv.report.figures",
        "fedpriv.audit.finished",
        "fedpriv.report.page",
        "fedpriv.report.tables",
        "fedpriv.train.loop",
        "fedpriv.workflow.steps",
        "snakemake.cli",
    ]
)


class Ended(NamedTuple):
    """How a process ended: its exit code, or minus the signal that ended it; its one line of error."""

    code: int | None
    line: str


class Child:
    """A process that does one thing in `folder`, once `fault` has been prepared in it."""

    def __init__(self, folder: Path, act: Callable[[], object], fault: Callable[[], object] | None = None):
        self.ear, mouth = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=_live, args=(mouth, folder, act, fault))
        self.process.start()
        mouth.close()

    def end(self) -> Ended:
        """Wait for its end."""
        try:
            said = self.ear.recv()
        except EOFError:  # it was killed
            said = ""
        self.process.join()
        errors = [line for line in said.splitlines() if line.startswith("fedpriv: ")]
        assert len(errors) == (self.process.exitcode > 0), said
        return Ended(self.process.exitcode, "".join(errors))


def live(folder: Path, act: Callable[[], object], fault: Callable[[], object] | None = None) -> Ended:
    """Let a process do one thing, and wait for its end."""
    return Child(folder, act, fault).end()


def _live(mouth: Connection, folder: Path, act: Callable[[], object], fault: Callable | None) -> None:
    os.chdir(folder)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        if fault:
            fault()
        code = program(act)
    mouth.send(said.getvalue())
    os._exit(code)


def program(act: Callable[[], object]) -> int:
    """Do `act` as the program would: what goes wrong is one line and an exit code."""
    try:
        code = act()
    except Exception as error:
        message, code = app.explain(error)
        print(f"fedpriv: {message}", file=sys.stderr)
    return code if isinstance(code, int) else 0
