"""One GPU for each process: real processes claim devices that are only names."""

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
import torch

from fedpriv.store import gpus

CLAIMS = """
import sys
from pathlib import Path
from fedpriv.store.gpus import claim
mine = claim(sys.argv[2:], Path(sys.argv[1]))
print(mine.number, flush=True)
sys.stdin.read()
"""


class Processes(ExitStack):
    """Processes that claim a device in `folder` and hold it until they are killed."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def start(self, *names):
        """Start a process that is offered the devices `names`; return it and the one it took."""
        process = subprocess.Popen(
            [sys.executable, "-c", CLAIMS, self.folder, *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.callback(process.communicate)
        self.callback(process.kill)
        return process, names[int(process.stdout.readline())]

    def take(self, *names):
        return self.start(*names)[1]


@pytest.fixture
def processes(tmp_path):
    with Processes(tmp_path / "claims") as started:
        yield started


def test_when_all_are_taken_they_are_shared_evenly(processes):
    taken = [processes.take("a", "b") for _ in range(6)]
    assert taken.count("a") == taken.count("b") == 3


def test_a_killed_process_leaves_its_device_to_the_next(processes):
    killed, device = processes.start("a", "b")
    other = processes.take("a", "b")
    killed.kill()
    killed.wait()
    assert processes.take("a", "b") == device != other


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """A function that lets this process see the GPUs of these names, and no claim of another process."""

    def see(*names):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(names))
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda one: SimpleNamespace(uuid=names[one]))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gpus.own_claim.cache_clear()
    yield see
    gpus.own_claim.cache_clear()


def test_a_process_keeps_the_device_it_has(offer):
    offer("a", "b")
    assert gpus.own_claim() is gpus.own_claim()
    assert gpus.own_claim().lock.is_locked


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
def test_a_real_gpu_can_be_claimed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert torch.zeros(1, device=f"cuda:{gpus.own_claim().number}").sum() == 0
