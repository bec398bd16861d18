"""Files that were cut or of which a bit was flipped: each is refused, or nothing was changed.

`test_seal.py` has the seal that notices it, bit by bit; here are all readers, and what they do then.
"""

import gzip
import json
import random
import shutil
from functools import partial
from signal import SIGKILL

import numpy as np
import pytest
from support.child import live
from support.fault import at_call, die
from support.small import ACCOUNT, READERS, TRAIN, as_bytes, render, state_in, trained_in

from fedpriv import partition
from fedpriv.cli import app
from fedpriv.data import arrays
from fedpriv.data.characters import idx
from fedpriv.errors import BadInput
from fedpriv.store import npz
from fedpriv.store.files import Broken, check_seal


def unsealed(path):
    """Return the bytes of a file whose seal is whole; nothing of the program reads the model."""
    check_seal(path)
    return b""


def saved(path):
    """Return what training would go on from."""
    state = state_in(path)
    return state and (
        as_bytes({"flat": state.flat.numpy(), "velocity": state.velocity.numpy()}),
        json.dumps(state.rows),
        {name: [row.tobytes() for row in rows] for name, rows in state.samples.items()},
    )


FILES = {
    "raw.gz": lambda path: idx(path).tobytes(),
    "digits.npz": lambda path: as_bytes({k: np.asarray(v) for k, v in arrays.load(path)._asdict().items()}),
    "seed0.npz": lambda path: as_bytes(
        partition.load_partition(path, str(npz.load_all(path, "")["law"]))._asdict()
    ),
    "trace.parquet": READERS["trace.parquet"],
    "distances.npz": READERS["distances.npz"],
    "model.safetensors": unsealed,
    "summary.json": READERS["summary.json"],
    "ledger.parquet": READERS["ledger.parquet"],
    "runs.parquet": READERS["runs.parquet"],
    "rounds.parquet": READERS["rounds.parquet"],
    "epsilons.parquet": READERS["epsilons.parquet"],
    "state.safetensors": saved,
}


@pytest.fixture(scope="module")
def whole(undisturbed, tmp_path_factory):
    """A folder with one whole file of every kind."""
    folder = tmp_path_factory.mktemp("whole")
    for path in undisturbed.rglob("*"):
        if path.name in FILES:
            shutil.copy(path, folder)
    header = bytes([0, 0, 8, 3, 0, 0, 0, 9, 0, 0, 0, 28, 0, 0, 0, 28])
    (folder / "raw.gz").write_bytes(gzip.compress(header + random.Random(0).randbytes(9 * 28 * 28), mtime=0))
    half = shutil.copytree(undisturbed, folder / "half", ignore=shutil.ignore_patterns("out", "results"))
    kill = partial(die, SIGKILL)
    live(half, partial(app.main, TRAIN), partial(at_call, "fedpriv.train.loop", "run_round", 5, kill))
    shutil.copy(half / "out/resume/state.safetensors", folder)
    assert {path.name for path in folder.iterdir() if path.is_file()} == set(FILES)
    return folder


EVERYWHERE = ("digits.npz", "trace.parquet", "state.safetensors")  # one of each format


def places(name, size):
    """Return places to break a file of `size` bytes at: its edges, and others all over it."""
    chance, many = random.Random(size), name in EVERYWHERE
    edges = (*range(8), *range(size - 8, size)) if many else (0, size - 1)
    return sorted({*edges, *(chance.randrange(size) for _ in range(30 if many else 3))})


def survives(read, path, known):
    """Whether a damaged file is refused in one line that names it, or says what the whole one says."""
    try:
        found = read(path)
    except BadInput as error:
        return path.name in str(error) and "\n" not in str(error)
    except Broken:
        return read is unsealed
    return found == known or (read is saved and found is None)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_or_nothing_was_changed_wherever_it_is(name, whole, tmp_path):
    read, path, content = FILES[name], tmp_path / name, (whole / name).read_bytes()
    known = read(whole / name)
    for place in places(name, len(content)):
        broken = bytearray(content)
        broken[place] ^= 1 << random.Random(place).randrange(8)
        for damaged in (broken, content[:place]):
            path.write_bytes(damaged)
            assert survives(read, path, known), (place, len(damaged))


def flip(path):
    """Flip a bit in the middle of a file."""
    broken = bytearray(path.read_bytes())
    broken[len(broken) // 2] ^= 4
    path.write_bytes(broken)


def test_from_a_damaged_state_training_starts_over_says_so_and_ends_with_the_same_bits(
    whole, folder, undisturbed, capsys
):
    content = (whole / "state.safetensors").read_bytes()
    state = folder / "out/resume/state.safetensors"
    state.parent.mkdir(parents=True)
    state.write_bytes(content)
    flip(state)
    damaged = state.read_bytes()
    somebodys = state.with_name("state.safetensors.damaged")
    somebodys.write_text("my only copy")
    assert app.main(TRAIN) == 0
    assert trained_in(folder) == trained_in(undisturbed)
    assert somebodys.read_text() == "my only copy"
    assert state.with_name("state.safetensors.damaged1").read_bytes() == damaged
    line = next(
        line for line in capsys.readouterr().err.splitlines() if str(state.relative_to(folder)) in line
    )
    assert "now state.safetensors.damaged1; the training starts over" in line


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz"])
def test_a_damaged_run_is_not_accounted_and_nothing_is_rendered_from_it(name, trained, capsys):
    flip(trained / "out" / name)
    assert app.main(ACCOUNT) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert name in line and not (trained / "out/ledger.parquet").exists()
    with pytest.raises(BadInput, match=r"out"):
        render()
    assert not list(trained.glob("results/*"))


@pytest.mark.parametrize("name", ["trace.parquet", "distances.npz", "model.safetensors"])
def test_what_a_damaged_run_left_is_not_collected_though_its_seal_is_that_of_the_summary(name, accounted):
    flip(accounted / "out" / name)
    with pytest.raises(BadInput, match=rf"out/{name}: found a file that is damaged"):
        render()
