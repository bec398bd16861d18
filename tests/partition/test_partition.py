from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv import partition
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.partition import PARTITIONS, Partition, PartitionLaw
from fedpriv.partition.base import round_shares
from fedpriv.partition.laws import Dirichlet, Iid, Shards, balance, serve

MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
OWN_KEYS = {"dirichlet": {"alpha": 0.3}}

LAWS = sorted(name for name, law in PARTITIONS.items() if not law.by_owner)
every_law = pytest.mark.parametrize("name", LAWS)
seeds = st.integers(0, 2**32 - 1)
few = st.integers(1, 12)


def law(name: str, clients: int, examples: int, repeat: bool = False) -> PartitionLaw:
    own = {"shard_examples": examples // 2} if name == "shards" else OWN_KEYS.get(name, {})
    return PARTITIONS[name](clients=clients, examples=examples, repeat=repeat, **own)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_labels(n: int, classes: int, seed: int = 0) -> np.ndarray:
    return generator(seed).integers(classes, size=n)


def times_dealt(dealt: Partition, n: int) -> np.ndarray:
    return np.bincount(dealt.indices, minlength=n)


def class_counts(dealt: Partition, labels: np.ndarray) -> np.ndarray:
    held = [np.bincount(labels[dealt.client(i)], minlength=labels.max() + 1) for i in range(dealt.clients)]
    return np.array(held)


@every_law
@given(clients=few, pairs=few, spare=st.integers(0, 40), classes=few, seed=seeds)
def test_every_client_gets_its_examples_and_none_is_dealt_twice(name, clients, pairs, spare, classes, seed):
    n = clients * 2 * pairs + spare
    dealt = law(name, clients, 2 * pairs).split(random_labels(n, classes, seed), generator(seed))
    sizes = np.diff(dealt.offsets)
    assert dealt.clients == len(sizes) == clients
    assert sizes.min() >= 1 and sizes.sum() == len(dealt.indices) == clients * 2 * pairs
    assert set(sizes) == {2 * pairs}
    assert times_dealt(dealt, n).max() <= 1 and dealt.indices.max() < n


@pytest.mark.parametrize("name", sorted(set(LAWS) - {"dirichlet"}))
@given(clients=few, pairs=few, passes_in_n=st.integers(1, 5), seed=seeds)
def test_repeated_data_are_dealt_equally_often_give_or_take_one(name, clients, pairs, passes_in_n, seed):
    n = pairs * passes_in_n  # a whole number of shards
    dealt = law(name, clients, 2 * pairs, repeat=True).split(random_labels(n, 3, seed), generator(seed))
    assert np.ptp(times_dealt(dealt, n)) <= 1


@given(clients=few, pairs=few, n=st.integers(1, 60), seed=seeds)
def test_dirichlet_repeats_the_data_of_a_class_equally_often_give_or_take_one(clients, pairs, n, seed):
    labels = random_labels(n, 4, seed)
    times = times_dealt(law("dirichlet", clients, pairs, repeat=True).split(labels, generator(seed)), n)
    for label in set(labels):
        assert np.ptp(times[labels == label]) <= 1


@every_law
def test_only_the_generator_decides_who_gets_what(name):
    labels = random_labels(400, 5)
    first, again, other = (law(name, 10, 40).split(labels, generator(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.indices, other.indices)


@every_law
def test_a_saved_partition_is_loaded_as_it_was(name, tmp_path: Path):
    dealt = law(name, 10, 40).split(random_labels(400, 5), generator())
    loaded = partition.load_partition(
        partition.save_partition(tmp_path / "deep" / "law.npz", dealt, "dealt"), "dealt"
    )
    for was, is_ in zip(dealt, loaded, strict=True):
        assert was.dtype == is_.dtype and np.array_equal(was, is_)
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["law.npz"]


# Label skew


def straddling(dealt: Partition, labels: np.ndarray, shard_examples: int) -> int:
    shards = labels[dealt.indices].reshape(-1, shard_examples)
    return int((shards.min(1) != shards.max(1)).sum())


@given(classes=few, shard=st.integers(1, 9), clients=few, each=st.integers(1, 3), seed=seeds)
def test_a_pass_over_shards_straddles_at_most_one_class_boundary_each(classes, shard, clients, each, seed):
    labels = random_labels(clients * each * shard + 5, classes, seed)
    split = Shards(clients=clients, shard_examples=shard, shards_per_client=each).split
    assert straddling(split(labels, generator(seed)), labels, shard) <= classes - 1


@given(shard=st.integers(1, 9), each=st.integers(1, 3), seed=seeds)
def test_a_client_sees_at_most_two_classes_a_shard(shard, each, seed):
    sizes = generator(seed).integers(shard, 3 * shard + 1, 10)  # no class smaller than a shard
    sizes[-1] += -sizes.sum() % shard
    labels = np.repeat(np.arange(10), sizes)
    clients = len(labels) // shard // each
    dealt = Shards(clients=clients, shard_examples=shard, shards_per_client=each).split(
        labels, generator(seed)
    )
    assert (class_counts(dealt, labels) > 0).sum(1).max() <= 2 * each


def test_mnist_has_194_pure_shards_of_300_and_the_cut_leaves_at_most_nine_mixed():
    assert sum(count // 300 for count in MNIST_TRAIN) == 194
    labels = np.repeat(np.arange(10), MNIST_TRAIN)
    dealt = Shards(clients=100).split(labels, generator())
    assert straddling(dealt, labels, 300) <= 9
    assert (class_counts(dealt, labels) > 0).sum(1).max() <= 4


@pytest.mark.parametrize("alpha", [0.05, 0.5, 5.0])
def test_dirichlet_shares_have_the_mean_and_the_spread_of_the_law(alpha):
    clients, classes = 400, 5
    labels = np.tile(np.arange(classes), 40_000)  # ample: no class runs out
    dealt = Dirichlet(clients=clients, examples=100, alpha=alpha).split(labels, generator())
    shares = class_counts(dealt, labels) / 100
    concentration = classes * alpha
    variance = (classes - 1) / classes**2 / (concentration + 1)
    assert shares.mean(0) == pytest.approx(1 / classes, abs=4 * (variance / clients) ** 0.5)
    assert (shares**2).sum(1).mean() == pytest.approx((alpha + 1) / (concentration + 1), rel=0.05)


@given(rows=st.integers(2, 20), classes=st.integers(2, 6), alpha=st.floats(0.2, 10), seed=seeds)
def test_balanced_proportions_sum_to_one_and_want_each_class_as_often_as_it_occurs(
    rows, classes, alpha, seed
):
    columns = rows * generator(seed).dirichlet([5.0] * classes)
    balanced = balance(generator(seed + 1).dirichlet([alpha] * classes, rows), columns, 10_000)
    assert balanced.sum(1) == pytest.approx(1)
    assert balanced.sum(0) == pytest.approx(columns, rel=1e-3)


@given(rows=few, k=few, total=st.integers(0, 1000), alpha=st.floats(1e-3, 100), seed=seeds)
def test_rounded_shares_sum_to_the_total_and_are_off_by_less_than_one(rows, k, total, alpha, seed):
    shares = generator(seed).dirichlet([alpha] * k, rows)
    counts = round_shares(shares, total, generator(seed))
    assert (counts.sum(1) == total).all() and counts.min() >= 0
    assert np.abs(counts - total * shares).max() < 1 + 1e-9


def test_a_class_that_ran_out_is_replaced_by_the_one_with_most_left():
    served = serve(np.array([[3, 0, 0], [3, 0, 0]]), np.array([4, 1, 5]), np.array([1, 0]))
    assert served.tolist() == [[1, 0, 2], [3, 0, 0]]


# Bad input


@pytest.mark.parametrize(
    ("too_much", "message"),
    [
        (Iid(clients=11), "partition.clients: found 11, allowed: at most 10"),
        (Iid(clients=3, examples=4), "partition.examples: found 4 .*allowed: at most 3 .*or repeat: true"),
        (
            Iid(clients=11, examples=2),
            "partition.clients: found 11 with 2 each, allowed: at most 10, .* repeat",
        ),
        (Dirichlet(clients=11, alpha=1), "partition.clients: found 11, allowed: at most 10"),
        (Shards(clients=3, shard_examples=2), r"partition.clients: found 3 .*at most 2 \(5 shards of 2\)"),
        (Shards(clients=3), "partition.shard_examples: found 300, allowed: at most 10"),
    ],
)
def test_too_few_examples_are_bad_input_naming_key_found_and_allowed(too_much, message):
    with pytest.raises(BadInput, match=message):
        too_much.split(np.zeros(10, dtype=np.int64), generator())


def test_examples_that_contradict_the_shards_are_bad_input():
    with pytest.raises(BadInput, match="examples: found 500, allowed: 600"):
        parse(Shards.model_validate, {"clients": 10, "examples": 500}, "run.yaml")


def test_a_partition_knows_how_many_clients_hold_the_same_example() -> None:
    offsets = np.array([0, 2, 2, 4, 6])
    for indices, holders in (([0, 1, 2, 3, 4, 5], 1), ([0, 1, 1, 3, 4, 1], 3), ([0, 1, 2, 2, 4, 5], 0)):
        assert Partition(np.array(indices, dtype=np.int32), offsets).holders(np.arange(6)) == holders
    dealt = Iid(clients=10, examples=40, repeat=True).split(
        np.zeros(100, dtype=np.int64), np.random.default_rng(0)
    )
    assert dealt.holders(np.arange(100)) in (0, 4)


def test_an_example_is_held_by_all_who_hold_an_equal_one_in_whatever_row() -> None:
    dealt = Partition(np.arange(6, dtype=np.int32), np.array([0, 2, 4, 6]))
    for content, holders in (([0, 1, 2, 1, 4, 1], 3), ([0, 1, 2, 0, 4, 5], 2), ([0, 0, 2, 3, 4, 5], 0)):
        assert dealt.holders(np.array(content)) == holders
