"""Binary networks: both backends against a loop written out, and what randomised response does to bits."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from support.backends import every_backend
from torch.nn import functional as F

from fedpriv.config.run import Run
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.local.client import Client, Task, batches, initial_client_state
from fedpriv.local.work import FedAvg, Speed
from fedpriv.mechanisms.clipping import Bounded
from fedpriv.models.base import initial_weights, layout, unflatten
from fedpriv.models.bnn import Bnn
from fedpriv.models.layers import signs, straight_through
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.dpfl_bnn import DpflBnn
from fedpriv.streams import Streams

WORK = FedAvg(steps=3, batch_size=6, learning_rate=0.02, optimizer="adam", persistent=True, mixing=0.3)
SIZES = (12, 9, 15)
NETS = {
    "shared": Bnn(widths=(4, 3, 5)),
    "local": Bnn(widths=(4, 3, 5), bn="local", binarise_input=False),
    "none": Bnn(widths=(4, 3, 5), bn="none"),
    "stochastic": Bnn(widths=(4, 3, 5), sign="stochastic"),
    # With these widths threads leave a client's steps to the engine in C.
    "engine": Bnn(widths=(16, 16, 5)),
    "engine_stochastic": Bnn(widths=(16, 16, 5), sign="stochastic"),
}


def task(model):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (sum(SIZES), 28, 28), dtype=np.uint8)
    return Task(model, 10, torch.from_numpy(images), torch.from_numpy(rng.integers(0, 10, len(images))))


def clients(flat, stochastic):
    """Return clients that have each kept weights of their own."""
    ends = np.cumsum(SIZES)
    found = []
    for client, (size, end) in enumerate(zip(SIZES, ends, strict=True)):
        moved = flat + 0.1 * torch.randn(len(flat), generator=torch.Generator().manual_seed(client))
        moved = torch.where(flat == 1, flat, moved)  # the affine maps and variances stay as they were
        kept = initial_client_state(moved, WORK)
        drawn = np.random.default_rng(7 + client) if stochastic else None
        rows = np.arange(end - size, end)
        found.append(Client(rows, np.random.default_rng(client), signs=drawn, kept=kept))
    return found


def layer_by_layer(model, params, images):
    """The network as torch's own layers compute it in training; return logits and batch statistics."""
    found = {}

    def normal(layer, z, terms):
        if model.bn == "none":
            return z / math.sqrt(terms)
        running = torch.zeros(z.shape[1], dtype=z.dtype), torch.zeros(z.shape[1], dtype=z.dtype)
        weight, bias = params[f"norm{layer}.weight"], params[f"norm{layer}.bias"]
        z = F.batch_norm(z, *running, weight, bias, training=True, momentum=1.0)
        found[f"norm{layer}.mean"], found[f"norm{layer}.variance"] = running
        return z

    x = images[:, None].double() / 255
    x = torch.where(x >= model.threshold, 1.0, -1.0).double() if model.binarise_input else x
    x = normal(1, F.conv2d(x, params["conv1.weight"], padding=1), 9)
    x = straight_through(F.max_pool2d(torch.tanh(x), 2))
    x = normal(2, F.conv2d(x, params["conv2.weight"], padding=1), 9 * model.widths[0])
    x = F.max_pool2d(torch.tanh(x), 2).flatten(1)
    x = normal(
        3, F.linear(x, params["dense1.weight"].flatten(1), params["dense1.bias"]), 49 * model.widths[1]
    )
    x = straight_through(torch.tanh(x))
    return normal(
        4, F.linear(x, params["dense2.weight"].flatten(1), params["dense2.bias"]), model.widths[2]
    ), found


def by_hand(here, flat, client, work=WORK):
    """The oracle: one client in float64; returns what it sends and what it keeps."""
    aux, bits = client.kept.weights.double(), here.layout.protected
    first, second = torch.zeros_like(aux), torch.zeros_like(aux)
    plan = batches(work, len(client.rows), client.rng)
    uniforms = client.uniforms(len(plan), len(aux))

    def used(step):
        return torch.cat([signs(aux[:bits], None if uniforms is None else uniforms[step, :bits]), aux[bits:]])

    for step, batch in enumerate(plan):
        leaf = used(step).requires_grad_()
        rows = torch.from_numpy(client.rows[batch])
        params = unflatten(leaf, here.shapes)
        logits, found = layer_by_layer(here.model, params, here.inputs[rows])
        loss = F.cross_entropy(logits, here.labels[rows])
        gradient = torch.autograd.grad(loss, leaf)[0]
        for name, view in unflatten(gradient, here.shapes).items():
            if here.model.normalises and name in ("dense1.bias", "dense2.bias"):
                assert view.abs().max() < 1e-12  # a normalisation takes a bias out again
                view.zero_()
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        root = (second / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
        aux = aux - work.learning_rate * first / (1 - 0.9 ** (step + 1)) / root
        aux[:bits] = aux[:bits].clamp(-1, 1)
        places = unflatten(aux, here.shapes)
        for name, value in found.items():
            places[name].mul_(0.9).add_(0.1 * value)
    return used(-1), aux


@every_backend
@pytest.mark.parametrize("model", NETS.values(), ids=NETS)
def test_a_backend_trains_persistent_binary_clients_as_a_loop_in_float64_does(model, backend):
    here, stochastic = task(model), model.sign == "stochastic"
    flat = initial_weights(here.shapes, np.random.default_rng(1))
    pairs = [by_hand(here, flat, client) for client in clients(flat, stochastic)]
    members = clients(flat, stochastic)
    engine = backend(here, Speed(stack=2, threads=2))
    sent = engine.train_clients(WORK, flat, members, send_weights=True).updates
    engine.close()
    bits = here.layout.protected
    for row, client, (expected, kept) in zip(sent, members, pairs, strict=True):
        # Adam's first steps are signs: a gradient of rounding size may point either way, and a sign with it.
        assert float(((client.kept.weights - kept).abs() > 1e-3).double().mean()) < 0.02
        assert float((row[:bits] != expected[:bits]).double().mean()) < 0.02
        assert set(row[:bits].unique().tolist()) == {-1.0, 1.0}
        assert client.kept.steps.item() == 3


def test_parameters_lie_in_the_order_in_which_they_are_handled():
    assert layout(NETS["shared"], 10).clear == 4 * (4 + 3 + 5 + 10)
    assert layout(NETS["local"], 10).clear == 0
    assert layout(NETS["none"], 10).protected == NETS["none"].size(10)
    assert layout(Bnn(), 10).protected == 81_958  # the dimension in the notes on the released code


def now(number=1, tensors=(20_000,), expected=1.0):
    return RoundContext(number, 10, 5, expected, np.full(5, 60), 60, tensors, Streams(0, "flips"))


def released(scheme, rows, round_number):
    return scheme.release(Bounded(rows, 1.0), rows, round_number)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.25, 0.4])
def test_bits_are_flipped_at_the_stated_rate(gamma):
    rows = torch.ones(5, 20_000)
    sent, facts = released(DpflBnn(gamma=gamma), rows, now())
    flipped = int((sent.updates != rows).sum())
    assert stats.binomtest(flipped, rows.numel(), 0.5 - gamma).pvalue > 0.01
    assert facts["share_flipped"] == pytest.approx(flipped / rows.numel())


def test_whole_tensors_are_flipped_at_the_stated_rate():
    tensors, rows = (3, 7, 5), torch.ones(4000, 15)
    scheme = DpflBnn(gamma=0.2, noise="tensor")
    sent = released(scheme, rows, now(tensors=tensors))[0].updates
    parts = sent.split(tensors, dim=1)
    assert all((part == part[:, :1]).all() for part in parts)
    coins = sum(int((part[:, 0] < 0).sum()) for part in parts)
    assert stats.binomtest(coins, 12_000, 0.3).pvalue > 0.01


@pytest.mark.parametrize("noise", ["coordinate", "tensor"])
def test_without_flips_the_upload_arrives_as_it_is(noise):
    rows = torch.where(torch.rand(5, 20_000, generator=torch.Generator().manual_seed(1)) < 0.5, -1.0, 1.0)
    sent, facts = released(DpflBnn(gamma=0.5, noise=noise), rows, now())
    assert torch.equal(sent.updates, rows)
    assert facts["upload_bytes"] == 2500
    sent, facts = released(DpflBnn(gamma=0.5, noise=noise), rows[:, :10], now(tensors=(10,)))
    assert torch.equal(sent.updates, rows[:, :10]) and facts["upload_bytes"] == 2


def test_debiasing_makes_the_mean_of_the_bits_right_on_average():
    rows = torch.ones(5, 20_000)
    scheme = DpflBnn(gamma=0.1, debias=True)
    mean, _ = scheme.combine(released(scheme, rows, now())[0], now(expected=5.0))
    assert float(mean.mean()) == pytest.approx(1.0, abs=0.1)  # standard error 0.016


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model": "cnn"}, "model: found cnn, allowed: bnn"),
        ({"scheme": {"name": "dpfl_bnn", "gamma": 0.7}}, "scheme.gamma: found 0.7"),
        ({"scheme": {"name": "dpfl_bnn", "gamma": 0, "debias": True}}, "debias: found true with gamma 0"),
        ({"local": {"name": "fedavg"}}, "evaluation.models: found clients, allowed: local.persistent: true"),
        ({"local": {"name": "fedavg", "mixing": 0.5}}, "mixing: found 0.5, allowed: 1, or persistent: true"),
    ],
)
def test_what_makes_no_binary_run_is_one_line(changes, problem):
    config = {
        "dataset": "digits",
        "partition": {"law": "iid", "clients": 8},
        "model": "bnn",
        "cohort": "full",
        "scheme": {"name": "dpfl_bnn", "gamma": 0.1},
        "local": {"name": "fedavg", "persistent": True},
        "evaluation": {"models": "clients"},
    }
    with pytest.raises(BadInput, match=problem):
        parse(Run.model_validate, config | changes, "here")
