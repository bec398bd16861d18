import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from fedpriv.cli import app
from fedpriv.data import DATASETS, manifest
from fedpriv.doctor import datasets, diagnose, disk, machine, mirrors
from fedpriv.doctor.finding import Finding
from fedpriv.files.npz import save

ROOT = Path(__file__).parents[2]
SECRET = "hush-hush-0123"


def program(name, text):
    """Put a shell script on the PATH."""
    path = Path("programs") / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def lay_mnist(folder, count=4):
    (folder / "mnist").mkdir(parents=True)
    for file in DATASETS["mnist"].files[:count]:
        (folder / "mnist" / file.name).touch()


def test_every_line_has_a_state_and_the_exit_code_is_0_where_something_works(capsys):
    assert app.main(["doctor"]) == 0
    _, _, *lines = capsys.readouterr().out.splitlines()  # under the heads of the columns
    assert len(lines) == len(diagnose(Path("resources")))
    assert all("  ok     " in line or "  to do  " in line for line in lines)


def test_the_answer_as_json_is_one_object(capsys):
    assert app.main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["libraries"] == {"state": "ok", "text": "all there"}
    assert {"torch", "native small_net", "allocator", "snakemake", "slurm", "disk", "kaggle"} <= set(found)
    assert {f"data {name}" for name in DATASETS} <= set(found)


def test_nothing_is_written(tmp_path):
    before = sorted(tmp_path.rglob("*"))
    diagnose(Path("resources"))
    assert sorted(tmp_path.rglob("*")) == before


def test_it_fails_when_an_essential_library_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(machine, "ESSENTIAL", ("numpy", "no_such_library"))
    assert app.main(["doctor"]) == 1
    assert "no no_such_library; pip install" in capsys.readouterr().out


def test_without_slurm_runs_stay_here():
    assert machine.slurm() == Finding("slurm", "ok", "none here; runs stay on this machine")


def test_slurm_without_snakemakes_plugin_says_what_to_install(monkeypatch):
    program("sbatch", "")
    monkeypatch.setattr(machine, "PLUGIN", "no_such_plugin")
    found = machine.slurm()
    assert found.state == "to do" and "pip install -c constraints.txt no-such-plugin" in found.text


@pytest.mark.parametrize(
    ("sinfo", "state", "words"),
    [
        (
            "echo 'gpu (up, 4 nodes)'; echo 'long (down, 9 nodes)'",
            "ok",
            "partitions gpu (up, 4 nodes), long (down",
        ),
        (
            "echo 'sinfo: warning' >&2; echo 'sinfo: error: refused' >&2; exit 1",
            "to do",
            "sinfo says error: refused;",
        ),
        ("exit 3", "to do", "sinfo says exit code 3"),
        ("true", "to do", "lists no partition"),
    ],
)
def test_of_slurm_the_partitions_are_named_or_what_sinfo_says(sinfo, state, words, monkeypatch):
    monkeypatch.setattr(machine, "PLUGIN", "json")
    program("sbatch", "")
    program("sinfo", sinfo)
    found = machine.slurm()
    assert found.state == state and words in found.text


def test_a_slurm_that_hangs_or_has_no_sinfo_is_something_to_do(monkeypatch):
    monkeypatch.setattr(machine, "PLUGIN", "json")
    program("sbatch", "")
    assert "cannot be run (No such file" in machine.slurm().text
    monkeypatch.setattr(machine, "SECONDS", 0.05)
    program("sinfo", "while :; do :; done")
    assert "does not answer within" in machine.slurm().text


@pytest.mark.parametrize(
    ("free", "state", "words"),
    [
        (50.0, "ok", "50 GB free for resources, 50 GB free for results: enough for every preset"),
        (
            1.0,
            "to do",
            "guarantees_search, guarantees, binary; make room for handcrafted (2.4 GB), paper (6.0 GB)",
        ),
        (0.02, "missing", "even the demo takes 0.1 GB"),
    ],
)
def test_free_space_is_compared_with_what_the_presets_take(free, state, words, monkeypatch):
    monkeypatch.setattr(disk, "free", lambda folder: free)
    found = disk.disk(Path("resources"), Path("results"))
    assert found.state == state and words in found.text


def test_the_space_of_every_preset_is_known():
    named = (yaml.safe_load(path.read_text()) for path in (ROOT / "config").glob("*.yaml"))
    assert {one["preset"] for one in named if "preset" in one} == set(disk.NEEDS)


def test_the_space_is_that_of_the_folder_or_of_the_nearest_above_it(tmp_path):
    assert disk.existing(tmp_path / "no/such") == tmp_path
    assert (
        disk.free(tmp_path / "no/such") == pytest.approx(disk.free(tmp_path), rel=0.1)
        and disk.free(tmp_path) > 0
    )


def test_a_folder_that_cannot_be_written_is_named(monkeypatch):
    monkeypatch.setattr(disk.os, "access", lambda path, mode: False)
    found = disk.disk(Path("resources"), Path("results"))
    assert found.state == "missing" and "resources, results cannot be written" in found.text


def test_of_a_mirror_the_datasets_that_it_holds_are_named(monkeypatch, tmp_path):
    lay_mnist(tmp_path / "whole")
    (tmp_path / "whole/aptos").mkdir()
    (tmp_path / "whole/aptos/train.csv").touch()
    lay_mnist(tmp_path / "part", 3)
    (tmp_path / "bare").mkdir()
    monkeypatch.setenv("FEDPRIV_MIRROR", "whole,part,bare,nowhere")
    whole, part, bare, nowhere = mirrors.findings()
    assert whole == Finding("mirror 1", "ok", "whole: aptos, mnist")
    assert part == Finding("mirror 2", "to do", "part: mnist (3 of 4 files)")
    assert bare.state == "to do" and "holds nothing that is looked for: aptos, fashion_mnist" in bare.text
    assert nowhere.state == "to do" and "nowhere: no such folder" in nowhere.text


@pytest.fixture
def server(tmp_path):
    """A mirror of MNIST over HTTP."""
    lay_mnist(tmp_path / "served")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Keep the test output quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "served")) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_server_is_asked_and_its_password_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("FEDPRIV_MIRROR", f"http://me:{SECRET}@127.0.0.1:{server.server_port}/")
    assert mirrors.findings() == [Finding("mirror 1", "ok", f"http://127.0.0.1:{server.server_port}/: mnist")]


def test_a_server_that_does_not_answer_is_something_to_do(server, monkeypatch):
    server.shutdown()
    server.server_close()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("FEDPRIV_MIRROR", f"http://me:{SECRET}@127.0.0.1:{server.server_port}/")
    (found,) = mirrors.findings()
    assert found.state == "to do" and "does not answer (ConnectionError)" in found.text
    assert SECRET not in found.text


def test_a_driver_whose_gpu_torch_cannot_use_is_something_to_do(monkeypatch, tmp_path):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(machine, "DRIVER", tmp_path / "none")
    assert machine.torch().state == "ok"
    monkeypatch.setattr(machine, "DRIVER", tmp_path)
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "this torch has no CUDA" in machine.torch().text
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    found = machine.torch()
    assert found.state == "to do" and "cannot be used with CUDA 13.0" in found.text


@pytest.mark.gpu
def test_every_gpu_is_named_with_its_memory():
    import torch

    found = machine.torch()
    assert found.state == "ok" and found.text.count(" GiB)") == torch.cuda.device_count()


def test_a_dataset_is_as_far_as_its_files_are(tmp_path):
    resources = tmp_path / "resources"
    assert "0 of 4 files fetched" in datasets.prepared("mnist", resources).text
    (resources / "mnist/raw").mkdir(parents=True)
    for file in DATASETS["mnist"].files:
        (resources / "mnist/raw" / file.name).touch()
    assert datasets.prepared("mnist", resources) == Finding("data mnist", "ok", "4 of 4 files fetched")
    (resources / "mnist.npz").write_bytes(b"cut")
    assert "is damaged; delete it" in datasets.prepared("mnist", resources).text
    save(resources / "mnist.npz", {})
    assert datasets.prepared("mnist", resources).state == "ok"


def test_photographs_that_have_gone_are_something_to_do(tmp_path):
    resources = tmp_path / "resources"
    assert "not looked for yet" in datasets.prepared("aptos", resources).text
    counts = manifest.Counts(**dict.fromkeys(manifest.Counts.model_fields, 0))
    listed = manifest.Manifest(
        dataset="aptos",
        classes=5,
        folder=str(tmp_path / "gone"),
        counts=counts,
        missing=(),
        unreadable={},
        images=(),
    )
    (resources / "aptos").mkdir(parents=True)
    (resources / "aptos/images.json").write_text(listed.model_dump_json())
    found = datasets.prepared("aptos", resources)
    assert found.state == "to do" and "gone, where" in found.text
    (tmp_path / "gone").mkdir()
    assert datasets.prepared("aptos", resources).state == "ok"
    (resources / "aptos/images.json").write_text("{")
    assert datasets.prepared("aptos", resources).state == "to do"
