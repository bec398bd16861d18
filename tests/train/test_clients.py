"""Clients that keep weights of their own, what they send in which form, and what hooks add to it."""

import math

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from support.made_run import BINARY, RUN, go

from fedpriv.config.run import Run
from fedpriv.local.client import initial_client_state
from fedpriv.local.work import FedAvg
from fedpriv.models.base import Layout
from fedpriv.train.record import RoundState
from fedpriv.train.round import receive_broadcast

# 18 + 54 + 588 + 4 + 40 + 10 binary weights; 4 numbers for each of the 19 units that are normalised
BITS, NORMALS = 714, 4 * 19


def test_a_binary_run_uploads_its_bits_and_says_what_it_sends_in_the_clear(files, tmp_path):
    trace = pd.read_parquet(go(RUN | BINARY, files, tmp_path / "run") / "trace.parquet")
    assert set(trace["noisy_bits"]) == {BITS}
    assert set(trace["clear_values"]) == {NORMALS}
    assert set(trace["upload_bytes"]) == {math.ceil(BITS / 8) + 4 * NORMALS}
    assert trace["share_flipped"].mean() == pytest.approx(0.3, abs=0.02)
    assert trace["test_accuracy_drawn"].notna().tolist() == trace["test_accuracy"].notna().tolist()


def test_the_server_of_bits_holds_their_mean(files, tmp_path):
    scheme = {"name": "dpfl_bnn", "gamma": 0.5}
    out = go(RUN | BINARY | {"scheme": scheme, "rounds": 1}, files, tmp_path / "run")
    flat = load_file(out / "model.safetensors")["flat"][:BITS]
    # Eight clients: a mean of signs is a multiple of a quarter.
    assert torch.allclose(flat * 4, (flat * 4).round(), atol=1e-5)
    assert len(flat.unique()) > 3


def test_a_client_takes_beta_of_what_the_server_sends_and_keeps_the_rest(files):
    run = Run.model_validate(RUN | BINARY)
    flat = torch.tensor([1.0, -1.0, 0.5, 7.0])
    weights = torch.tensor([[0.0, 0.0, 0.0, 3.0]])
    state = RoundState(flat, torch.zeros(2), clients=initial_client_state(weights, run.local))
    receive_broadcast(run, state, Layout(protected=2, clear=1, tensors=(2,)))
    assert weights.tolist()[0] == pytest.approx([0.3, -0.3, 0.5, 3.0])


def test_hooks_work_with_any_scheme(files, tmp_path):
    hooks = {
        "clip_upload": {"kind": "norm", "bound": 0.2},
        "upload_noise_std": 0.4,
        "broadcast_noise_std": 0.01,
    }
    trace = pd.read_parquet(go(RUN | {"hooks": hooks}, files, tmp_path / "run") / "trace.parquet")
    assert trace["norm_max"].max() <= 0.2
    assert set(trace["upload_l2"]) == {0.2}  # the scheme itself would allow 0.5
    assert trace["noise_std"].to_numpy() == pytest.approx(0.2)
    assert set(trace["clip_l2"]) == {0.2}
    assert set(trace["broadcast_noise_std"]) == {0.01}


def test_a_rate_decays_with_the_rounds():
    work = FedAvg(learning_rate=0.1, decay_every=40)
    assert [work.at(t).learning_rate for t in (1, 39, 40, 79, 80)] == pytest.approx(
        [0.1, 0.1, 0.01, 0.01, 1e-3]
    )
