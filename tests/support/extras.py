"""What an installation asks for, with and without extras."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def needed_by(*extras):
    """Return what an installation with these extras asks for, by name."""
    asked = {one.name: one for one in map(Requirement, PROJECT["dependencies"])}
    for extra in extras:
        for one in map(Requirement, EXTRAS[extra]):
            asked |= needed_by(*one.extras) if one.name == "fedpriv" else {one.name: one}
    return asked
