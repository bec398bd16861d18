import json
from pathlib import Path

import pytest

from fedpriv import doctor
from fedpriv.cli import app

ROOT = Path(__file__).parents[2]
SECRET = "hush-hush-0123"
RESOURCES = Path("resources")


def test_every_line_has_a_state_nothing_is_written_and_the_exit_code_is_0(capsys, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    assert app.main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["python", "torch", "compiled code", "disk", "kaggle"]
    assert {one["state"] for one in found.values()} <= {"ok", "to do"}
    assert sorted(tmp_path.rglob("*")) == before


def test_it_fails_where_nothing_can_work(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert app.main(["doctor"]) == 1
    assert "not installed; pip install" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("free", "state", "words"),
    [
        (50.0, "ok", "50.0 GB free: enough for every preset"),
        (1.0, "to do", "the preset paper takes 6.0 GB"),
        (0.02, "missing", "even the demo takes 0.1 GB"),
    ],
)
def test_free_space_is_compared_with_what_the_presets_take(free, state, words, monkeypatch):
    monkeypatch.setattr(doctor, "free_bytes", lambda folder: free)
    found = doctor.disk(RESOURCES, Path("results"))
    assert found.state == state and words in found.text


def test_the_space_is_that_of_the_nearest_folder(tmp_path):
    folder = tmp_path / "no/such"
    assert doctor.existing_folder(folder) == tmp_path and doctor.free_bytes(folder) > 0


def test_a_driver_whose_gpu_torch_cannot_use_is_something_to_do(monkeypatch, tmp_path):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(doctor, "DRIVER", tmp_path / "none")
    assert doctor.torch().state == "ok"
    monkeypatch.setattr(doctor, "DRIVER", tmp_path)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    found = doctor.torch()
    assert found.state == "to do" and "cannot be used with CUDA 13.0" in found.text


@pytest.mark.gpu
def test_every_gpu_is_named_with_its_memory():
    import torch

    found = doctor.torch()
    assert found.state == "ok" and found.text.count(" GiB)") == torch.cuda.device_count()


@pytest.mark.parametrize("place", ["token", "pair", "file"])
def test_credentials_are_found_where_kagglehub_finds_them_and_not_shown(place, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "free_bytes", lambda folder: 50.0)
    assert "https://www.kaggle.com/settings" in doctor.kaggle(RESOURCES).text
    if place == "file":
        (tmp_path / "home/.kaggle/kaggle.json").write_text(f'{{"username": "me", "key": "{SECRET}"}}')
    for name in {"token": ["KAGGLE_API_TOKEN"], "pair": ["KAGGLE_USERNAME", "KAGGLE_KEY"]}.get(place, []):
        monkeypatch.setenv(name, SECRET)
    found = doctor.kaggle(RESOURCES)
    assert found.state == "ok" and SECRET not in found.text
    monkeypatch.setattr(doctor, "free_bytes", lambda folder: 12.0)
    assert "set KAGGLEHUB_CACHE" in doctor.kaggle(RESOURCES).text
