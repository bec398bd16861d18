import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedpriv.config.plan import arrays_id, partition_id, wrong_dataset
from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.data.arrays import Arrays, hold_out
from fedpriv.errors import BadInput
from fedpriv.local.work import Speed
from fedpriv.train import inputs

RUN = {
    "dataset": "aptos",
    "partition": {"law": "iid", "clients": 4},
    "model": {"name": "resnet50_head", "backbone": "random"},
    "scheme": "none",
    "cohort": {"law": "poisson", "rate": 0.5},
}
IMAGES = 60
LAWS = (
    {"law": "iid", "clients": 5, "examples": 12},
    {"law": "iid", "clients": 7},
    {"law": "shards", "clients": 5, "shard_examples": 5, "shards_per_client": 2},
    {"law": "shards", "clients": 3, "shard_examples": 9, "examples": 18},
    {"law": "dirichlet", "clients": 6, "alpha": 0.5},
    {"law": "dirichlet", "clients": 6, "alpha": 0.5, "examples": 8, "balanced": True},
)


def run(**changes):
    return Run.model_validate(RUN | changes)


def copied(copies):
    group = np.repeat(np.arange(IMAGES), copies)
    x = np.zeros((len(group), 3), dtype=np.float16)
    return Arrays(x, group % 5, x[:2], group[:2] % 5, classes=5, group=group)


@given(law=st.sampled_from(LAWS), copies=st.integers(1, 4), seed=st.integers(0, 99))
def test_no_image_has_copies_at_two_clients(law, copies, seed):
    found = copied(copies)
    dealt = inputs.partition_for(run(partition=law), found, seed)
    held = [set(found.group[dealt.client(client)]) for client in range(dealt.clients)]
    assert sum(map(len, held)) == len(set().union(*held))
    for client, images in enumerate(held):
        rows = dealt.client(client)
        assert len(rows) == len(set(rows)) == copies * len(images)


@pytest.mark.parametrize("validation", [0, 20])
def test_copies_dealt_one_by_one_are_at_many_clients_each_at_one_and_none_is_tested_on(validation):
    copies = 4
    found = copied(copies)._replace(
        x_train=np.arange(IMAGES * copies, dtype=np.float16)[:, None].repeat(3, axis=1)
    )
    if validation:
        found = hold_out(found, validation, np.random.default_rng(0))
    deal = run(partition={"law": "iid", "clients": 5, "examples": 24, "deal": "copies"})
    dealt = inputs.partition_for(deal, found, 0)
    assert len(np.unique(dealt.indices)) == 5 * 24 and set(np.diff(dealt.offsets)) == {24}
    images = [set(found.group[dealt.client(client)]) for client in range(5)]
    assert sum(map(len, images)) > len(set().union(*images))
    if validation:
        trained = set(found.x_train[dealt.indices, 0].astype(int) // copies)
        assert trained.isdisjoint(found.x_test[:, 0].astype(int) // copies)


def test_how_copies_are_dealt_is_another_partition_and_what_is_usual_is_not_written_down():
    usual, copies = ({"law": "iid", "clients": 5} | deal for deal in ({"deal": "images"}, {"deal": "copies"}))
    assert run(partition=usual).training() == run(partition={"law": "iid", "clients": 5}).training()
    assert partition_id(run(partition=usual)) != partition_id(run(partition=copies))


@pytest.mark.parametrize("copies", [1, 3])
def test_writers_are_not_dealt_where_nobody_knows_them(copies):
    words = (
        "law: found natural with dataset aptos, of which nobody knows the writers, allowed: dirichlet, iid"
    )
    with pytest.raises(BadInput, match=words):
        inputs.partition_for(run(partition={"law": "natural", "clients": 2}), copied(copies), 0)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"law": "iid", "clients": 5, "examples": 2}, "partition.examples: found 2, allowed: at least 3"),
        (
            {"law": "shards", "clients": 5, "shard_examples": 1},
            "partition.shard_examples: found 1, allowed: at least 3",
        ),
        (
            {"law": "iid", "clients": 61},
            "partition.clients: found 61, allowed: at most 60.*counted in images",
        ),
        (
            {"law": "iid", "clients": 20, "examples": 12},
            "partition.examples: found 4 for each of 20 clients, .*counted in images.* 3 copies",
        ),
    ],
)
def test_too_few_images_are_bad_input(law, words):
    with pytest.raises(BadInput, match=words):
        inputs.partition_for(run(partition=law), copied(3), 0)


def test_the_arrays_of_images_are_named_by_their_dataset_and_features_by_all_that_they_depend_on():
    assert arrays_id(run(dataset="mnist", model="cnn", photos={"copies": 3})) == "mnist"
    photos = {"copies": 11, "seed": 2, "dedup": "drop"}
    assert arrays_id(run(photos=photos)) == "aptos-random-c11-s2-drop"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"model": "cnn"},
            "found aptos with model cnn, allowed with it: digits, fashion_mnist, femnist",
        ),
        ({"dataset": "mnist"}, "found mnist with model resnet50_head, allowed with it: aptos"),
        ({"dataset": "letters"}, "found letters, allowed: "),
    ],
)
def test_a_dataset_that_does_not_give_what_the_model_reads_is_bad_input(changes, words):
    assert re.match(f"dataset: {words}", wrong_dataset(run(**changes)))


def test_features_are_prepared_from_a_folder_of_photographs(tiny, tmp_path):
    wanted = run(dataset="tiny", photos={"copies": 2}, partition={"law": "iid", "clients": 3})
    tiny.unlink()
    path = inputs.prepare(wanted, tmp_path / "resources", [], Speed(device="cpu"))
    assert path == tmp_path / "resources/tiny-random-c2-s0-keep.npz"
    dealt = inputs.write_partition(wanted, 0, path, tmp_path / "dealt.npz")
    dealt = inputs.load_partition(wanted, arrays.load(path), 0, dealt)
    assert np.diff(dealt.offsets).tolist() == [4, 4, 4]
    before = path.stat().st_mtime_ns
    assert inputs.prepare(wanted, tmp_path / "resources", [], Speed(device="cpu")) == path
    assert path.stat().st_mtime_ns == before


def test_a_validation_split_is_taken_of_whole_images(tiny, tmp_path):
    wanted = run(dataset="tiny", photos={"copies": 2}, validation=3)
    path = inputs.prepare(wanted, tmp_path / "resources", [], Speed(device="cpu"))
    held = inputs.arrays_for(wanted, path)
    assert (len(held.y_train), len(held.y_test)) == (10, 3)


def test_with_repetition_a_client_still_holds_whole_images():
    found = copied(3)
    law = {"law": "iid", "clients": 20, "examples": 18, "repeat": True}
    dealt = inputs.partition_for(run(partition=law), found, 0)
    assert np.bincount(dealt.indices).tolist() == 180 * [2]
    for client in range(20):
        assert (dealt.client(client).reshape(-1, 3) % 3 == [0, 1, 2]).all()
