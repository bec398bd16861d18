"""`clients: all` is the number of owners with enough examples, in the config of the run and its identity."""

import numpy as np
import pytest
from support.made_run import RUN

from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.data.own import own_arrays
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.partition import Partition
from fedpriv.train.inputs import arrays_for, partition_for

LAW = {"law": "natural", "clients": "all"}
SIZES = (1, 2, 3, 4, 9, 9)


@pytest.fixture
def file(tmp_path):
    """Return an npz file of six owners, by name, with `SIZES` training examples."""
    rng = np.random.default_rng(0)
    owner = rng.permutation(np.repeat([*"abcdef"], SIZES))
    x, y = rng.integers(0, 256, (len(owner), 28, 28), dtype=np.uint8), np.arange(len(owner)) % 3
    np.savez(tmp_path / "owned.npz", x_train=x, y_train=y, x_test=x, y_test=y, owner=owner)
    return tmp_path / "owned.npz"


def planned(file, law=(), **more):
    told = RUN | {"dataset": {"npz": str(file)}, "partition": LAW | dict(law)} | more
    return parse(Run.model_validate, told, "x")


@pytest.mark.parametrize("least", [1, 3, 5])
def test_it_is_the_number_of_owners_that_are_dealt_and_one_more_is_refused(file, least):
    run = planned(file, {"min_examples": least})
    clients = run.partition.clients
    saved = arrays.save(file.with_name("saved.npz"), own_arrays("", dict(np.load(file))))
    dealt = partition_for(run, found := arrays_for(run, saved), 0)
    assert isinstance(dealt, Partition) and dealt.clients == clients
    assert clients == sum(size >= least for size in SIZES)
    said = planned(file, {"min_examples": least, "clients": clients})
    assert said == run and said.identity("x", 0) == run.identity("x", 0)
    more = planned(file, {"min_examples": least, "clients": clients + 1})
    with pytest.raises(BadInput, match=f"found {clients + 1}, allowed: at most {clients} "):
        partition_for(more, found, 0)


def named(dataset, **more):
    return parse(Run.model_validate, RUN | {"dataset": dataset, "partition": LAW | more}, "x")


def test_the_writers_of_femnist_are_known_before_it_is_there():
    assert named("femnist").partition.clients == 3400
    with pytest.raises(BadInput, match="clients: found all, allowed: a number; all with min_examples 1"):
        named("femnist", min_examples=9)


def test_where_nobody_can_count_owners_all_is_one_line(file):
    with pytest.raises(BadInput, match="clients: found all, allowed: a number, or all with law natural"):
        planned(file, {"law": "iid"})
    with pytest.raises(BadInput, match="clients: found all, allowed: a number, for nobody knows the owners"):
        named("mnist")
    with pytest.raises(BadInput, match="clients: found all, allowed: a number with validation"):
        planned(file, validation=3)
    with np.load(file) as found:
        np.savez(file, **{name: found[name] for name in found.files if name != "owner"})
    with pytest.raises(BadInput, match="found no owner, allowed: that of each training example"):
        planned(file)
    with pytest.raises(BadInput, match=r"x: npz: found nowhere\.npz, allowed: the path of an npz file"):
        planned("nowhere.npz")
