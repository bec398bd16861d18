"""Start a measured process: fresh, with the same settings for everybody, gone when its answer is there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# glibc keeps big buffers instead of mapping them anew at every step: worth up to 40 % to whoever has it.
# The largest of torch lie in huge pages, as in our runs.
ALLOCATOR = {
    "THP_MEM_ALLOC_ENABLE": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_TOP_PAD_": str(1 << 26),
}
# What makes of a machine with AVX-512 one without: for kernels of PyTorch, oneDNN and MKL, and for our own.
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "CC": "cc -mno-avx512f",
}
# Each contender chooses its threads itself, and the native kernels are on unless a contender says otherwise.
DROPPED = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "FEDPRIV_NATIVE", *ALLOCATOR)


class Failed(Exception):
    """The process gave no answer; the message is its last word."""


def ask(
    python: str, script: str, *options: Any, environment: Mapping[str, str] | None = None, minutes: float = 60
) -> dict[str, Any]:
    """Run `script` of this folder under the interpreter `python` and return the JSON object it prints.

    Raises Failed if the interpreter is missing, the script fails, or `minutes` have passed.
    """
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    with tempfile.TemporaryDirectory(prefix="race-", ignore_cleanup_errors=True) as scratch:
        try:
            process = subprocess.Popen(
                [python, str(HERE / script), *map(str, options)],
                env=kept | ALLOCATOR | {"TMPDIR": scratch} | dict(environment or {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except OSError as error:
            raise Failed(f"cannot start {python}: {error.strerror}") from error
        try:
            out, words = process.communicate(timeout=60 * minutes)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"no answer in {minutes:g} minutes") from late
        finally:
            # However it ended, what it started ends too: Ray's agents outlive a driver that was killed.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        last = words.strip().splitlines() or ["no message"]
        raise Failed(f"exit code {process.returncode}: {last[-1]}")
    return json.loads(out.strip().splitlines()[-1])
