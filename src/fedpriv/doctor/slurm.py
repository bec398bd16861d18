"""Slurm: whether there is one, whether it answers, whether Snakemake can hand it jobs."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec

from fedpriv.doctor.finding import Finding

PLUGIN = "snakemake_executor_plugin_slurm"
SECONDS = 10  # for sinfo to answer


def partitions() -> list[str]:
    """Return the partitions that sinfo lists, with their state; RuntimeError if it does not answer."""
    command = ["sinfo", "--noheader", "--format=%R (%a, %D nodes)"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"sinfo does not answer within {SECONDS} seconds") from None
    except OSError as error:
        raise RuntimeError(f"sinfo cannot be run ({error.strerror})") from None
    if said.returncode:
        words = said.stderr.strip().splitlines() or [f"exit code {said.returncode}"]
        raise RuntimeError(f"sinfo says {words[-1].removeprefix('sinfo: ')}")
    return sorted(set(filter(None, map(str.strip, said.stdout.splitlines()))))


def slurm() -> Finding:
    """Say whether jobs can be sent to a cluster."""
    if shutil.which("sbatch") is None:
        return Finding("slurm", "ok", "none here; runs stay on this machine")
    if find_spec(PLUGIN) is None:
        install = f"pip install -c constraints.txt {PLUGIN.replace('_', '-')}"
        return Finding("slurm", "to do", f"sbatch is here, Snakemake's plugin for it is not; {install}")
    try:
        found = partitions()
    except RuntimeError as error:
        ask = "ask who runs the cluster, or leave it: runs stay on this machine"
        return Finding("slurm", "to do", f"sbatch is here, but {error}; {ask}")
    if not found:
        return Finding("slurm", "to do", "sinfo lists no partition; ask who runs the cluster for one")
    return Finding("slurm", "ok", f"partitions {', '.join(found)}")
