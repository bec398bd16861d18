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


def test_torch_streams_are_named_the_same_way():
    def draw(seed, round):
        import torch

        return torch.randn(4, generator=Streams(seed, "run").torch("noise", round)).tolist()

    assert draw(0, 1) == draw(0, 1)
    assert draw(0, 1) != draw(0, 2)
    assert draw(0, 1) != draw(1, 1)
