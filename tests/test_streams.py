"""Streams by name; noise of the operating system has its law, never comes again, and changes no account."""

import math
import os

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from support.made_run import BINARY, RUN, go

from fedpriv.store import parquet
from fedpriv.streams import SECRET, Noise, Streams

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
    traces = [parquet.load_frame(out / "trace.parquet")[said] for out in (seeded, one, other)]
    assert traces[0].equals(traces[1]) and traces[0].equals(traces[2])


# --- of a seed ----------------------------------------------------------------------------------------------


def draws(streams, **where):
    return tuple(streams.numpy("noise", **where).random(4))


def test_seed_run_name_round_and_client_each_give_another_stream():
    base = Streams(1, "run")
    assert draws(base, round_number=3, client=2) == draws(Streams(1, "run"), round_number=3, client=2)
    others = [
        draws(base, round_number=11, client=1),
        draws(base, round_number=1, client=11),
        draws(base, round_number=1, client=1),
        draws(Streams(2, "run"), round_number=1, client=1),
        draws(Streams(1, "other"), round_number=1, client=1),
        draws(base, round_number=2, client=1),
        draws(base, round_number=1, client=2),
        tuple(base.numpy("cohort", 1, 1).random(4)),
    ]
    assert len(set(others)) == len(others)


def test_every_one_of_the_128_bits_of_a_key_changes_the_noise(monkeypatch):
    noise = set()
    for key in [0, *(1 << bit for bit in range(128))]:
        monkeypatch.setattr(Streams, "_key", lambda *_, key=key: key)
        noise.add(tuple(Streams(0, "run").noise("noise").like(torch.empty(4)).tolist()))
    assert len(noise) == 129


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_is_normal_in_the_precision_of_what_it_is_added_to(dtype):
    drawn = Streams(0, "run").noise("noise").like(torch.empty(400, 500, dtype=dtype))
    assert drawn.dtype == dtype
    assert len(drawn.unique()) > 190_000 if dtype == torch.float64 else 150_000
    assert kstest(drawn.flatten().numpy(), "norm").pvalue > 0.01


def test_noise_goes_on_where_it_was_and_does_not_begin_again():
    noise, whole = (Streams(0, "run").noise("noise") for _ in range(2))
    parts = [noise.like(torch.empty(3)), noise.like(torch.empty(5))]
    assert torch.equal(torch.cat(parts), whole.like(torch.empty(8)))


def test_a_generator_is_keyed_by_all_of_a_key():
    for client in range(100):
        key = Streams(0, "run")._key("noise", 1, client)
        state = Streams(0, "run").numpy("noise", 1, client).bit_generator.state["state"]
        assert state["key"].tolist() == [key % 2**64, key >> 64]
        assert not state["counter"].any()
