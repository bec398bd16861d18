"""Public examples in a file of one's own: what a budget is used on, from one command."""

import numpy as np
import pytest
from fedpriv_studies.basis import own_public
from sklearn.datasets import load_digits
from support.workflow import ROOT
from typer.testing import CliRunner

from fedpriv.cli.app import app
from fedpriv.config.plan import load_preset
from fedpriv.config.run import Run
from fedpriv.data import arrays
from fedpriv.data.own import Npz
from fedpriv.errors import BadInput
from fedpriv.local.work import Speed
from fedpriv.train import inputs

PRESET = ROOT / "examples/own/budget.yaml"
OWNERS = 30


def digits(flat: bool = False) -> dict[str, np.ndarray]:
    """Return scikit-learn's digits as a file of one's own has them: the last are public."""
    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    x = pixels.astype(np.float32) if flat else (pixels.reshape(-1, 8, 8) * 15).astype(np.uint8)
    parts = {"train": slice(300), "test": slice(300, 400), "public": slice(400, 600)}
    found = {
        f"{kind}_{name}": a[part]
        for name, part in parts.items()
        for kind, a in zip("xy", (x, labels), strict=True)
    }
    return found | {"owner": np.arange(300) % OWNERS}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder in which the program is started, with mine.npz."""
    monkeypatch.chdir(tmp_path)
    np.savez("mine.npz", **digits())
    return tmp_path


def fedpriv(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def planned(name: str, **changed: object) -> Run:
    run = load_preset(PRESET).runs["budget"][name]
    return Run.model_validate(run.model_dump(mode="json") | changed)


@pytest.mark.parametrize(("run", "flat"), [("images", False), ("features", True)])
def test_one_command_trains_on_an_npz_file_and_says_one_epsilon(run, flat, here):
    np.savez("mine.npz", **digits(flat))
    settings = ["--set", "model.directions=30", "--set", "rounds=3", "--set", "evaluate_every=3"]
    said = fedpriv("run", str(PRESET), "--paper", "budget", "--run", run, "--out", "mine", *settings)
    epsilon, *_, accuracy = said.splitlines()
    assert "after 3 rounds" in accuracy
    assert float(epsilon.split()[2]) == pytest.approx(4, rel=2e-3) and float(epsilon.split()[2]) <= 4
    assert "at δ = 1e-05 (unit client" in epsilon and "guarantee" in epsilon
    assert epsilon.split()[2] in fedpriv("account", "mine")


def test_what_the_public_examples_reach_alone_is_said_where_their_labels_are_known(here):
    run = planned("images", model={"name": "softmax", "basis": "own", "directions": 30})
    assert "on public data alone, ε = 0" in arrays.load(inputs.prepare(run, here, (), Speed())).note
    np.savez("mine.npz", **{name: one for name, one in digits().items() if name != "y_public"})
    run = planned("images", model=run.model.model_dump(), dataset={"npz": "mine.npz"})
    assert "ε = 0" not in arrays.load(inputs.prepare(run, here, (), Speed())).note


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x_public": None}, "mine.npz: found no x_public, allowed: public examples"),
        (
            {"x_public": np.zeros((20, 8, 4), np.uint8), "y_public": None},
            r"shape \[8, 8\], allowed: \[8, 4\]",
        ),
        ({"x_public": np.zeros((20, 8, 8), np.float32), "y_public": None}, "found uint8 images"),
        ({"x_public": np.zeros((1, 8, 8), np.uint8), "y_public": None}, "x_public: found 1 examples"),
        ({"y_public": np.zeros(3, int)}, r"y_public: found int64 \[3\], allowed: whole numbers \[200\]"),
        ({"x_public": np.zeros((200, 8, 8), np.uint8)}, "model.directions: found 64, allowed: 1 to 0"),
    ],
)
def test_public_examples_that_cannot_be_used_are_one_line(changed, said, here):
    held = digits() | changed
    np.savez("mine.npz", **{name: one for name, one in held.items() if one is not None})
    with pytest.raises(BadInput, match=said):
        inputs.prepare(planned("images"), here, (), Speed())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dataset": "mnist", "partition": {"law": "iid", "clients": 4}}, "model.basis: found own"),
        ({"model": {"name": "softmax", "transform": "none"}}, "basis: found digits"),
    ],
)
def test_a_basis_that_nobody_has_is_refused_when_the_run_is_planned(changed, said, here):
    with pytest.raises(ValueError, match=said):
        planned("images", **changed)


def test_a_file_that_changed_after_its_digest_was_read_has_no_public_examples(here):
    before = Npz(npz="mine.npz")
    np.savez("mine.npz", **digits() | {"y_train": np.zeros(300, int)})
    for read in (lambda: own_public(before), before.arrays):
        with pytest.raises(BadInput, match=f"found sha256 [0-9a-f]+, allowed: {before.sha256}, that of the"):
            read()
