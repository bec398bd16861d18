"""A GPU whose memory runs out, simulated on the CPU: stacked launches that fail above a number of clients."""

import shutil
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file
from support.child import live
from support.fault import Fault
from support.small import TRAIN

from fedpriv.cli import app
from fedpriv.store import parquet

SMALLER = "smaller launches; the same result to float tolerance"
ENOUGH = Fault("GPU out of memory", "train: in a launch of more than two clients", SMALLER)
LOOKING = Fault("GPU out of memory", "train: in the evaluation of more than 50 images", SMALLER)
NEVER = Fault(
    "GPU out of memory",
    "train: with one client alone, after round 4",
    "one line; with memory again it goes on from its state",
)
FAULTS = [ENOUGH, LOOKING, NEVER]


def stacked(clients=10**9, images=10**9, rounds=0) -> None:
    """Train by stacked launches here; after `rounds` rounds they fail above the numbers given."""
    import torch

    from fedpriv.local import threads
    from fedpriv.local.stacks import GpuBackend

    class Small(GpuBackend):
        calls = 0

        def train_clients(self, *arguments):
            self.calls += 1
            return super().train_clients(*arguments)

        def _gather(self, rows, *arguments):
            found = super()._gather(rows, *arguments)
            if len(rows) > clients and self.calls > rounds:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return found

        def _apply(self, flat, x):
            if len(x) > images:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return super()._apply(flat, x)

    threads.CpuBackend = Small


def learned(folder):
    """Return the weights and the trace's numbers that training ended with."""
    trace = parquet.load(folder / "out/trace.parquet").drop(columns=["seconds", "peak_mib"])
    return load_file(folder / "out/model.safetensors")["flat"], trace.select_dtypes("number").to_numpy()


@pytest.fixture(scope="module")
def roomy(laid, tmp_path_factory):
    """What a device with room for all ends with."""
    folder = shutil.copytree(laid, tmp_path_factory.mktemp("roomy"), dirs_exist_ok=True)
    assert live(folder, partial(app.main, TRAIN), stacked).code == 0
    return learned(folder)


def same(found, wanted):
    return all(
        np.allclose(one, other, atol=1e-5, equal_nan=True) for one, other in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize(("fault", "how"), [(ENOUGH, {"clients": 2}), (LOOKING, {"images": 50})], ids=str)
def test_what_does_not_fit_is_done_in_smaller_parts(fault, how, folder, roomy):
    assert live(folder, partial(app.main, TRAIN), partial(stacked, **how)).code == 0
    assert same(learned(folder), roomy)


def test_a_client_that_never_fits_is_one_line_and_what_was_learned_is_kept(folder, roomy):
    code, line = live(folder, partial(app.main, TRAIN), partial(stacked, clients=0, rounds=4))
    assert code == 1 and "out of memory" in line
    assert (folder / "out/resume/state.safetensors").exists()
    assert live(folder, partial(app.main, TRAIN), stacked).code == 0
    assert same(learned(folder), roomy)
