"""A warning before a process is killed: batch systems send a signal before a limit or a preemption."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

# Slurm sends what one asks for and, before it preempts, the first; Grid Engine sends the others.
WARNINGS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
ONE = 1.0  # seconds in which several signals are one warning, that came in more than one way


@contextmanager
def warned() -> Generator[Callable[[], int]]:
    """Catch warnings in the block; yield what says which signal was the first, 0 as long as there was none.

    Another signal, a second after the first or later, ends the process at once, as all of them do before
    and after the block. A signal for which somebody else has a handler, or that is ignored, is left to
    that; so are all of them outside of the main thread, where Python has no handlers.
    """
    first: list[tuple[int, float]] = []

    def hear(number: int, _: FrameType | None) -> None:
        if not first:
            first.append((number, time.monotonic()))
        elif time.monotonic() - first[0][1] >= ONE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    here = threading.current_thread() is threading.main_thread()
    caught = [one for one in WARNINGS if here and signal.getsignal(one) == signal.SIG_DFL]
    for number in caught:
        signal.signal(number, hear)
    try:
        yield lambda: first[0][0] if first else 0
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
