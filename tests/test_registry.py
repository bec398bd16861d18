"""What installed packages add stands beside ours, or is refused by the name of the package."""

import sys
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from fedpriv import registry
from fedpriv.errors import BadInput
from fedpriv.frozen import chosen_from
from fedpriv.mechanisms.sampling import CohortLaw, Full
from fedpriv.registry import Registry


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a way to install a module with entry points, for one test."""

    def add(group, points, module="", package="added"):
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in points.items()]
        (folder / "entry_points.txt").write_text("\n".join([f"[fedpriv.{group}]", *lines]))
        (tmp_path / "added_module.py").write_text(module)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "added_module", raising=False)
        registry.points.cache_clear()

    yield add
    registry.points.cache_clear()


def test_nothing_is_imported_before_somebody_asks(install):
    install("numbers", {"two": "added_module:two"}, "two = 2")
    found = Registry("numbers", int, {"one": 1})
    assert "added_module" not in sys.modules
    assert dict(found) == {"one": 1, "two": 2} and len(found) == 2 and "three" not in found


def test_a_package_may_import_the_room_that_it_adds_to_before_that_has_loaded_it(install):
    install("numbers", {"two": "added_module:two"}, "import fedpriv.schemes, fedpriv.account\ntwo = 2")
    import added_module

    assert Registry("numbers", int, {})["two"] is added_module.two


@pytest.mark.parametrize(
    ("points", "module", "said"),
    [
        ({"two": "added_module:two"}, "1 / 0", "found added_module:two, which fails with ZeroDivisionError"),
        (
            {"two": "added_module:two"},
            "raise SystemExit",
            "found added_module:two, which fails with Sys",
        ),
        ({"two": "added_module:three"}, "two = 2", "found added_module:three, which fails with Attribute"),
        ({"two": "nowhere:two"}, "", "found nowhere:two, which fails with ModuleNotFoundError"),
        ({"two": "added_module:two"}, "two = 'two'", "found str added_module:two, allowed: int"),
        ({"one": "added_module:two"}, "two = 2", "found a name that is taken, allowed: not one$"),
    ],
)
def test_what_cannot_be_added_is_named_with_its_package(install, points, module, said):
    install("numbers", points, module)
    with pytest.raises(BadInput, match=rf"^fedpriv\.numbers of added: {next(iter(points))}: {said}"):
        dict(Registry("numbers", int, {"one": 1}))


def test_a_thing_that_calls_itself_otherwise_than_its_entry_point_is_refused(install):
    install(
        "folders", {"here": "added_module:here"}, "import pathlib\nhere = pathlib.Path('/somewhere/else')"
    )
    with pytest.raises(BadInput, match="here: found else, allowed: here, as the entry point is called"):
        dict(Registry("folders", Path, {}))


def test_the_packages_that_add_something_are_known_by_name(install):
    before = registry.packages()
    install("numbers", {"two": "added_module:two"}, package="adder")
    assert registry.packages() - before == {"adder"}


def test_a_name_of_a_package_beside_the_suite_that_is_not_installed_is_said_to_be_of_it(monkeypatch):
    monkeypatch.setattr(registry, "points", lambda group: ())
    cohorts = Registry("cohorts", CohortLaw, {"full": Full})
    law = TypeAdapter(Annotated[CohortLaw, chosen_from(cohorts, "law")])
    with pytest.raises(ValidationError) as told:
        law.validate_python({"law": "spaced", "size": 3})
    wanted = "law: spaced is of the package fedpriv-studies: pip install packages/fedpriv-studies"
    assert told.value.errors()[0]["msg"] == wanted
    with pytest.raises(ValidationError, match="law: found seldom, allowed: full"):
        law.validate_python("seldom")
