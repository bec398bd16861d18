"""Data go through the workflow: from a mirror, of one's own, photographs that are looked at in a job."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.workflow import PAPER, ROOT, planned, snakemake, write_config

from fedpriv import data
from fedpriv.cli import app
from fedpriv.data import arrays, own


@pytest.mark.skipif("FEDPRIV_MIRROR" not in os.environ, reason="FEDPRIV_MIRROR names no mirror")
def test_mnist_goes_from_a_mirror_to_arrays(tmp_path):
    snakemake("--cores", "1", "resources/mnist.npz", *write_config(tmp_path), cwd=tmp_path)
    mnist = arrays.load(tmp_path / "resources/mnist.npz")
    assert (len(mnist.y_train), len(mnist.y_test), mnist.classes) == (60_000, 10_000, 10)
    # The class counts of the official test split.
    assert np.bincount(mnist.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


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


@pytest.fixture
def here(monkeypatch, tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDPRIV_MIRROR", raising=False)
    return tmp_path


def step(*words):
    return app.main(["step", words[0], "config/demo.yaml", *words[1:]])


def test_what_is_found_and_looked_at_in_jobs_of_other_machines_is_what_fetch_lists(here, monkeypatch, capsys):
    assert step("find", "mnist") == 2 and "dataset: found mnist, allowed: " in capsys.readouterr().err
    assert step("find", "fundus_synthetic") == 0
    folder, listed = (Path("resources/fundus_synthetic", name) for name in ("folder.txt", "images.json"))
    assert folder.read_text() == f"{here / 'resources/fundus_synthetic/raw'}\n"
    wanted = data.fetch_dataset("fundus_synthetic", here / "once more", ())[0].read_bytes()
    node = here / "node"
    shutil.copytree(here / "config", node / "config")
    shutil.copytree(here / "resources", node / "resources", ignore=shutil.ignore_patterns("raw"))
    monkeypatch.chdir(node)
    folder.write_text(f"{here / 'gone'}\n")  # what was drawn there is drawn once more
    assert step("look", "fundus_synthetic", "2") == 0 and listed.read_bytes() == wanted
    assert Path("resources/fundus_synthetic/raw/train.csv").exists()
    assert step("prepare", "fundus_synthetic") == 0 and listed.read_bytes() == wanted


def test_only_what_needs_the_network_or_writes_a_line_runs_where_snakemake_was_started():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    local = [rule for rule in re.split(r"^ *rule ", rules, flags=re.MULTILINE) if "localrule: True" in rule]
    assert {rule.partition(":")[0] for rule in local} == {"fetch", "find", "settings"}
