from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.extras import EXTRAS, PROJECT, needed_by

ROOT = Path(__file__).parents[1]
WANTED = [*needed_by(*EXTRAS).values()]
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PINNED = {canonicalize_name(Requirement(line).name): Requirement(line) for line in LINES}


def version(name: str) -> Version:
    """Return the version to which a package is pinned."""
    (bound,) = PINNED[name].specifier
    return Version(bound.version)


@cache
def required() -> dict[str, set[tuple[str, SpecifierSet]]]:
    """Return every package that the project needs on this machine, and who asks for it with what bounds."""
    found: dict[str, set[tuple[str, SpecifierSet]]] = {}
    looked, waiting = set(), [("fedpriv", requirement) for requirement in WANTED]
    while waiting:
        asker, requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found.setdefault(name, set()).add((asker, requirement.specifier))
        for extra in ("", *requirement.extras):
            if (name, extra) in looked:
                continue
            looked.add((name, extra))
            asked = map(Requirement, distribution(name).requires or ())
            waiting += [
                (name, one) for one in asked if one.marker is None or one.marker.evaluate({"extra": extra})
            ]
    return found


def test_the_lock_pins_everything_that_the_project_brings_with_it():
    needed = required()
    assert {"markupsafe", "mpmath"} <= set(needed)  # asked for by jinja2, and by sympy for torch
    assert set(needed) - set(PINNED) == set()


def test_every_pin_is_one_version_and_stands_once_in_order():
    assert len(PINNED) == len(LINES)
    assert sorted(LINES, key=str.lower) == LINES
    for name, pin in PINNED.items():
        assert str(pin.specifier) == f"=={version(name)}" and not (pin.marker or pin.extras or pin.url)


def test_no_package_asks_for_another_version_than_the_pinned_one():
    for name in required().keys() & PINNED.keys():
        for asker, bounds in required()[name]:
            assert version(name) in bounds, f"{asker} asks for {name}{bounds}"


def test_conda_brings_python_pip_and_make_from_conda_forge_alone():
    wanted = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert wanted["channels"] == ["conda-forge", "nodefaults"]
    by_conda = [Requirement(one) for one in wanted["dependencies"] if isinstance(one, str)]
    assert [one.name for one in by_conda] == ["python", "pip", "make"]
    assert all(str(one.specifier) == PROJECT["requires-python"] for one in by_conda if one.name == "python")
    assert [list(one) for one in wanted["dependencies"] if isinstance(one, dict)] == [["pip"]]
    assert wanted["name"] == PROJECT["name"]
