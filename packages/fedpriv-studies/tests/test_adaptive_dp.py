"""Adaptive clipping: what it follows, what it releases, and that memory is kept and seen."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from fedpriv_studies.adaptive_dp import AdaptiveDP
from hypothesis import given
from hypothesis import strategies as st
from support.made_run import BY_SCHEME, RUN, go

from fedpriv.audit import dry
from fedpriv.audit.clients import AlikeRounds
from fedpriv.config.plan import load_preset
from fedpriv.schemes.base import RoundContext
from fedpriv.schemes.exchange import Hooks
from fedpriv.store import parquet
from fedpriv.streams import Streams

RUNS = RUN | BY_SCHEME["adaptive_dp"]


def context(memory, round_number=1, expected=100.0):
    return RoundContext(
        round_number, 10, 1000, expected, np.full(100, 5), 5, (3,), Streams(0, "test"), memory=memory
    )


def played(scheme, norms, rounds, expected=None):
    """Return the bound of every round, of clients whose updates have these norms."""
    memory, found = scheme.memory(3), []
    rows = torch.zeros(len(norms), 3)
    rows[:, 0] = torch.as_tensor(norms)
    for round_number in range(1, rounds + 1):
        now = context(memory, round_number, expected or len(norms))
        bounded, facts = scheme.bound(rows, now)
        assert facts["clip_l2"] == float(memory["clip_l2"])
        memory, _ = scheme.remember(bounded, now)
        found.append(float(memory["clip_l2"]))
    return found


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("start", [1e-3, 50.0])
def test_the_bound_goes_to_the_quantile_of_the_norms_wherever_it_starts(quantile, start):
    norms = np.random.default_rng(0).lognormal(0, 1, 2000)
    scheme = AdaptiveDP(clip_l2=start, noise_multiplier=1e-3, quantile=quantile, count_share=0.5)
    assert played(scheme, norms, 500)[-1] == pytest.approx(np.quantile(norms, quantile), rel=0.05)


def test_without_anybody_the_bound_walks_by_noise_alone():
    scheme = AdaptiveDP(clip_l2=1.0, noise_multiplier=1.0, adaptation=0.1, count_share=0.25)
    steps = np.diff(np.log([1.0, *played(scheme, [], 4000, expected=10.0)]))
    # Half of the multiplier of the count, 1 / √0.25, over the denominator.
    assert steps.std() == pytest.approx(0.1 * 0.5 * 2 / 10, rel=0.05)
    assert abs(steps.mean()) < 4 * steps.std() / math.sqrt(len(steps))


@given(
    norms=st.lists(st.floats(0, 5), max_size=6),
    one=st.floats(0, 5),
    bound=st.floats(0.1, 3),
    seed=st.integers(0, 99),
)
def test_a_client_moves_the_centred_count_by_a_half_and_the_sum_by_the_bound(norms, one, bound, seed):
    scheme = AdaptiveDP(clip_l2=bound, noise_multiplier=1.0)
    directions = torch.nn.functional.normalize(
        torch.randn(len(norms) + 1, 3, generator=torch.Generator().manual_seed(seed)), dim=1
    )
    rows = directions * torch.tensor([*norms, one])[:, None]
    now = context(scheme.memory(3))
    with_one, without = (scheme.bound(part, now)[0] for part in (rows, rows[:-1]))
    sums = with_one.updates.double().sum(0) - without.updates.double().sum(0)
    assert float(sums.norm()) <= bound * (1 + 1e-6)
    # The noise is the same, for its stream is: what is left is what the client did.
    logs = [float(scheme.remember(part, now)[0]["clip_l2"].log()) for part in (with_one, without)]
    assert abs(logs[0] - logs[1]) == pytest.approx(scheme.adaptation * 0.5 / 100, rel=1e-6)


@given(multiplier=st.floats(0.01, 100), share=st.floats(1e-6, 0.999))
def test_sum_and_count_together_cost_what_the_multiplier_says(multiplier, share):
    scheme = AdaptiveDP(clip_l2=0.7, noise_multiplier=multiplier, count_share=share)
    now = context(scheme.memory(3))
    bounded, _ = scheme.bound(torch.ones(2, 3), now)
    facts = scheme.combine(bounded, now)[1] | scheme.remember(bounded, now)[1]
    both = facts["noise_multiplier"] ** -2 + facts["count_noise_multiplier"] ** -2
    assert both**-0.5 == pytest.approx(multiplier, rel=1e-9)
    assert facts["noise_std"] == pytest.approx(facts["noise_multiplier"] * 0.7)


def test_a_dry_run_does_not_refute_it():
    mechanism = dry.mechanism_by_name("adaptive_dp", AlikeRounds(0.3, 2.0, 8), 1e-3, {"count_share": 0.5})
    found = dry.audit_mechanism(mechanism, 1e-3, 800, seed=1)
    assert not found.refuted and 0 < found.lower_bound <= found.epsilon < math.inf


def test_every_round_clips_at_the_bound_that_the_round_before_has_left(files, tmp_path):
    trace = parquet.load_frame(go(RUNS, files, tmp_path / "run") / "trace.parquet")
    assert trace["clip_l2"].iloc[0] == 0.5 and trace["clip_l2"].nunique() == len(trace)
    assert not trace["clip_private"].any()
    assert (trace["count_noise_multiplier"] == 1 / math.sqrt(0.1)).all()
    np.testing.assert_allclose(trace["noise_std"], trace["clip_l2"] / math.sqrt(0.9))


def test_hooks_see_what_the_scheme_remembers_and_clip_below_its_bound(files, tmp_path, monkeypatch):
    seen, on_upload = [], Hooks.on_upload

    def watched(hooks, sent, now):
        seen.append(float(now.memory["clip_l2"]))
        return on_upload(hooks, sent, now)

    monkeypatch.setattr(Hooks, "on_upload", watched)
    run = RUNS | {"hooks": {"clip_upload": {"bound": 0.52}, "upload_noise_std": 0.1}}
    trace = parquet.load_frame(go(run, files, tmp_path / "run") / "trace.parquet")
    assert len(set(seen)) == len(trace) and max(seen) > 0.52
    np.testing.assert_array_equal(trace["clip_l2"], np.minimum(seen, 0.52))
    np.testing.assert_allclose(trace["noise_std"], trace["noise_multiplier"] * trace["clip_l2"])


def test_the_example_of_table_1_has_a_fixed_bound_and_one_that_follows_at_the_same_noise():
    preset = Path(__file__).parents[3] / "examples/own/clipping.yaml"
    runs = load_preset(preset).runs["clipping"]
    fixed, adaptive = runs["fixed"], runs["adaptive"]
    assert fixed.model_copy(update={"scheme": adaptive.scheme}) == adaptive
    assert (fixed.partition.clients, fixed.scheme.noise_multiplier) == (
        1000,
        adaptive.scheme.noise_multiplier,
    )
