"""Any changed bit of a sealed file is noticed before it is read."""

import random

import numpy as np
import pandas as pd
import pytest
import torch

from fedpriv import partition
from fedpriv.data import arrays
from fedpriv.errors import BadInput
from fedpriv.store import npz, parquet, summary
from fedpriv.store.files import MARK, SEAL, Broken, check_seal
from fedpriv.train import checkpoint
from fedpriv.train.record import RoundState

FRAME = pd.DataFrame(
    {"round": np.arange(40), "epsilon": np.linspace(0, 8, 40), "unit": pd.Categorical(["client"] * 40)}
)


def frame(path):
    return parquet.save_frame(FRAME, path)


def told(path):
    summary.save_summary(path, {"identity": "abc", "test_accuracy": 0.9, "note": "ε, and no ASCII"})
    return path


def kept(path):
    return npz.save_npz(path, {"distances": np.arange(9.0)}, compressed=True)


def dealt(path):
    return partition.save_partition(
        path, partition.Partition(np.arange(6, dtype=np.int32), np.array([0, 2, 6])), "law"
    )


def learned(path):
    data = np.zeros((4, 28, 28), np.uint8), np.arange(4) % 2
    return arrays.save(path, arrays.Arrays(*data, *data, classes=2))


def state(path):
    state = RoundState(torch.randn(50), torch.randn(50), 1, [{"round": 1, "test_accuracy": float("nan")}])
    checkpoint.save_state(path, "abc", "engine", state)
    return path


def resumed(path):
    """Read a state; one that is worth nothing is refused as the others are."""
    state = checkpoint.load_state(path, "abc", "engine", torch.device("cpu"))
    if state is None:
        raise BadInput(f"{path}: found no state")
    return state


SEALED = {  # what writes it, what reads it
    "frame": (frame, parquet.load_frame),
    "summary": (told, summary.load_summary),
    "arrays": (kept, lambda path: npz.load_npz(path, ("distances",))),
    "partition": (dealt, lambda path: partition.load_partition(path, "law")),
    "dataset": (learned, arrays.load),
    "state": (state, resumed),
}
every = pytest.mark.parametrize(("write", "load"), SEALED.values(), ids=SEALED)


@every
def test_every_flipped_bit_is_noticed_and_so_is_each_of_the_mark_of_the_seal(write, load, tmp_path):
    path = write(tmp_path / "file")
    check_seal(path)
    content = path.read_bytes()
    mark = content.index(MARK)
    of_mark = range(8 * mark, 8 * (mark + len(MARK)))
    for bit in (*random.Random(0).sample(range(8 * len(content)), 300), *of_mark):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(Broken):
            check_seal(path)


@every
def test_a_file_of_ours_whose_seal_was_taken_off_is_refused_by_its_name(write, load, tmp_path):
    path = write(tmp_path / "file")
    load(path)
    for taken in (b"", b"\0" * 72, b"blake2b:" + b"\n" * 64, b"blake2b:" + b"0" * 63):
        path = write(tmp_path / "file")
        path.write_bytes(SEAL.sub(taken, path.read_bytes()))
        with pytest.raises(BadInput, match=f"{path}: found "):
            load(path)


def test_a_file_has_the_mode_of_any_new_file_whatever_has_written_it(tmp_path):
    tmp_path.joinpath("new").touch()
    modes = {write(tmp_path / name).stat().st_mode for name, (write, _) in SEALED.items()}
    assert modes == {tmp_path.joinpath("new").stat().st_mode}


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(BadInput, match="found no column order"):
        parquet.load_frame(frame(tmp_path / "file"), ["round", "order"])
