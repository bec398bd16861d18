"""What training does to a process's memory: real processes that ask for buffers as rounds do."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other malloc is told anything")

# Every round stacks the updates of another number of clients, works on a copy, and leaves something small.
ROUNDS = """
import os, re
import numpy as np
from fedpriv.store.machine import keep_buffers
assert keep_buffers() and os.environ["THP_MEM_ALLOC_ENABLE"] == "1"
left = []
for round in range(20):
    updates = np.ones(((70 + 2 * round) << 20, ), np.uint8)
    left.append(np.ones(1 << 16, np.uint8))
    copy = updates + 1
    left.append(np.ones(1 << 16, np.uint8))
    del updates, copy
print(int(re.search(r"VmHWM:\\s+([0-9]+) kB", open("/proc/self/status").read())[1]) / 1024)
"""


def told(program: str) -> float:
    """Return the number that a process of its own prints."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("THP_MEM_ALLOC_ENABLE", None)
    return float(subprocess.check_output([sys.executable, "-c", program], text=True, env=environment))


def test_stacks_of_another_size_in_every_round_leave_no_holes():
    assert told(ROUNDS) < 108 * 2 + 100  # MiB: the largest two, and the interpreter
