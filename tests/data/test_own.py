"""Data of one's own: what is taken, what is refused, and that a run is named by what it was trained on."""

import hashlib
import pickle

import numpy as np
import pytest
import torch
from support.backends import TOLERANCE, every_backend
from support.tiny import PAPER, PRESET
from support.tiny_paper import write_preset
from torch.nn import functional as F

from fedpriv.cli.app import main
from fedpriv.config.plan import load_preset, partition_id
from fedpriv.config.run import Run
from fedpriv.data import arrays, own
from fedpriv.errors import BadInput
from fedpriv.frozen import parse
from fedpriv.local.client import Client, Task
from fedpriv.local.work import FedSGD, Speed
from fedpriv.models.base import unflatten
from fedpriv.models.nets import Cnn, Mlp
from fedpriv.store import summary

RUN = PAPER["runs"]["dp"] | {"partition": {"law": "iid", "clients": 4}}
SHAPES = {
    "grey": (np.uint8, (9, 8)),
    "colour": (np.uint8, (3, 12, 10)),
    "float channels": (np.float32, (2, 8, 9)),
    "features": (np.float32, (7,)),
    "bytes": (np.uint8, (7,)),
}


def made(dtype=np.uint8, shape=(3, 8, 8), seed=0, **changes):
    """Return the arrays of 24 training and 6 test examples of 3 classes that mean nothing."""
    rng = np.random.default_rng(seed)

    def inputs(n):
        return (rng.integers(0, 256, (n, *shape)) if dtype == np.uint8 else rng.random((n, *shape))).astype(
            dtype
        )

    both = {
        "x_train": inputs(24),
        "y_train": np.arange(24) % 3,
        "x_test": inputs(6),
        "y_test": np.arange(6) % 3,
    }
    return both | changes


def write(path, **found):
    np.savez(path, **found)
    return path


def taken(path, tmp_path):
    return arrays.load(own.write_own_arrays(own.Npz(npz=str(path)), tmp_path / "resources"))


@pytest.mark.parametrize("kind", SHAPES)
def test_a_file_of_ones_own_is_read_as_it_is(kind, tmp_path):
    content = made(*SHAPES[kind], owner=np.repeat(["b", "a", "c"], 8))
    found = taken(write(tmp_path / "mine.npz", **content), tmp_path)
    for name in ("x_train", "x_test"):
        np.testing.assert_array_equal(found._asdict()[name].reshape(content[name].shape), content[name])
    np.testing.assert_array_equal(found.y_train, content["y_train"])
    assert found.classes == 3
    assert found.owner.tolist() == [1] * 8 + [0] * 8 + [2] * 8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"x_train": made()["x_train"].astype(float)}, r"x_train of float64 .*astype\(.float32.\)"),
        (
            {"x_train": made(shape=(3, 8, 9))["x_train"]},
            r"x_test of uint8 \[6, 3, 8, 8\] beside x_train of uint8",
        ),
        ({"x_train": np.full((24, 7), np.nan, np.float32)}, "numbers in x_train that are not finite"),
        ({"y_test": np.array(["a"] * 6)}, "y_test: found <U1.*return_inverse"),
        ({"y_train": np.arange(23) % 3}, r"y_train of int64 \[23\]"),
        ({"owner": np.arange(24) / 2}, "owner: found float64"),
        ({"weights": np.arange(24)}, "weights, allowed: an npz file with x_train"),
        ({"x_train": made()["x_train"][:0], "y_train": np.arange(0)}, "an empty train split"),
        ({"y_train": np.array([{}] * 24)}, r"y_train: Object arrays cannot be loaded .* \.astype\(str\)"),
        *(
            (
                made(dtype, shape),
                r"x_train of .*, allowed: images \[n, c, h, w\]; .* transpose to \(0, 3, 1, 2\)",
            )
            for dtype, shape in ((np.uint8, (32, 30, 3)), (np.float32, (12, 12, 1)), (np.uint8, (96, 3, 2)))
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_a_file_that_cannot_be_trained_on_is_refused_by_its_array(changes, said, tmp_path):
    path = write(tmp_path / "mine.npz", **made() | changes)
    with pytest.raises(BadInput, match=said) as told:
        taken(path, tmp_path)
    assert str(told.value).startswith(str(path)) and "\n" not in str(told.value)
    assert not list(tmp_path.glob("resources/*"))


@pytest.mark.parametrize("content", [b"PAR1\x15\x04", pickle.dumps([1]), b"label,pixel0\n1,0\n"], ids=str)
def test_a_file_that_is_no_npz_is_one_line(content, tmp_path):
    (tmp_path / "mine.npz").write_bytes(content)
    with pytest.raises(BadInput, match=r"mine\.npz: found an unreadable file \(no archive") as told:
        taken(tmp_path / "mine.npz", tmp_path)
    assert "pickled" not in str(told.value)


def test_a_run_is_named_by_the_content_of_its_file_and_not_by_its_path(tmp_path):
    paths = [
        write(tmp_path / name, **made(seed=seed)) for name, seed in (("a.npz", 0), ("b.npz", 0), ("c.npz", 1))
    ]
    same, moved, other = (Run.model_validate(RUN | {"dataset": {"npz": str(path)}}) for path in paths)
    assert same.dataset.sha256 == hashlib.sha256(paths[0].read_bytes()).hexdigest()
    assert same.identity("run", 0) == moved.identity("run", 0) != other.identity("run", 0)
    assert partition_id(same) == partition_id(moved) != partition_id(other)
    again = Run.model_validate(same.training())
    assert again.identity("run", 0) == same.identity("run", 0)


def test_a_file_that_changed_after_its_digest_was_read_is_not_trained_on(tmp_path):
    path = write(tmp_path / "mine.npz", **made())
    before = own.Npz(npz=str(path))
    write(path, **made(seed=1))
    with pytest.raises(BadInput, match=f"found sha256 [0-9a-f]+, allowed: {before.sha256}, that of the run"):
        own.write_own_arrays(before, tmp_path)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ({"npz": "nowhere.npz"}, "npz: found nowhere.npz, allowed: the path of an npz file"),
        ({"npz": "."}, "npz: found ., allowed: the path of an npz file"),
        ({"npz": "x.npz", "sha256": "12"}, "sha256"),
        ({"csv": "x.csv"}, r"dataset: .*allowed: the name of a dataset, or \{npz: PATH\}"),
        (3, "dataset: "),
    ],
    ids=str,
)
def test_a_dataset_that_is_none_is_one_line(dataset, said):
    with pytest.raises(BadInput, match=said) as told:
        parse(Run.model_validate, RUN | {"dataset": dataset}, "here")
    assert "\n" not in str(told.value)


def test_a_run_on_data_of_ones_own_is_trained_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.npz", **made(shape=(3, 12, 10), owner=np.repeat(range(6), 4)))
    natural = {"partition": {"law": "natural", "clients": 4, "examples": 4}}
    paper = PAPER | {"runs": {"dp": RUN | {"dataset": {"npz": "mine.npz"}} | natural}}
    write_preset(tmp_path, PRESET, paper)
    assert main(["run", "config/tiny.yaml", "--paper", "tiny", "--run", "dp", "--out", "out"]) == 0
    told = summary.load_summary(tmp_path / "out/summary.json")
    sha256 = hashlib.sha256((tmp_path / "mine.npz").read_bytes()).hexdigest()
    assert told["data"]["name"] == f"mine.npz (sha256 {sha256[:16]})"
    assert told["config"]["dataset"] == {"npz": "mine.npz", "sha256": sha256}
    assert told["data"]["substitute_for"] is None and told["data"]["train"] == 24
    plan = load_preset(tmp_path / "config/tiny.yaml")
    assert list(plan.own_data()) == plan.datasets() == [f"npz-{sha256[:16]}"]


@every_backend
@pytest.mark.parametrize("kind", SHAPES)
def test_every_backend_reads_every_shape_as_a_plain_loop_does(kind, backend):
    found = own.own_arrays("", made(*SHAPES[kind]))
    x, y = torch.from_numpy(found.x_train), torch.from_numpy(found.y_train)
    model = Mlp(widths=(5,)) if x.dim() == 2 else Cnn(widths=(2, 3, 4))
    task = Task(model, 3, x, y)
    flat = model.initial(3, task.example, np.random.default_rng(0))
    exact = (x / 255 if x.dtype == torch.uint8 else x).double().reshape(len(x), *task.example)
    leaf = flat.double().requires_grad_()
    loss = F.cross_entropy(model.apply(unflatten(leaf, task.shapes), exact), y)
    (expected,) = torch.autograd.grad(loss, leaf)
    engine = backend(task, Speed(chunk=5, threads=1))
    update = engine.train_clients(FedSGD(), flat, [Client(np.arange(24), np.random.default_rng(0))]).updates[
        0
    ]
    logits = engine.logits(flat, x)
    engine.close()
    assert torch.allclose(update.double(), -expected, atol=TOLERANCE)
    assert torch.allclose(
        logits.double(), model.apply(unflatten(flat.double(), task.shapes), exact), atol=1e-4
    )


PIXELS = np.random.default_rng(1).integers(0, 256, (24, 1, 8, 8)).astype(np.float32)
HOT = np.eye(3)[np.arange(24) % 3], np.eye(3)[np.arange(6) % 3]
DOUBTS = {
    "pictures of 0 to 255": (
        {"x_train": PIXELS, "x_test": PIXELS[:6] + 0.0},
        ['x_train: found float32 from 0 to 255; networks expect about 0 to 1: as .astype("uint8") they are'],
    ),
    "the same without channels": (
        {"x_train": PIXELS[:, 0], "x_test": PIXELS[:6, 0]},
        ["x_train: found float32 from 0 to 255"],
    ),
    "pictures in other units": (
        {"x_train": 37.5 - PIXELS, "x_test": 37.5 - PIXELS[:6]},
        ["x_train: found float32 from -217.5 to 37.5; networks expect about 0 to 1: divide them"],
    ),
    "a test split that nobody divided": (
        {"x_train": PIXELS / 255, "x_test": PIXELS[:6] + 1},
        ["x_train, x_test: found spreads of 0.29"],
    ),
    "bytes that were divided in one split": (
        {"x_train": PIXELS[:, 0].astype(np.uint8), "x_test": (PIXELS[:6, 0] / 255).astype(np.uint8)},
        ["x_train, x_test: found spreads of"],
    ),
    "test rows that are training rows": (
        {"x_test": np.concatenate([made()["x_train"][[5, 9]], made()["x_test"][:4]])},
        ["x_test: found 2 of 6 rows that are rows of x_train, too"],
    ),
    "one-hot labels": (
        {"y_train": HOT[0].astype(int), "y_test": HOT[1].astype(int)},
        ["y_train: found one-hot labels, read as 3 labels an example; np.argmax(y, axis=1) makes classes"],
    ),
    "one-hot floats": (
        {"y_train": HOT[0], "y_test": HOT[1]},
        ["y_train: found one-hot labels, read as numbers to be predicted; np.argmax(y, axis=1) makes"],
    ),
    "float labels": (
        {"y_train": np.arange(24) % 3 * 1.0, "y_test": np.arange(6) % 3 * 1.0},
        ["y_train: found floats that are whole numbers, read as numbers to be predicted; .astype(int) makes"],
    ),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_is_nearly_always_a_mistake_is_said_in_one_line_with_its_remedy(name, tmp_path, capsys):
    changes, lines = DOUBTS[name]
    path = write(tmp_path / "mine.npz", **made() | changes)
    taken(path, tmp_path)
    said = capsys.readouterr().err.splitlines()
    kind = lines[0].partition(":")[0]
    (line,) = (line for line in said if f"mine.npz: {kind}:" in line)
    assert line.startswith(f"{path}: {lines[0]}")


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"y_train": np.linspace(0, 1, 24), "y_test": np.linspace(0, 1, 6)},
        {"y_train": np.arange(24 * 4).reshape(24, 4) % 3, "y_test": np.arange(6 * 4).reshape(6, 4) % 3},
    ],
    ids=["classes", "numbers", "many labels"],
)
def test_of_arrays_as_they_should_be_nothing_is_said(kind, changes, tmp_path, capsys):
    dtype, shape = SHAPES[kind]
    taken(write(tmp_path / "mine.npz", **made(dtype, shape) | changes), tmp_path)
    assert capsys.readouterr().err == ""
