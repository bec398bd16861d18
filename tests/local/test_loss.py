"""Losses are torch's own, a number for every example; what a loss cannot read is one line."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.backends import TOLERANCE, every_backend
from support.made_run import BY_SCHEME, RUN, go, write_noise
from torch.nn import functional as F

from fedpriv.data import arrays
from fedpriv.data.own import own_arrays
from fedpriv.errors import BadInput
from fedpriv.local.client import Client, Task
from fedpriv.local.loss import Loss
from fedpriv.local.work import FedSGD, Speed
from fedpriv.models import functional
from fedpriv.models.module import Module
from fedpriv.models.nets import Mlp
from fedpriv.store import summary
from fedpriv.train.evaluate import accuracy

rng = np.random.default_rng(0)
N = 12
X = rng.standard_normal((N, 5), dtype=np.float32)
CLASSES, MANY = rng.integers(0, 3, N), rng.integers(0, 2, (N, 3))
NUMBERS = rng.standard_normal((N, 3), dtype=np.float32)

# The key, the labels, and what torch makes of all outputs and labels.
CASES = {
    "cross_entropy": (CLASSES, F.cross_entropy),
    "binary_cross_entropy": (MANY, lambda out, y: F.binary_cross_entropy_with_logits(out, y.to(out))),
    "mean_squared_error": (NUMBERS, lambda out, y: F.mse_loss(out, y.to(out))),
    "support.own_sequences:hinge": (CLASSES, F.multi_margin_loss),
}


def flat_net(outputs=3):
    return Module.model_validate({"module": "support.own_sequences:Flat", "outputs": outputs})


def task(model, name, labels):
    return Task(model, 3, torch.from_numpy(X), torch.from_numpy(labels), Loss(name))


@every_backend
@pytest.mark.parametrize("name", CASES)
def test_a_gradient_is_that_of_torchs_own_loss(name, backend):
    labels, of_torch = CASES[name]
    model = flat_net()
    here = task(model, name, labels)
    flat = model.initial(3, here.example, np.random.default_rng(1))
    engine = backend(here, Speed(threads=1, chunk=5))
    update = engine.train_clients(FedSGD(), flat, [Client(np.arange(N), np.random.default_rng(0))]).updates[0]
    engine.close()
    net = functional.build_network(model.model_dump_json(), 0)
    torch.nn.utils.vector_to_parameters(flat.clone(), net.parameters())
    of_torch(net(torch.from_numpy(X)), torch.from_numpy(labels)).backward()
    # A parameter that no pass uses has a gradient of zero.
    parts = [torch.zeros_like(one) if one.grad is None else one.grad for one in net.parameters()]
    assert torch.allclose(update, -torch.cat([one.flatten() for one in parts]), atol=TOLERANCE)


@pytest.mark.parametrize("name", ["cross_entropy", "binary_cross_entropy"])
def test_labels_that_are_ignored_count_for_nothing_and_an_example_without_any_other_has_no_loss(name):
    outputs = torch.from_numpy(rng.standard_normal((4, 6, 2) if name == "cross_entropy" else (4, 6)))
    labels = torch.from_numpy(rng.integers(0, 2, (4, 6)))
    labels[1, 2:] = -1
    labels[3] = -1
    outputs.requires_grad_()
    found = Loss(name).of(outputs, labels, "none")
    for out, label, loss in zip(outputs[:3], labels[:3], found[:3], strict=True):
        out, label = out[label >= 0], label[label >= 0]
        expected = (
            F.cross_entropy(out, label)
            if name == "cross_entropy"
            else F.binary_cross_entropy_with_logits(out, label.to(out))
        )
        assert torch.allclose(loss, expected)
    assert found[3] == 0
    (gradient,) = torch.autograd.grad(found.sum(), outputs)
    assert (gradient[3] == 0).all() and (gradient[1, 2:] == 0).all() and gradient.isfinite().all()
    assert torch.equal(Loss(name).of(outputs, labels, "mean"), found.mean())
    right = Loss(name).predicted(outputs, labels) == labels
    assert accuracy(Loss(name), outputs, labels) == float(right[labels >= 0].double().mean())


def test_a_model_of_the_suite_gives_as_many_numbers_as_its_loss_reads():
    for name, labels, width in (
        ("mean_squared_error", NUMBERS[:, 0], 1),
        ("mean_squared_error", NUMBERS, 3),
        ("binary_cross_entropy", MANY[:, 0], 1),
        ("cross_entropy", CLASSES, 3),
    ):
        assert task(Mlp(widths=(4,)), name, labels).shapes["dense2.weight"] == (width, 4)
    with pytest.raises(BadInput, match=r"model: found mlp with labels that want outputs \[3, 3\] an example"):
        task(Mlp(widths=(4,)), "cross_entropy", MANY)


@pytest.mark.parametrize(
    ("name", "labels", "said"),
    [
        ("cross_entropy", NUMBERS[:, 0], "found cross_entropy with labels torch.float32 .*, allowed: whole"),
        ("binary_cross_entropy", MANY + 1, "found binary_cross_entropy with labels torch.int64 1 to 2, "),
        ("own_sequences:of_the_batch", CLASSES, r"found \[\] of two examples, allowed: \[2\]"),
        ("own_sequences:mixing", CLASSES, "found a loss that mixes examples, allowed: each by itself"),
        ("own_sequences:hinge", NUMBERS, "found a call that fails on outputs .*, allowed: a function"),
        ("own_sequences:nothing", CLASSES, "which cannot be imported .*, allowed: FILE:FUNCTION"),
        ("os:system", CLASSES, "found os:system, a builtin_.*, allowed: a function of outputs"),
    ],
)
def test_a_loss_that_cannot_be_is_one_line(name, labels, said):
    with pytest.raises(BadInput, match=said) as told:
        task(flat_net(), name.replace("own_sequences", "support.own_sequences"), labels)
    assert str(told.value).startswith("loss: ") and "\n" not in str(told.value)


def test_the_engines_in_c_are_asked_for_the_loss_alone_that_they_know(tmp_path):
    files = write_noise(tmp_path / "noise.npz")
    run = RUN | {"rounds": 1, "loss": "support.own_sequences:hinge"}
    engine = summary.load_summary(go(run, files, tmp_path / "run") / "summary.json")["environment"]["engine"]
    assert "cnn5" not in engine and "own_sequences:hinge" in engine


def numbers(n=100):
    """Return the file of a regression: a linear map of features, and noise."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, 5)).astype(np.float32)
    y = x @ rng.standard_normal((5, 3)) + 0.1 * rng.standard_normal((n, 3))
    return {"x_train": x[:80], "y_train": y[:80], "x_test": x[80:], "y_test": y[80:]}


def test_numbers_are_predicted_under_privacy_of_examples_and_have_a_loss_and_no_accuracy(tmp_path):
    files = arrays.save(tmp_path / "numbers.npz", own_arrays("", numbers()))
    base = {"model": flat_net().model_dump(), "loss": "mean_squared_error", "rounds": 40, "scheme": "none"}
    base |= {"server": {"learning_rate": 0.5}, "partition": {"law": "iid", "clients": 4}}
    told = summary.load_summary(go(RUN | base, files, tmp_path / "plain") / "summary.json")
    assert told["test_accuracy"] is None and "majority" not in told["data"] and told["diverged"] is None
    losses = pd.read_parquet(tmp_path / "plain/trace.parquet")["test_loss"].dropna()
    assert losses.iloc[-1] < 0.1 * losses.iloc[0]
    private = {"scheme": BY_SCHEME["instance"]["scheme"] | {"per_example_clip": True}, "rounds": 2}
    private |= {"local": {"name": "fedsgd", "batch_size": 5}}
    assert go(RUN | base | private, files, tmp_path / "private").exists()


def test_a_loss_that_branches_on_its_numbers_has_no_gradients_of_examples(tmp_path):
    x = torch.from_numpy(X)
    there = Task(flat_net(), 3, x, torch.from_numpy(CLASSES), Loss("support.own_sequences:branching"))
    assert there.alone.startswith("loss support.own_sequences:branching, which vmap cannot stack")
    assert task(flat_net(), "support.own_sequences:hinge", CLASSES).alone == ""
