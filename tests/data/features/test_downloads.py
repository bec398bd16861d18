"""For APTOS 2019 nothing is downloaded beside packages and the photographs, of Kaggle or of a mirror."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from support.photos import lay

from fedpriv import data
from fedpriv.config.files import sources
from fedpriv.config.plan import load_preset
from fedpriv.data import arrays
from fedpriv.train import inputs

CONFIG = Path(__file__).parents[3] / "config"


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Close the network, forget weights that were downloaded before, and return who was asked for."""
    found = []

    def refused(*address, **_):
        found.append(address)
        raise OSError("the network is closed")

    for place, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo")):
        monkeypatch.setattr(place, name, refused)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    return found


@pytest.mark.parametrize("run", ["aptos_n100_dp", "aptos_n100_random_dp"])
def test_features_of_the_laptops_aptos_runs_are_made_with_the_network_closed(
    run, asked, tmp_path, monkeypatch
):
    few = replace(data.DATASETS["aptos"], test_rows=4, side=32)
    monkeypatch.setitem(data.DATASETS, "aptos", few)
    lay(tmp_path / "mirror/aptos", count=8)
    plan = load_preset(CONFIG / "laptop.yaml")
    one = plan.runs["bdp2019"][run]
    out = inputs.prepare(one, tmp_path / "resources", [str(tmp_path / "mirror")], plan.preset.speed)
    made = arrays.load(out)
    assert made.x_train.shape == (4 * one.photos.copies, one.model.width) and len(made.x_test) == 4
    assert f"backbone {one.model.backbone}" in made.note and not asked


def test_all_that_the_laptop_needs_are_the_files_of_its_datasets():
    plan = load_preset(CONFIG / "laptop.yaml")
    needed = {file for name in (*plan.datasets(), *plan.features()) for file in sources(plan, name)}
    files = {name: known.files for name, known in data.image_datasets().items()}
    raw = {f"resources/{name}/raw/{file.name}" for name, some in files.items() for file in some}
    assert needed - raw == {"resources/aptos/images.json"}
