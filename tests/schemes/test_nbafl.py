"""NbAFL: its noise is really on, and as large as the document, its repository and Wei et al. print."""

import math

import numpy as np
import pytest
import torch

from fedpriv.mechanisms.clipping import Bounded
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import Hooks
from fedpriv.schemes.nbafl import NbAFL
from fedpriv.streams import Streams

EXAMPLES = np.array([100, 130, 200])


def now(rounds=300, population=200, expected=40.0):
    return RoundContext(1, rounds, population, expected, EXAMPLES, 90, (40_000,), Streams(0, "nbafl"))


def scheme(**changes):
    return NbAFL(**{"epsilon": 10.0, "constant": 1.0, "weight_clip": 0.1} | changes)


def sent(which, rows):
    return which.release(which.bound(rows, now())[0], rows, now())


@pytest.mark.parametrize("clip", ["element", "norm"])
@pytest.mark.parametrize("scaling", ["document", "paper", "repository"])
def test_what_arrives_differs_from_what_was_computed_by_noise_of_the_stated_size(scaling, clip):
    which = scheme(scaling=scaling, clip=clip)
    arrived, facts = sent(which, torch.zeros(3, 40_000))
    std = which.uplink_std(now())
    assert (std > 0).all()
    assert arrived.updates.std(dim=1).tolist() == pytest.approx(
        std.tolist(), rel=0.02
    )  # standard error 0.35 %
    assert facts["upload_noise_std"] == std.min()


def test_the_document_prints_twice_the_noise_of_its_repository():
    document, repository = (scheme(scaling=name).uplink_std(now()) for name in ("document", "repository"))
    assert document == pytest.approx(2 * repository)
    # Reference notes: C = .1, T = 300, c = 1, n = 130, ε = 10 give .046.
    assert document[1] == pytest.approx(0.046, abs=2e-4)


def test_wei_et_al_count_exposures_and_the_smallest_client():
    # c · L · 2C/m / ε with L = 300 · 40/200 rounds
    assert scheme(scaling="paper").uplink_std(now()) == pytest.approx([1 * 60 * 2 * 0.1 / 90 / 10] * 3)


def test_with_few_clients_the_server_adds_the_printed_noise():
    weights = torch.zeros(40_000)
    few = now(population=4, expected=2.0)
    arrived, facts = scheme().broadcast(weights, few)
    std = 2 * 0.1 * 1 * math.sqrt(300**2 - 2**2 * 4) / (90 * 4 * 10)
    assert facts["broadcast_noise_std"] == pytest.approx(std)
    assert float(arrived.std()) == pytest.approx(std, rel=0.02)


def test_the_document_bounds_what_is_broadcast_and_not_what_is_uploaded():
    which = scheme(epsilon=1e9)
    rows = torch.full((3, 50), 7.0)
    arrived, facts = sent(which, rows)
    assert arrived.updates == pytest.approx(rows, abs=1e-3)
    assert facts["upload_l2"] == math.inf
    assert float(which.broadcast(rows[0], now())[0].max()) == pytest.approx(0.1)


def test_wei_et_al_bound_every_upload():
    arrived, facts = sent(scheme(epsilon=1e9, clip="norm"), torch.full((3, 50), 7.0))
    assert arrived.updates.norm(dim=1).tolist() == pytest.approx([0.1] * 3, abs=1e-3)
    assert facts["upload_l2"] == 0.1


def test_the_hooks_add_the_noise_they_state():
    hooks = Hooks(upload_noise_std=0.3, broadcast_noise_std=0.2)
    arrived, facts = hooks.on_upload(Bounded(torch.zeros(3, 40_000), 2.0), now())
    assert float(arrived.updates.std()) == pytest.approx(0.3, rel=0.02)
    assert facts == {
        "upload_l2": 2.0,
        "upload_noise_std": 0.3,
        "upload_noise_least": 0.3,
        "noise_in_sum": True,
    }
    weights, facts = hooks.before_broadcast(torch.zeros(40_000), now())
    assert float(weights.std()) == pytest.approx(0.2, rel=0.02)
    assert facts == {"broadcast_noise_std": 0.2}
