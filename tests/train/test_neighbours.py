import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from support.made_run import BY_SCHEME, RUN, WEIGHTS, go

from fedpriv import partition
from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.local.client import Client
from fedpriv.local.work import Speed
from fedpriv.streams import Streams
from fedpriv.train import inputs
from fedpriv.train.loop import train
from fedpriv.train.probes import neighbour

PLAIN = RUN | WEIGHTS | {"scheme": "none", "cohort": {"law": "full"}, "rounds": 1}
ASKED = {"probe": {"clients": 0, "neighbours": True}}


def apart(out):
    return pd.read_parquet(out / "trace.parquet")["neighbours_apart"]


def test_what_an_example_moves_is_what_a_second_training_with_it_replaced_moves(files, tmp_path):
    out = go(PLAIN | ASKED, files, tmp_path / "run")
    run, dealt = Run.model_validate(PLAIN), files.parent / "partition0.npz"
    law = inputs.partition_mark(run, arrays.load(files), 0)
    clients = partition.load_partition(dealt, law)
    labels = torch.from_numpy(arrays.load(files).y_train)
    rows = neighbour(Client(clients.client(0), np.random.default_rng(0)), labels).rows
    indices = np.concatenate([rows, clients.indices[len(rows) :]]).astype(clients.indices.dtype)
    other = partition.save_partition(tmp_path / "other.npz", clients._replace(indices=indices), law)
    once = go(PLAIN, files, tmp_path / "once")
    twice = train(run, "tiny", 0, files, other, tmp_path / "twice", Speed(device="cpu"), {"paper": "none"})
    moved = load_file(once / "model.safetensors")["flat"] - load_file(twice / "model.safetensors")["flat"]
    assert apart(out).iloc[0] == pytest.approx(8 * float(moved.norm()) / run.server.learning_rate, rel=1e-3)


def test_a_run_that_follows_neighbours_trains_the_same_model(files, tmp_path):
    run = RUN | BY_SCHEME["nbafl"]
    plain, asked = (go(one, files, tmp_path / name) for name, one in {"a": run, "b": run | ASKED}.items())
    assert (plain / "model.safetensors").read_bytes() == (asked / "model.safetensors").read_bytes()


def test_neighbours_are_followed_whenever_their_client_comes(files, tmp_path):
    run = RUN | BY_SCHEME["nbafl"] | ASKED
    law, streams = Run.model_validate(run).cohort, Streams(0, "tiny")
    came = [0 in law.draw(8, streams.numpy("cohort", round_number)) for round_number in range(1, 7)]
    assert 0 < sum(came) < 6
    assert (apart(go(run, files, tmp_path / "run")) > 0).tolist() == came
    assert (apart(go(run | {"probe": {}}, files, tmp_path / "without")) == 0).all()


def test_a_neighbour_has_one_other_example_of_another_class():
    labels = torch.tensor([3, 3, 5, 5, 3])
    held = np.array([0, 2, 4])
    assert neighbour(Client(held, np.random.default_rng(0)), labels).rows.tolist() == [3, 2, 4]
    for alone in (np.array([], dtype=np.int64), np.array([2, 3])):
        one = Client(alone, np.random.default_rng(0))
        assert neighbour(one, torch.tensor([5, 5, 5, 5])).rows.tolist() == alone.tolist()


def test_randomness_that_comes_only_once_has_no_neighbours():
    with pytest.raises(BadInput, match=r"probe\.neighbours: found true with secure_noise"):
        parse(Run.model_validate, RUN | ASKED | {"secure_noise": True}, "run")
