from pathlib import Path

import pytest

from fedpriv.docs import layout

ROOT = Path(__file__).parents[2]


@pytest.fixture
def house(tmp_path):
    """Return a function that builds the package `house` from files and their text."""

    def build(**files):
        for name, text in {"__init__": "", "__main__": "import house.attic", **files}.items():
            path = tmp_path / "house" / f"{name.replace('__in__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "house"

    return build


@pytest.mark.parametrize(
    "text",
    [
        "import house.cellar",
        "import house.cellar.wine as wine",
        "from house import cellar",
        "from house.cellar import wine",
        "from house.cellar.wine import red",
        "from . import cellar",
        "from .cellar import wine",
        "def f():\n    from house import cellar",
        "try:\n    pass\nfinally:\n    import house.cellar",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import house.cellar",
    ],
)
def test_every_way_to_import_a_room_is_an_arrow(house, text):
    assert layout.rooms(house(attic=text, cellar="")) == {"attic": {"cellar"}, "cellar": set()}


@pytest.mark.parametrize(
    "text",
    [
        "import os.path",
        "import housekeeping.cellar",
        "from house import __version__",
        "from house.attic import this",
        "if TYPE_CHECKING:\n    import house.cellar",
        "if typing.TYPE_CHECKING:\n    from house import cellar",
    ],
)
def test_nothing_else_is_an_arrow(house, text):
    assert layout.rooms(house(attic=text, cellar="")) == {"attic": set(), "cellar": set()}


def test_the_files_of_a_package_are_one_room(house):
    hall = {"hall__in____init__": "", "hall__in__door": "from house.hall import mat\nfrom .. import cellar"}
    assert layout.rooms(house(cellar="", **hall)) == {"cellar": set(), "hall": {"cellar"}}


def test_a_room_stands_above_the_highest_that_it_imports_and_a_circle_on_one_floor(house):
    rooms = {
        "attic": "from house import bath, cellar",
        "bath": "import house.kitchen",
        "kitchen": "import house.bath, house.cellar",
        "cellar": "",
    }
    found = layout.layout(house(**rooms), [])
    assert found.floors == [["cellar"], ["bath", "kitchen"], ["attic"]]
    assert found.circles == [["bath", "kitchen"]]


def test_arrows_up_or_within_a_layer_and_rooms_without_a_layer_are_named(house):
    rooms = {
        "attic": "",
        "bath": "import house.kitchen",
        "kitchen": "",
        "cellar": "import house.attic",
        "shed": "",
    }
    found = layout.layout(house(**rooms), [["attic"], ["bath", "kitchen"], ["cellar"]])
    assert found.upward == [("bath", "kitchen"), ("cellar", "attic")]
    assert found.undeclared == ["shed"]
    said = layout.section(found).splitlines()[0]
    assert said == (
        "5 rooms on 2 floors, 2 arrows; in circles: none; upward: bath to kitchen, cellar to attic; "
        "not declared: shed."
    )


def test_the_declared_layers_are_those_of_the_contract(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.importlinter.contracts]]\nlayers = ["attic", "bath | kitchen", "cellar"]\n'
    )
    layers = layout.declared_layers(tmp_path / "pyproject.toml")
    assert layers == [["attic"], ["bath", "kitchen"], ["cellar"]]
