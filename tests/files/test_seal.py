"""Any changed bit of a sealed file is noticed before it is read."""

import random

import numpy as np
import pandas as pd
import pytest
import torch

from fedpriv.errors import BadInput
from fedpriv.files import parquet, summary
from fedpriv.files.seal import MARK, Broken, check
from fedpriv.train import checkpoint
from fedpriv.train.state import RoundState

FRAME = pd.DataFrame(
    {"round": np.arange(40), "epsilon": np.linspace(0, 8, 40), "unit": pd.Categorical(["client"] * 40)}
)


def frame(path):
    return parquet.save(FRAME, path)


def told(path):
    summary.save(path, {"identity": "abc", "test_accuracy": 0.9, "note": "ε, and no ASCII"})
    return path


def state(path):
    state = RoundState(torch.randn(50), torch.randn(50), 3, [{"round": 3, "test_accuracy": float("nan")}])
    checkpoint.save(path, "abc", state)
    return path


@pytest.mark.parametrize("write", [frame, told, state])
def test_every_flipped_bit_is_noticed_but_in_the_mark_of_the_seal(write, tmp_path):
    path = write(tmp_path / "file")
    check(path)
    content = path.read_bytes()
    mark = content.index(MARK)
    for bit in random.Random(0).sample(range(8 * len(content)), 300):
        if mark <= bit // 8 < mark + len(MARK):
            continue
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(Broken):
            check(path)


@pytest.mark.parametrize("write", [frame, told, state])
def test_a_flip_in_the_mark_changes_nothing_that_is_read(write, tmp_path):
    path = write(tmp_path / "file")
    content = bytearray(path.read_bytes())
    content[content.index(MARK)] ^= 1
    path.write_bytes(content)
    check(path)
    if write is frame:
        pd.testing.assert_frame_equal(parquet.load(path), FRAME)
    elif write is told:
        assert summary.load(path)["test_accuracy"] == 0.9
    else:
        assert checkpoint.load(path, "abc", torch.device("cpu")).round == 3


@pytest.mark.parametrize("load", [parquet.load, summary.load])
@pytest.mark.parametrize("write", [frame, told])
@pytest.mark.parametrize("left", [0, 1, 20, -1, -40])
def test_a_truncated_file_is_refused_by_its_name(write, load, left, tmp_path):
    path = write(tmp_path / "file")
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(BadInput, match=f"{path}: found "):
        load(path)


def test_a_damaged_state_is_as_good_as_none(tmp_path):
    path = state(tmp_path / "state.safetensors")
    content = bytearray(path.read_bytes())
    content[-5] ^= 4  # of a weight
    path.write_bytes(content)
    assert checkpoint.load(path, "abc", torch.device("cpu")) is None


def test_a_file_from_before_there_were_seals_is_read(tmp_path):
    FRAME.to_parquet(tmp_path / "old.parquet", index=False)
    pd.testing.assert_frame_equal(parquet.load(tmp_path / "old.parquet"), FRAME)


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(BadInput, match="found no column order"):
        parquet.load(frame(tmp_path / "file"), ["round", "order"])
