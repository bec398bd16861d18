"""A fault: what is broken, when, and how it must end; and how it is brought about inside a process.

A moment (`at_rename`, `at_call`, ...) is prepared before the work starts and strikes a blow (`die`, `fill`,
...) when it comes. Nothing waits for a time, so a fault happens at the same place whenever it is tried.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Blow = Callable[[], object]


class Fault(NamedTuple):
    """What is broken and when, and what a test needs to bring it about."""

    broken: str
    when: str
    how: Any  # prepares it in the process that it befalls
    names: str = ""  # what the one line must name

    def __str__(self) -> str:
        return f"{self.broken}, {self.when}"


def die(number: signal.Signals) -> None:
    """End this process by a signal."""
    os.kill(os.getpid(), number)


def die_twice() -> None:
    """Be told to end, twice."""
    die(signal.SIGTERM)
    die(signal.SIGTERM)


def fill(size: int = 200) -> None:
    """Let no file grow beyond `size` bytes from now on: a write fails as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def die_writing(size: int) -> None:
    """Let the kernel end this process in the midst of the write that passes byte `size` of a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    fill(size)


def at_rename(name: str, blow: Blow, torn: bool = False) -> None:
    """Strike when a finished file is about to be called `name`; with `torn`, when half of it was written."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename" and Path(arguments[1]).name == name:
            if torn:
                os.truncate(arguments[0], os.stat(arguments[0]).st_size // 2)
            blow()

    sys.addaudithook(hear)


def at_removal(name: str, blow: Blow) -> None:
    """Strike when a file called `name` is about to be removed."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.remove" and Path(arguments[0]).name == name:
            blow()

    sys.addaudithook(hear)


def at_call(module: str, name: str, count: int, blow: Blow) -> None:
    """Strike when a function of a module is about to be called for the `count`-th time."""
    home = __import__(module, fromlist=[name])
    function, calls = getattr(home, name), []

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) == count:
            blow()
        return function(*arguments, **named)

    setattr(home, name, counted)


def held(arrived: Any, go: Any) -> None:
    """Say that the moment has come, and stay there until told to go on."""
    arrived.set()
    go.wait()
