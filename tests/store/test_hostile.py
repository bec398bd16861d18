"""Files made to run code, to fill the memory or to lead elsewhere, through every reader that there is."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import ValidationError

from fedpriv import partition
from fedpriv.account import Deltas
from fedpriv.account.runs import account
from fedpriv.cli import app
from fedpriv.config import plan
from fedpriv.data import arrays
from fedpriv.errors import BadInput
from fedpriv.store import parquet
from fedpriv.store.files import OPEN, check_seal, seal
from fedpriv.train import checkpoint


@pytest.fixture
def bomb(tmp_path):
    """An object that makes a folder `exploded` when it is unpickled; at the end it must not be there."""
    exploded = tmp_path / "exploded"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(exploded),)

    pickle.loads(pickle.dumps(Bomb()))  # it works
    exploded.rmdir()
    yield Bomb()
    assert not exploded.exists()


def sealed(path):
    """Give a file a seal, so that it is not refused for having none."""
    with path.open("ab") as file:
        file.write(OPEN.encode())
    seal(path)
    check_seal(path)
    return path


def pickled_npz(path, bomb, names):
    np.savez(path, **{name: np.array([bomb], dtype=object) for name in names})
    return sealed(path)


def bare_pickle(path, bomb, names):
    path.write_bytes(pickle.dumps(dict.fromkeys(names, bomb)))
    return sealed(path)


def torch_file(path, bomb, names):
    torch.save(dict.fromkeys(names, bomb), path)
    return sealed(path)


HOSTILE = [pickled_npz, bare_pickle, torch_file]
hostile = pytest.mark.parametrize("write", HOSTILE, ids=lambda write: write.__name__)


@hostile
def test_arrays_partitions_and_distances_are_not_unpickled(write, bomb, tmp_path):
    path = write(tmp_path / "arrays.npz", bomb, [*arrays.Arrays._fields, *partition.Partition._fields])
    for load in (arrays.load, lambda path: partition.load_partition(path, "iid")):
        with pytest.raises(BadInput, match=r"arrays\.npz: found"):
            load(path)
    write(tmp_path / "distances.npz", bomb, ["client_norm"])
    parquet.save_frame(pd.DataFrame({"round": [1]}), tmp_path / "trace.parquet")
    with pytest.raises(BadInput, match=r": found"):  # torch's are zip files too, without arrays in them
        account(tmp_path, Deltas(delta=1e-3, instance_delta=1e-5))


@pytest.mark.parametrize("write", [bare_pickle, torch_file])
def test_a_state_to_resume_from_is_not_unpickled(write, bomb, tmp_path):
    path = write(tmp_path / "state.safetensors", bomb, ["flat", "velocity"])
    assert checkpoint.load_state(path, "identity", "engine", torch.device("cpu")) is None


@pytest.mark.parametrize("tag", ["apply:os.mkdir", "new:os.mkdir"])
def test_a_yaml_file_makes_no_objects(tag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.yaml").write_text(f"preset: !!python/object/{tag} [exploded]\n")
    with pytest.raises(BadInput, match=r"evil\.yaml: line 1: found a value of the type python/object/"):
        plan.load_preset(tmp_path / "evil.yaml")
    assert app.main(["run", "evil.yaml", "--paper", "p", "--run", "r", "--out", "out"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["evil.yaml"]


NAMES = ["../evil", "/evil", "..", "", "a\n", "a b", "A", "ä", "$(touch evil)"]
PRESET = {"preset": "tiny", "papers": ["tiny"]}
LINK = "https://example.org"
PAPER = {"paper": "tiny", "title": "", "authors": ["Nobody"], "year": 2026, "url": LINK, "runs": {}}


def refused(model, value):
    """Return the places of what a model refuses, and why."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        return {(*one["loc"], one["type"]) for one in error.errors()}
    return set()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_preset_or_paper_is_a_word(name):
    pattern = "string_pattern_mismatch"
    assert not refused(plan.Preset, PRESET) and not refused(plan.Paper, PAPER)
    assert refused(plan.Preset, PRESET | {"preset": name}) == {("preset", pattern)}
    assert ("papers", 0, pattern) in refused(plan.Preset, PRESET | {"papers": [name]})
    assert refused(plan.Paper, PAPER | {"paper": name}) == {("paper", pattern)}
    for kind in ("runs", "tables", "figures"):
        assert (kind, name, "[key]", pattern) in refused(plan.Paper, PAPER | {kind: {name: {}}})
