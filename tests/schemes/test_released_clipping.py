"""The clipping of Geyer et al.'s released code: nothing is bounded, and nobody is told otherwise."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.made_run import BY_SCHEME, RUN, go, write_noise

from fedpriv.account import Deltas
from fedpriv.account.runs import account
from fedpriv.cli.account import account_run
from fedpriv.mechanisms.clipping import raise_to
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import Clip, Hooks, exchange
from fedpriv.schemes.global_dp import GlobalDP, RoundBudget
from fedpriv.store import parquet
from fedpriv.streams import Streams

NOW = RoundContext(1, 6, 100, 1.0, np.full(3, 600), 600, (40,), Streams(0, "tiny"))
BUDGET = RoundBudget(epsilon=50.0, delta=1e-3)
RELEASED = GlobalDP(clip="median", clipping="released", noise_multiplier=2.0, budget=BUDGET)


def test_small_updates_are_scaled_up_to_the_median_and_large_ones_pass():
    bounded, facts = RELEASED.bound(torch.diag(torch.arange(1.0, 6.0)), NOW)
    assert bounded.updates.norm(dim=1).tolist() == pytest.approx([3, 3, 3, 4, 5], rel=1e-5)
    assert bounded.l2 == math.inf and bounded.least == 3
    assert facts["clip_l2"] == math.inf and facts["clip_private"]


@given(seed=st.integers(0, 10**6), least=st.floats(1e-6, 1e6), spread=st.floats(0, 6))
def test_scaling_up_never_shrinks_a_row_and_keeps_its_direction(seed, least, spread):
    rng = np.random.default_rng(seed)
    rows = torch.from_numpy(rng.standard_normal((8, 20))) * 10 ** torch.linspace(-spread, spread, 8)[:, None]
    raised = raise_to(rows, least)[0].updates
    expected = rows.norm(dim=1).clamp(min=least)
    assert torch.allclose(raised.norm(dim=1), expected, rtol=1e-9)
    assert torch.allclose(torch.cosine_similarity(raised, rows), torch.ones(8, dtype=torch.float64))


def test_its_noise_is_scaled_to_s_and_is_no_multiple_of_what_a_client_adds():
    bounded, _ = RELEASED.bound(torch.full((3, 40_000), 0.01), NOW)  # of norm 2
    step, facts = RELEASED.combine(bounded._replace(updates=torch.zeros(3, 40_000)), NOW)
    assert facts["noise_std"] == pytest.approx(4.0) and facts["noise_multiplier"] == 0
    assert float(step.std()) == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize(("s", "l2"), [(0.2, 0.5), (3.0, 3.0)])
def test_behind_a_hook_that_clips_uploads_an_update_is_of_the_larger_of_both_norms(s, l2):
    hooks = Hooks(clip_upload=Clip(bound=0.5))
    scheme = RELEASED.model_copy(update={"clip": s})
    rows = hooks.before_upload(torch.full((3, 40), 1.0))
    _, bounded, _, facts = exchange(scheme, hooks, rows, rows, NOW, noisy=False)
    assert (bounded.updates.norm(dim=1) <= l2 * (1 + 1e-6)).all()
    assert facts["clip_l2"] == bounded.l2 == l2
    assert facts["noise_std"] == pytest.approx(2 * s) == pytest.approx(facts["noise_multiplier"] * l2)


def test_a_run_of_it_has_no_epsilon_by_anybody_not_even_an_estimate(tmp_path):
    scheme = BY_SCHEME["global_dp"]["scheme"] | {"clipping": "released"}
    out = go(RUN | {"scheme": scheme}, write_noise(tmp_path / "noise.npz"), tmp_path / "run")
    trace = parquet.load_frame(out / "trace.parquet")
    assert (trace["noise_std"] > 0).all() and np.isinf(trace["clip_l2"]).all()
    with np.load(out / "distances.npz") as distances:
        assert distances["remove_sum"].size
    ledger = parquet.load_frame(account(out, Deltas(delta=1e-3, instance_delta=1e-5)))
    assert set(ledger["accountant"]) == {"moments", "rdp", "pld", "bayesian"}
    assert np.isinf(ledger["epsilon"]).all() and not ledger["assumptions_met"].any()
    assert all("without a bound, or without noise" in str(statement) for statement in account_run(out, 1e-3))
