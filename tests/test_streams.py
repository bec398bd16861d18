import pytest
import torch
from scipy.stats import kstest

from fedpriv.streams import Streams


def draws(streams, **where):
    return tuple(streams.numpy("noise", **where).random(4))


def test_the_same_name_gives_the_same_draws():
    assert draws(Streams(1, "run"), round=3, client=2) == draws(Streams(1, "run"), round=3, client=2)


def test_seed_run_name_round_and_client_each_give_another_stream():
    base = Streams(1, "run")
    others = [
        draws(base, round=1, client=1),
        draws(Streams(2, "run"), round=1, client=1),
        draws(Streams(1, "other"), round=1, client=1),
        draws(base, round=2, client=1),
        draws(base, round=1, client=2),
        tuple(base.numpy("cohort", 1, 1).random(4)),
    ]
    assert len(set(others)) == len(others)


def test_the_parts_of_a_name_cannot_be_confused():
    assert draws(Streams(1, "run"), round=11, client=1) != draws(Streams(1, "run"), round=1, client=11)


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
