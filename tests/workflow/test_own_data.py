"""Data of one's own go through the workflow like any other, and are done again when they change."""

import numpy as np
from support.workflow import PAPER, planned, snakemake, write_config

from fedpriv.data import arrays, own


def write(path, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 256, (300, 3, 8, 8), dtype=np.uint8), np.arange(300) % 3
    np.savez(path, x_train=x[:200], y_train=y[:200], x_test=x[200:], y_test=y[200:])
    return own.Npz(npz=str(path)).name


def test_another_content_is_another_file_and_all_that_comes_of_it_is_made_again(tmp_path):
    defaults = PAPER["defaults"] | {"dataset": {"npz": "mine.npz"}}
    config = write_config(tmp_path, PAPER | {"defaults": defaults})
    first = write(tmp_path / "mine.npz", seed=0)
    snakemake("--cores", "1", f"resources/{first}.npz", *config, cwd=tmp_path)
    assert len(arrays.load(tmp_path / f"resources/{first}.npz").y_train) == 200
    jobs = planned(*config, cwd=tmp_path)
    assert jobs["train"] == 4 and not {"fetch", "arrays"} & set(jobs)
    assert write(tmp_path / "mine.npz", seed=1) != first
    assert planned(*config, cwd=tmp_path) == jobs | {"arrays": 1}
