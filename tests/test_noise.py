"""Noise of the operating system has the promised law, never comes again, and changes no account."""

import math
import os

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, kstest
from support.made_run import BINARY, RUN, go

from fedpriv.store import parquet
from fedpriv.streams import SECRET, Noise, Streams, uniforms

SECURE = Streams(0, "run", secure=True)


def dealt(words):
    """Return an operating system that deals `words` again and again."""
    return lambda size: (words.astype(np.uint64).tobytes() * size)[:size]


def test_the_noise_is_standard_normal(monkeypatch):
    # From a fixed tape instead of the operating system, so that the test says the same every time.
    monkeypatch.setattr(os, "urandom", np.random.default_rng(0).bytes)
    drawn = Noise(None).like(torch.empty(200, 100, dtype=torch.float64))
    assert drawn.shape == (200, 100)
    assert kstest(drawn.flatten().numpy(), "norm").pvalue > 0.01


def test_the_extreme_words_of_the_system_give_finite_noise(monkeypatch):
    for word, sign in ((0, -1), (2**64 - 1, 1)):
        monkeypatch.setattr(os, "urandom", dealt(np.array([word], dtype=np.uint64)))
        (number,) = Noise(None).like(torch.empty(1, dtype=torch.float64)).tolist()
        assert math.isfinite(number) and sign * number > 8


def test_uniforms_use_every_word_once(monkeypatch):
    words = np.arange(6, dtype=np.uint64) << np.uint64(61)
    monkeypatch.setattr(os, "urandom", dealt(words))
    assert uniforms((2, 3)) == pytest.approx((np.arange(6) / 8).reshape(2, 3), abs=1e-15)


def test_coins_fall_at_their_rate(monkeypatch):
    monkeypatch.setattr(os, "urandom", np.random.default_rng(1).bytes)
    heads = SECURE.coins(0.3, (100, 200), "flips", 1)
    assert binomtest(int(heads.sum()), heads.size, 0.3).pvalue > 0.01


def test_a_seed_decides_nothing_that_privacy_rests_on():
    like = torch.empty(50)
    for draw in (
        lambda: tuple(SECURE.noise("noise", 1).like(like).tolist()),
        lambda: SECURE.coins(0.5, (200,), "flips", 1).tobytes(),
        *(lambda name=name: tuple(SECURE.numpy(name, 1).random(8)) for name in SECRET),
    ):
        assert draw() != draw()


def test_a_seed_still_decides_the_first_weights_and_what_is_only_measured():
    for name in ("init", "panel", "probe", "evaluation"):
        assert SECURE.numpy(name).random() == Streams(0, "run").numpy(name).random()


@pytest.mark.parametrize("run", [RUN, RUN | BINARY], ids=["normal", "coins"])
def test_a_secure_run_never_comes_again_and_accounts_for_the_same_noise(run, files, tmp_path):
    seeded, one, other = (
        go(run | {"secure_noise": secure}, files, tmp_path / name)
        for name, secure in (("seeded", False), ("one", True), ("other", True))
    )
    weights = [(out / "model.safetensors").read_bytes() for out in (seeded, one, other)]
    assert len(set(weights)) == 3
    said = ["noise_multiplier", "noise_std", "gamma", "noisy_bits", "sampling_rate"]
    traces = [parquet.load(out / "trace.parquet")[said] for out in (seeded, one, other)]
    assert traces[0].equals(traces[1]) and traces[0].equals(traces[2])
