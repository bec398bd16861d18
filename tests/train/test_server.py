"""The server's optimisers are what their papers say, for any scheme, and cost no privacy."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.made_run import BY_SCHEME, RUN, go

from fedpriv.config.run import Run, Server
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.store import parquet, summary
from fedpriv.train.record import RoundState
from fedpriv.train.round import average, move

STEPS = np.random.default_rng(0).standard_normal((20, 5)) * 10.0 ** np.arange(-4, 1)
ADAM = {"optimizer": "adam", "learning_rate": 0.01}


def moves(server):
    state = RoundState(torch.zeros(5), torch.zeros(5))
    return np.array([move(server, state, torch.from_numpy(step).float()).tolist() for step in STEPS])


def test_adam_is_the_fedadam_of_reddi_et_al_number_by_number():
    one, two, tau = 0.9, 0.99, 1e-3  # section 5 of Reddi et al.
    expected = np.zeros_like(STEPS)
    for column in range(5):
        m, v = 0.0, tau**2
        for round_number, step in enumerate(STEPS[:, column]):
            m = one * m + (1 - one) * step
            v = two * v + (1 - two) * step**2
            expected[round_number, column] = m / (v**0.5 + tau)
    found = moves(Server(optimizer="adam"))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_the_average_of_weights_forgets_each_round_by_the_share_that_it_keeps():
    state = RoundState(torch.zeros(5), torch.zeros(5))
    weights = torch.from_numpy(STEPS)
    for row in weights:
        state.flat = row
        state.average = average(Server(averaging=0.75), state)
    shares = 0.25 * 0.75 ** np.arange(len(STEPS))[::-1]
    shares[0] *= 4  # the first round's weights stand for all that was before
    np.testing.assert_allclose(state.model, shares @ STEPS, rtol=1e-12)


def test_an_average_is_evaluated_and_saved_and_moves_nothing_else(files, tmp_path):
    run = RUN | {"rounds": 3, "evaluate_every": 1}
    plain, averaged = (
        go(run | {"server": {"averaging": share}}, files, tmp_path / str(share)) for share in (0.0, 0.5)
    )
    traces = [parquet.load_frame(one / "trace.parquet") for one in (plain, averaged)]
    assert traces[0]["train_loss"].tolist() == traces[1]["train_loss"].tolist()
    assert traces[0]["test_loss"][0] == traces[1]["test_loss"][0] != traces[1]["test_loss"][2]
    assert traces[0]["test_loss"][2] != traces[1]["test_loss"][2]
    models = [load_file(one / "model.safetensors")["flat"] for one in (plain, averaged)]
    assert not torch.equal(*models)


@pytest.mark.parametrize("scheme", ["none", "global_dp", "joint", "nbafl"])
def test_a_run_of_any_scheme_may_have_any_optimiser_and_its_facts_of_privacy_stay(scheme, files, tmp_path):
    run = RUN | BY_SCHEME[scheme] | {"rounds": 2}
    out = [
        go(run | {"server": server}, files, tmp_path / name) for name, server in (("adam", ADAM), ("sgd", {}))
    ]
    told = [summary.load_summary(one / "summary.json") for one in out]
    assert told[0]["identity"] != told[1]["identity"] and told[0]["diverged"] is None
    traces = [parquet.load_frame(one / "trace.parquet") for one in out]
    facts = ["noise_multiplier", "count_noise_multiplier", "sampling_rate", "cohort_size", "clip_private"]
    assert traces[0][facts].equals(traces[1][facts])


def test_momentum_beside_adam_is_one_line():
    with pytest.raises(
        BadInput, match=r"server: momentum: found 0\.5, allowed: 0 with optimizer adam"
    ) as told:
        parse(Run.model_validate, RUN | {"server": ADAM | {"momentum": 0.5}}, "here")
    assert "\n" not in str(told.value)


def test_momentum_is_torchs():
    weights = torch.zeros(5, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=1.0, momentum=0.7)
    for step in STEPS:
        weights.grad = -torch.from_numpy(step).float()
        optimizer.step()
    found = moves(Server(momentum=0.7)).sum(axis=0)
    np.testing.assert_allclose(found, weights.detach(), rtol=1e-4, atol=1e-6)
