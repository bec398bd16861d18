"""Optional kernels in C: compiled on first use, kept in a cache; where they cannot be, PyTorch does the work.

`library(name)` comes from `name`.c and its headers, so a changed header makes another library: README.md is
a map of them.

The compiler is $CC or `cc`, the cache $XDG_CACHE_HOME/fedpriv or ~/.cache/fedpriv, and FEDPRIV_NATIVE=0
switches the kernels off. Importing this module compiles nothing and does not import torch.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.resources
import os
import platform
import re
import shlex
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from fedpriv.store.files import move

# -O2: the kernels are vectors already, so -O3 takes seven times as long to compile and gains nothing.
# Comparisons with NaN must hold, hence no -ffast-math; contracting a * b + c is allowed everywhere.
FLAGS = (
    "-std=gnu11",
    "-O2",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-shared",
)
# Compilers differ in how they are told to use all of this machine; the last is plain and always understood.
TUNINGS = (("-march=native",), ("-mcpu=native",), ())

UNITS = ("cnn3", "cnn5", "head", "mlp", "small_net")  # each compiled from a C source of its own

_compiling = threading.Lock()


def _cpu() -> str:
    """Describe the processor that `native` means: machines that share a home may not share a kernel."""
    named_by_python = [platform.machine(), platform.processor()]
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    keys = ("vendor_id", "model name", "flags", "Features", "CPU part", "isa")
    return "\n".join(named_by_python + sorted({line for line in lines if line.startswith(keys)}))


def _compile(source: bytes, to: Path) -> Path:
    """Compile C `source` into a shared library `to`-<digest of its bytes>.so, and return its path.

    It appears whole or not at all. Raises OSError or subprocess.SubprocessError; a failed compilation
    carries the compiler's words.
    """
    compiler = shlex.split(os.environ.get("CC") or "cc")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix="compiling-") as directory:
        built = Path(directory) / to.name
        for tuning in TUNINGS:
            command = [*compiler, *FLAGS, *tuning, "-x", "c", "-", "-lm", "-o", str(built)]
            try:
                subprocess.run(command, input=source, capture_output=True, check=True, timeout=120)
                break
            except subprocess.CalledProcessError:
                if tuning is TUNINGS[-1]:
                    raise
        # Two processes may compile at once: each brings its own library into place.
        whole = to.with_name(f"{to.name}-{_digest(built.read_bytes())}.so")
        move(built, whole)
    return whole


def _kept(at: Path) -> Path | None:
    """Return the library that `_compile` has put there, or None; one that is torn is removed.

    To load half a library is not an error that could be caught: the process dies.
    """
    for library in sorted(at.parent.glob(f"{at.name}-*.so")):
        with suppress(FileNotFoundError):  # another process has removed it
            if library.name == f"{at.name}-{_digest(library.read_bytes())}.so":
                return library
            library.unlink()
    return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _source(name: str) -> bytes:
    """Return a C source, our own headers in the place of their #include lines; guards keep one of each."""
    text = (importlib.resources.files(__name__) / name).read_bytes()
    return re.sub(rb'^#include "(.+)"$', lambda match: _source(match[1].decode()), text, flags=re.MULTILINE)


@functools.cache
def _built(name: str) -> tuple[ctypes.CDLL | None, str]:
    """Return the library and "", or None and why there is none."""
    try:
        source = _source(f"{name}.c")
        compiler = os.environ.get("CC") or "cc"
        key = _digest(repr((source, compiler, FLAGS, TUNINGS, _cpu())).encode())
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fedpriv"
        at = cache / f"{name}-{key}"
        return ctypes.CDLL(str(_kept(at) or _compile(source, at))), ""
    except subprocess.CalledProcessError as failure:
        messages = failure.stderr.decode(errors="replace").strip().splitlines()
        reason = messages[0] if messages else f"exit code {failure.returncode}"
        return None, f"the C compiler {failure.cmd[0]!r} failed: {reason}"
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as failure:
        return None, f"no kernel could be compiled or loaded: {failure}"


def _state(name: str) -> tuple[ctypes.CDLL | None, str]:
    if os.environ.get("FEDPRIV_NATIVE") == "0":
        return None, "switched off by FEDPRIV_NATIVE=0"
    with _compiling:
        return _built(name)


def available(name: str) -> bool:
    """Say whether the kernels of `name`.c can be called; the first call may compile them, a few seconds."""
    return _state(name)[0] is not None


def why_not(name: str) -> str:
    """Return one line on why these kernels are not available; empty when they are."""
    return _state(name)[1]


def engine_name(unit: str) -> str:
    """Return a unit and a digest of its C sources, eight digits: a run says that they computed it."""
    return f"{unit} {_digest(_source(f'{unit}.c'))[:8]}"


def library(name: str) -> ctypes.CDLL:
    """Return the loaded library; raises RuntimeError with the reason when it is not available."""
    loaded, reason = _state(name)
    if loaded is None:
        raise RuntimeError(f"native kernels are not available: {reason}")
    return loaded
