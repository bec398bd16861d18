import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.partition.laws import Natural

seeds = st.integers(0, 2**32 - 1)
# How many examples each writer has.
written = st.lists(st.integers(1, 9), min_size=1, max_size=12)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def mixed(counts: list[int], seed: int) -> np.ndarray:
    """Owners of that many examples each, in no order, with a gap in their numbers."""
    return generator(seed).permutation(np.repeat(2 * np.arange(len(counts)), counts))


def split(law: Natural, owners: np.ndarray, seed: int = 0):
    return law.split(np.zeros(len(owners), dtype=np.int64), generator(seed), owners)


@given(counts=written, share=st.floats(0, 1), seed=seeds)
def test_a_client_is_one_writer_with_everything_that_writer_wrote_and_no_writer_is_drawn_twice(
    counts, share, seed
):
    owners = mixed(counts, seed)
    clients = max(1, round(share * len(counts)))
    dealt = split(Natural(clients=clients), owners, seed)
    writers = [set(owners[dealt.client(client)].tolist()) for client in range(clients)]
    assert dealt.clients == clients == len(set().union(*writers))
    for client, (writer,) in enumerate(writers):
        assert sorted(dealt.client(client)) == np.flatnonzero(owners == writer).tolist()


@given(counts=written, most=st.integers(1, 10), seed=seeds)
def test_a_cap_takes_examples_but_no_writer_and_changes_nobody_drawn(counts, most, seed):
    owners, clients = mixed(counts, seed), (len(counts) + 1) // 2
    whole = split(Natural(clients=clients), owners, seed)
    capped = split(Natural(clients=clients, examples=most), owners, seed)
    for client in range(clients):
        kept, all_ = capped.client(client), whole.client(client)
        assert len(set(kept)) == len(kept) == min(most, len(all_)) and set(kept) <= set(all_)


@given(counts=written, least=st.integers(1, 9), seed=seeds)
def test_writers_of_few_examples_are_not_drawn(counts, least, seed):
    enough = sum(count >= least for count in counts)
    owners = mixed(counts, seed)
    if enough:
        dealt = split(Natural(clients=enough, min_examples=least), owners, seed)
        assert np.diff(dealt.offsets).min() >= least
    words = (
        f"partition.clients: found {enough + 1}, allowed: at most {enough} .*min_examples: {least} or more"
    )
    with pytest.raises(BadInput, match=words):
        split(Natural(clients=enough + 1, min_examples=least), owners, seed)


def test_every_writer_and_every_example_beneath_a_cap_is_drawn_equally_often():
    owners = np.repeat(np.arange(5), 4)
    rng, law = generator(), Natural(clients=2, examples=2)
    drawn = [law.split(owners, rng, owners).indices for _ in range(3000)]
    times = np.bincount(np.concatenate(drawn), minlength=20)
    expected = 3000 * 2 / 5 / 2
    assert times == pytest.approx(expected, abs=4.5 * expected**0.5)


def test_a_writer_is_not_repeated():
    with pytest.raises(BadInput, match="repeat: found true, allowed: false"):
        parse(Natural.model_validate, {"clients": 3, "repeat": True}, "run.yaml")
