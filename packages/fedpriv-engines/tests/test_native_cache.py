"""Kernels are compiled once and kept; without a compiler, or with a torn library, only speed is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fedpriv_engines import native

REPORT = "from fedpriv_engines import native; print(native.available('cnn5'), native.why_not('cnn5'))"


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """Start a fresh Python that has compiled nothing."""
    source = str(Path(native.__file__).parents[2])
    everything = {**os.environ, "PYTHONPATH": source, **environment}
    return subprocess.Popen([sys.executable, "-c", code], env=everything, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return output.strip()


@pytest.fixture
def compiler(tmp_path):
    """Return a compiler that writes a line to `calls` each time it is asked to compile."""
    if not native.available("cnn5"):
        pytest.skip(native.why_not("cnn5"))
    script = tmp_path / "counting-cc"
    script.write_text(f'#!/bin/sh\necho >> "{tmp_path}/calls"\nexec {os.environ.get("CC") or "cc"} "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_a_missing_compiler_is_named_as_the_reason(tmp_path):
    report = said(start(REPORT, CC="", PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)))
    assert report.startswith("False ") and "'cc'" in report


def test_the_environment_switches_the_kernels_off(monkeypatch):
    monkeypatch.setenv("FEDPRIV_NATIVE", "0")
    assert not native.available("cnn5")
    assert native.why_not("cnn5") == "switched off by FEDPRIV_NATIVE=0"
    with pytest.raises(RuntimeError, match="FEDPRIV_NATIVE=0"):
        native.library("cnn5")


def test_importing_compiles_nothing_and_leaves_torch_alone(tmp_path):
    code = "import sys, fedpriv_engines.native; print('torch' in sys.modules)"
    assert said(start(code, XDG_CACHE_HOME=str(tmp_path / "cache"))) == "False"
    assert not (tmp_path / "cache").exists()


def test_processes_that_compile_at_once_leave_one_whole_library_which_the_next_one_takes(compiler, tmp_path):
    environment = {"CC": compiler, "XDG_CACHE_HOME": str(tmp_path)}
    together = [start(REPORT, **environment) for _ in range(2)]
    assert [said(process) for process in together] == ["True", "True"]
    (kept,) = (tmp_path / "fedpriv").iterdir()
    assert kept.suffix == ".so"
    calls = (tmp_path / "calls").read_text()
    assert said(start(REPORT, **environment)) == "True"  # compiles nothing any more
    assert calls and (tmp_path / "calls").read_text() == calls
