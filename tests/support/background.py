"""Programs that run beside a test: started, waited for, and gone when it is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import safe_open


@contextmanager
def started(command: Sequence[str | Path], log: Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command that prints into `log`, in a session of its own that does not outlive the block."""
    with log.open("w") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True, **how
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def wait(ready: Callable[[], object], what: str | Path, seconds: float = 30) -> None:
    """Return as soon as `ready` says something true; raise TimeoutError after `seconds`."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)


def succeeded(process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    """Wait until a process has ended, and assert that it did well."""
    wait(lambda: process.poll() is not None, log, seconds)
    assert process.returncode == 0, log.read_text()


def saved_rows(state: Path) -> list[dict[str, Any]]:
    """Return the rows of the trace in the state that a training has saved."""
    with safe_open(state, framework="pt") as file:
        return json.loads(file.metadata()["book"])["rows"]
