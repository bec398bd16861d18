"""Recurrent networks, attention and tokens are trained as a plain loop of torch trains them."""

import sys
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
import torch
from support.backends import TOLERANCE, every_backend
from support.made_run import BY_SCHEME, RUN, go, result
from support.own_sequences import Recurrent
from torch.nn import functional as F

from fedpriv.config.plan import load_preset
from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.data.own import own_arrays
from fedpriv.errors import BadInput
from fedpriv.local.client import Client, Task
from fedpriv.local.work import FedAvg, Speed
from fedpriv.models import functional
from fedpriv.models.module import Module
from fedpriv.store import summary
from fedpriv.train import inputs

ROOT = Path(__file__).parents[2]
NETS = {
    "lstm": {"module": "support.own_sequences:Recurrent", "kind": "LSTM", "layers": 2},
    "gru": {"module": "support.own_sequences:Recurrent", "kind": "GRU"},
    "gru_cell": {"module": "support.own_sequences:Cell"},
    "attention": {"module": "support.own_sequences:Attention"},
}
every_net = pytest.mark.parametrize("net", NETS.values(), ids=NETS)
FEDAVG = {"name": "fedavg", "steps": 2, "batch_size": 5, "learning_rate": 0.5}
PRIVATE = [name for name in BY_SCHEME if name in ("instance", "joint", "split")]


def sequences(n=80, length=7, tokens=12, dtype=np.int64, masked=True):
    """Return tokens `[n, t]` and the next of each; some of these do not count."""
    rng = np.random.default_rng(3)
    text = rng.integers(0, tokens, (n, length + 1))
    labels = text[:, 1:].copy()
    if masked:
        labels[rng.random(labels.shape) < 0.3] = -1
    return text[:, :-1].astype(dtype), labels


@pytest.fixture
def files(tmp_path):
    """Return a file of sequences, as one of a user's own becomes."""
    x, y = sequences(100)
    found = {"x_train": x[:80], "y_train": y[:80], "x_test": x[80:], "y_test": y[80:]}
    return arrays.save(tmp_path / "sequences.npz", own_arrays("", found | {"classes": np.array(12)}))


def plain_loop(net, x, y, rows, work):
    """Return the change of the weights after `work` on `rows`, as torch alone computes it."""
    before = torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone()
    optimiser = torch.optim.SGD(net.parameters(), lr=work.learning_rate)
    for batch in rows:
        outputs, losses = net(x[batch]), []
        for out, labels in zip(outputs, y[batch], strict=True):
            losses.append(F.cross_entropy(out, labels, ignore_index=-1))
        optimiser.zero_grad()
        torch.stack(losses).mean().backward()
        optimiser.step()
    return torch.nn.utils.parameters_to_vector(net.parameters()).detach() - before


@every_backend
@every_net
def test_local_steps_are_those_of_a_plain_loop_of_torch(net, backend):
    x, y = map(torch.from_numpy, sequences())
    model = Module.model_validate(net)
    task, work = Task(model, 12, x, y), FedAvg.model_validate(FEDAVG)
    flat = model.initial(12, task.example, np.random.default_rng(1))
    held = [np.arange(20), np.arange(20, 33)]
    engine = backend(task, Speed(threads=2, chunk=100))
    clients = [Client(rows, np.random.default_rng(7)) for rows in held]
    updates = engine.train_clients(work, flat, clients).updates
    engine.close()
    for found, rows in zip(updates, held, strict=True):
        alone = functional.build_network(model.model_dump_json(), 0)
        torch.nn.utils.vector_to_parameters(flat.clone(), alone.parameters())
        plan = Client(rows, np.random.default_rng(7)).mini_batches(work)
        assert torch.allclose(found, plain_loop(alone, x, y, plan, work), atol=10 * TOLERANCE)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_whole_numbers_reach_the_network_as_they_are_and_none_is_made_up_that_the_data_lack(dtype, tmp_path):
    x, y = sequences(100, tokens=12, dtype=dtype, masked=False)
    found = {"x_train": x[:80], "y_train": y[:80], "x_test": x[80:], "y_test": y[80:]}
    made = arrays.load(arrays.save(tmp_path / "x.npz", own_arrays("", found)))
    assert made.x_train.dtype == dtype and (made.x_train == found["x_train"]).all()
    Recurrent.seen.clear()
    files = arrays.save(tmp_path / "y.npz", made)
    go(
        RUN | {"model": NETS["lstm"], "rounds": 1, "probe": {"clients": 0, "panel": 0}},
        files,
        tmp_path / "run",
    )
    rows = {row.tobytes() for row in x}
    assert Recurrent.seen
    for seen in Recurrent.seen:
        assert seen.numpy().dtype == dtype and {row.tobytes() for row in seen.numpy()} <= rows


def test_a_table_that_is_too_small_for_the_test_split_is_one_line_before_anything_is_trained(tmp_path):
    x, y = sequences(20, tokens=12, masked=False)
    x[15:, 0] = 12
    found = {
        "x_train": x[:15],
        "y_train": y[:15],
        "x_test": x[15:],
        "y_test": y[15:],
        "classes": np.array(12),
    }
    files = arrays.save(tmp_path / "x.npz", own_arrays("", found))
    with pytest.raises(BadInput, match=r"whole numbers \d+ to 12 \(IndexError: .*, allowed: a network that"):
        go(RUN | {"model": NETS["lstm"]}, files, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("scheme", [name for name in BY_SCHEME if name not in ("dpfl_bnn", *PRIVATE)])
def test_every_scheme_of_clients_trains_an_lstm_to_the_same_bits_with_any_threads(scheme, files, tmp_path):
    run = RUN | BY_SCHEME[scheme] | {"model": NETS["lstm"], "rounds": 2}
    out = [go(run, files, tmp_path / str(threads), threads=threads) for threads in (1, 3)]
    assert result(out[0]) == result(out[1])


@pytest.mark.parametrize("scheme", PRIVATE)
def test_a_scheme_of_examples_names_the_layer_that_it_cannot_train_and_what_it_can(scheme, files, tmp_path):
    run = RUN | BY_SCHEME[scheme] | {"model": NETS["lstm"], "rounds": 1}
    said = (
        rf"^scheme: found {scheme}, which needs the gradient of every example, with rnn \(LSTM\), which vmap "
        r"cannot stack \(RuntimeError: .*lstm.*\), allowed: a scheme of clients, as client_dp; .* nn.GRUCell"
    )
    with pytest.raises(BadInput, match=said) as told:
        go(run, files, tmp_path / "run")
    assert "\n" not in str(told.value) and not (tmp_path / "run").exists()
    for net in ("gru_cell", "attention"):
        go(run | {"model": NETS[net]}, files, tmp_path / net)


def test_a_network_that_takes_positions_for_examples_is_told_of_the_axis(files, tmp_path):
    run = RUN | {"model": NETS["lstm"] | {"batch_first": False}}
    with pytest.raises(BadInput, match=r"mixes examples, .* batch_first=True"):
        go(run, files, tmp_path / "run")


def test_models_of_the_suite_refuse_tokens_and_laws_of_classes_refuse_labels_by_position(files, tmp_path):
    with pytest.raises(BadInput, match=r"model: found mlp with inputs of whole numbers, allowed: {module"):
        go(RUN | {"model": "mlp"}, files, tmp_path / "run")
    shards = {"law": "shards", "clients": 4, "shard_examples": 5}
    with pytest.raises(BadInput, match=r"partition.law: found shards .*, allowed: iid, natural"):
        go(RUN | {"model": NETS["lstm"], "partition": shards}, files, tmp_path / "run")


@pytest.mark.parametrize("name", ["lstm_dp", "transformer_dp"])
def test_the_example_guesses_the_next_character_with_privacy_of_clients(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples/own")])
    from draw_text import drawn

    some = {topic: text[:2500] for topic, text in sorted(topics.items())[:21]}
    np.savez(tmp_path / "text.npz", **drawn(some))
    monkeypatch.chdir(tmp_path)
    run = load_preset(ROOT / "examples/own/text.yaml").runs["text"][name].model_dump(mode="json")
    with np.load("text.npz") as file:
        assert run["partition"]["clients"] == len(set(file["owner"])) > 20
        following = file["y_train"][:, :-1] == file["x_train"][:, 1:]
        assert following[file["y_train"][:, :-1] != -1].all()
    prepared = inputs.prepare(Run.model_validate(run), tmp_path, (), Speed(device="cpu"))
    told = summary.load_summary(go(run | {"rounds": 2}, prepared, tmp_path / "run") / "summary.json")
    assert told["rounds"] == 2 and told["diverged"] is None and 0 <= told["test_accuracy"] <= 1
    assert told["data"]["majority"] < 0.25


def test_where_only_the_mean_of_a_batch_is_clipped_and_no_example_measured_any_layer_is_trained(
    files, tmp_path
):
    mean = {"name": "instance", "clip_l2": 0.5, "noise_multiplier": 1.0, "distances": 0}
    run = RUN | BY_SCHEME["instance"] | {"model": NETS["lstm"], "scheme": mean, "rounds": 1}
    assert go(run, files, tmp_path / "run").exists()
